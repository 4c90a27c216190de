"""Attention by Euclidean distance."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.affine import AffineDrift, Forms, square_root
from mfpde.attention.exponential import Exponential
from mfpde.attention.matrices import as_rows, finite, moved, product, rectangular, same_rows, square
from mfpde.coefficients import MatrixInTime
from mfpde.measure import Measure
from mfpde.measure.damping import Damping
from mfpde.registry import register
from mfpde.typing import AnyArray, Float

__all__ = ["L2"]


@register("attention", "l2")
class L2(Exponential):
    """`G_mu(x) = int e^{-|Qx-Ky|^2} V y dmu(y) / int e^{-|Qx-Kz|^2} dmu(z)`, for Q and K of any number of rows.

    `|Qx|^2` cancels: it is softmax with `A = 2 K^T Q` on the measure `e^{-|Ky|^2} mu`. A Gaussian `N(m, S)` has
    `G(x) = V R (m + 2 S K^T Q x)`, `R = (I + 2 S K^T K)^-1`, and stays Gaussian. *Symmetries:* permutations of the
    tokens; invertible maps x -> Tx, if Q and K become `Q T^-1`, `K T^-1` and V `T V T^-1`; with Q = K translations,
    `G(x + c) = G(x) + V c`. *Good values:* |Q|, |K| such that `|Qx - Ky|^2` is 1 to 100 between typical tokens.
    *Fails:* nowhere in finite time for compactly supported data; Gaussians stay finite when K is injective, and may
    blow up when it is not.

    >>> import mfpde
    >>> attention = mfpde.L2(Q=1, K=1)
    >>> attention.drift(mfpde.Particles([0.0, 1.0]), [0.5, 100.0])          # half of both; the nearer one
    array([0.5, 1. ])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "kim2021")
    kind: Literal["l2"] = "l2"
    pair_kernel: ClassVar[str] = "l2"
    normalised: ClassVar[bool] = True
    Q: MatrixInTime = Field(description="query matrix, (rows, d)")
    K: MatrixInTime = Field(description="key matrix, (rows, d)")
    V: MatrixInTime = Field(default=1.0, description="value matrix")

    @model_validator(mode="after")
    def _finite(self) -> L2:
        finite(self, ("Q", "K", "V"))
        return self

    def check_shapes(self, dimension: int) -> None:
        same_rows(self.K, self.Q, dimension)

    def query_matrix(self, dimension: int) -> Float:
        return 2 * product(self.K, self.Q, dimension)

    def features(self, dimension: int) -> tuple[Float, Float]:
        return 2 * rectangular("Q", self.Q, dimension), rectangular("K", self.K, dimension)

    @property
    def symmetries(self) -> frozenset[str]:
        return frozenset({"permutations", "linear maps"} | ({"translations"} if self.Q == self.K else set()))

    def in_coordinates(self, matrix: AnyArray) -> Self:
        back = np.linalg.inv(matrix)
        query, key = (rectangular(name, getattr(self, name), back.shape[0]) @ back for name in ("Q", "K"))
        return self.altered({"Q": as_rows(query), "K": as_rows(key), **moved(self, matrix, "V")})

    def value_matrix(self, dimension: int) -> Float:
        return square("V", self.V, dimension)

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        dimension = keys.shape[1]
        q, k = queries @ rectangular("Q", self.Q, dimension).T, keys @ rectangular("K", self.K, dimension).T
        squares = sum((a[:, None] - b) ** 2 for a, b in zip(q.T, k.T, strict=True))
        scores = np.where(weights != 0, -squares, -np.inf)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / (raised @ weights)[:, None]

    def key_form(self, dimension: int) -> Float:
        """`K^T K`."""
        return product(self.K, self.K, dimension)

    def log_factors(self, measure: Measure) -> Float:
        return self.factors(measure).at(measure.embedded_nodes()[0])

    def factors(self, measure: Measure) -> Damping:
        return Damping(rectangular("K", self.K, measure.ambient_dimension))

    @property
    def gaussian_unfit_head(self) -> str | None:
        return None

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """`E = 2 S K^T (I + 2 K S K^T)^-1`, `c = m + E (Q - K) m`, `B = E Q`. With `S = F F^T` and the QR decomposition
        of `[sqrt(2) K F; I]`, `E = sqrt(2) F R^-1 Q_1^T`: no small column of F is lost beside a large one."""
        queries, keys = (rectangular(name, getattr(self, name), mean.size) for name in ("Q", "K"))
        root = square_root(covariance) if factor is None else factor
        if root.shape[1] == 0:
            return AffineDrift(mean.copy(), np.zeros((mean.size, mean.size)))
        root = root[:, np.argsort(-np.sum((root / np.abs(root).max(initial=1e-300)) ** 2, axis=0), kind="stable")]
        unit, triangle = np.linalg.qr(np.vstack([np.sqrt(2) * keys @ root, np.eye(root.shape[1])]))
        moved = np.sqrt(2) * np.linalg.solve(triangle.T, root.T).T @ unit[: keys.shape[0]].T
        return AffineDrift(mean + moved @ ((queries - keys) @ mean), moved @ queries)

    def gaussian_forms(self, dimension: int) -> Forms | None:
        keys, queries = (rectangular(name, getattr(self, name), dimension) for name in ("K", "Q"))
        return Forms(self.query_matrix(dimension), np.vstack([keys, queries - keys]))

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        """`B F = F (I + 2 (K F)^T K F)^-1 F^T A F`, `A = 2 K^T Q`; the first of these by the QR decomposition of
        `[sqrt(2) K F; I]`."""
        from scipy.linalg.lapack import dgeqrf, dtrtrs  # without numpy's checks; scipy is not there at import

        if factor.shape[1] == 0:
            return mean.copy(), factor.copy()
        keys, apart = np.split(forms.rows, 2)
        seen = keys @ factor
        order = np.argsort(-np.sum(seen**2, axis=0), kind="stable")
        triangle = dgeqrf(np.concatenate([np.sqrt(2) * seen[:, order], np.eye(order.size)]))[0][: order.size]
        tilts = 2 * seen.T @ (apart @ mean)
        right = np.concatenate([factor.T @ forms.query @ factor, tilts[:, None]], axis=1)[order]
        narrowed = np.empty_like(right)
        narrowed[order] = dtrtrs(triangle, dtrtrs(triangle, right, trans=1)[0])[0]
        pushed = factor @ narrowed
        return mean + pushed[:, -1], pushed[:, :-1]
