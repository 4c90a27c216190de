"""Doubly stochastic attention."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import Field

from mfpde.attention.affine import AffineDrift, Forms
from mfpde.attention.bilinear import Bilinear
from mfpde.attention.exponential import Exponential
from mfpde.attention.head import Head
from mfpde.attention.law import concrete
from mfpde.attention.sinkhorn_newton import log_sum_exp
from mfpde.attention.sinkhorn_potentials import Potentials, balance, gaussian_factors, gaussian_potential
from mfpde.errors import ProblemError
from mfpde.geometry import Queries
from mfpde.measure import Measure
from mfpde.measure.principal import principal
from mfpde.registry import register
from mfpde.specification import Real, Whole
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention.base import Term
    from mfpde.attention.sinkhorn_linearisation import BalancedVariation

__all__ = ["Sinkhorn"]

#: sweeps of the specification, which extrapolates nothing
_PLAIN_SWEEPS = 20_000
#: potentials of measures that are still there: many drifts of one measure share them
_known: WeakKeyDictionary[Measure, dict[Sinkhorn, tuple[bytes, Potentials]]] = WeakKeyDictionary()


@register("attention", "sinkhorn")
class Sinkhorn(Exponential, Bilinear):
    """`G_mu(x) = int e^{<Ax,y> + f(x) + g(y)} V y dmu(y)`, with potentials f, g that make both marginals of the kernel
    uniform: the doubly stochastic scaling of `e^{<Ax,y>}` with respect to `mu (x) mu`.

    The mean of tokens moves by V alone. A Gaussian stays Gaussian, with `G(x) = V (m + B (x - m))`,
    `B = 2 (I + (I + 4 S A S A^T)^(1/2))^-1 S A`. *Symmetries:* permutations of the tokens; invertible maps x -> Tx, if
    A becomes `T^-T A T^-1` and V `T V T^-1`; translations, `G(x + c) = G(x) + V c`. *Good values:* `|A| L^2` up to
    100, for which about 30 iterations make the marginals right to `tolerance`. *Fails:* when `iterations` do not reach
    it; beyond a thousand the kernel is all but a permutation, and thousands of them can be wanted.

    >>> import mfpde
    >>> attention, tokens = mfpde.Sinkhorn(A=1), mfpde.Particles([0.0, 1.0, 5.0])
    >>> print(attention.drift(tokens, [0.0, 1.0, 5.0]).mean().round(9))          # V times the mean
    2.0
    >>> attention.potentials(tokens).error < 1e-12
    True
    """

    citations: ClassVar[tuple[str, ...]] = ("sander2022", "castin2025")
    kind: Literal["sinkhorn"] = "sinkhorn"
    normalised: ClassVar[bool] = True
    tail_power: ClassVar[float] = 1.0
    keeps_mean: ClassVar[bool] = True
    tolerance: Real = Field(default=1e-12, ge=1e-14, le=1e-2, description="error of the marginals, integrated")
    iterations: Whole = Field(default=1000, ge=1, le=1_000_000, description="most that may be made to reach it")

    @property
    def sums_error(self) -> float:
        return self.tolerance

    def potentials(self, measure: Measure, start: Potentials | None = None) -> Potentials:
        """f and g at the measure's nodes, from those of Gaussians or from some that are near. They are kept as long as
        the measure is."""
        measure = concrete(measure)
        known, nodes = _known.setdefault(measure, {}), measure.fingerprint()
        if self in known and known[self][0] == nodes:
            return known[self][1]
        matrix = self.query_matrix(measure.ambient_dimension)
        first = gaussian_potential(measure, matrix) if start is None else start.g
        secants = None if start is None else start.secants
        found = balance(measure, matrix, first, self.tolerance, self.iterations, secants)
        if not found.error <= found.sufficient:
            raise ProblemError.at(
                "attention",
                f"sinkhorn: after {found.iterations} iterations the marginals are off by {found.error:.2g}, and "
                f"{self.tolerance:g} is wanted; allow more iterations, or a larger tolerance, or scale A down",
            )
        known[self] = (nodes, found)
        return found

    @property
    def symmetries(self) -> frozenset[str]:
        return super().symmetries | {"translations"}

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        known = None if previous is None else _known.get(previous, {}).get(self)
        if previous is None or known is None or known[1].g.size != measure.nodes()[1].size:
            self.potentials(measure)
            return
        # Gaussians with the moments of the two measures say most of what has changed
        matrix = self.query_matrix(measure.ambient_dimension)
        change = gaussian_potential(measure, matrix) - gaussian_potential(previous, matrix)
        self.potentials(measure, replace(known[1], g=known[1].g + change))

    def log_factors(self, measure: Measure) -> Float:
        return self.potentials(measure).g

    def masked_means(self, measure: Measure, queries: Queries, positions: Float) -> Float:
        return Head.masked_means(self, measure, queries, positions)  # who sees less has other potentials

    def variation(self, term: Term, measure: Measure) -> BalancedVariation:
        from mfpde.attention.sinkhorn_linearisation import BalancedVariation

        return BalancedVariation(term, measure)

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        there = weights > 0
        scores, log_weights = self.scores(keys[there], keys[there]), np.log(weights[there])
        g = np.zeros(scores.shape[0])
        for _ in range(_PLAIN_SWEEPS):
            f = -log_sum_exp(scores + (g + log_weights))
            before, g = g, -log_sum_exp((scores + (f + log_weights)[:, None]).T)
            if weights[there] @ np.abs(np.expm1(before - g)) < 1e-14:
                break
        else:
            raise ProblemError.at("attention", f"sinkhorn: {_PLAIN_SWEEPS} plain sweeps do not converge")
        across = np.full((queries.shape[0], keys.shape[0]), -np.inf)
        across[:, there] = self.scores(queries, keys[there]) + g
        raised = np.exp(across - across.max(axis=1, keepdims=True))
        return raised / (raised @ weights)[:, None]

    def fixed_kernel(self, queries: Float, keys: Float) -> None:
        """The potentials are another pair for every measure."""

    @property
    def gaussian_unfit_head(self) -> str | None:
        return None

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        query = self.query_matrix(mean.size)
        factor, _, s, _ = gaussian_factors(covariance, query)
        return AffineDrift(mean, (factor * (2 / (1 + np.sqrt(1 + 4 * s * s)))) @ factor.T @ query)

    def gaussian_forms(self, dimension: int) -> Forms | None:
        return Forms(self.query_matrix(dimension), np.zeros((0, dimension)))

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        """`F^T A F = U s W^T`, `B F = F U (2 s / (1 + sqrt(1 + 4 s^2))) W^T`."""
        left, s, right = principal(factor.T @ forms.query @ factor)
        return mean, factor @ (left * (2 * s / (1 + np.hypot(1.0, 2 * s)))) @ right.T
