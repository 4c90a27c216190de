"""Normal laws, by their closed forms."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Lattice, Queries, need_space
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.damping import Damping, LogFactors, Pair
from mfpde.measure.hermite import normal_nodes
from mfpde.measure.normal_cells import averages_of_normal
from mfpde.measure.principal import principal
from mfpde.streams import normal_rows
from mfpde.typing import AnyArray, Float

__all__ = ["Normal"]

_MAX_ASYMMETRY = 1e-12  # of a covariance, relative to its largest entry
_EIGENVALUE_ROUNDING = 1e-13  # of a correlation matrix, for each dimension


class Normal(Measure):
    """`N(m, S)`: `log M(w) = <w, m> + <w, S w> / 2`, `grad log M(w) = m + S w`.

    S may be singular: such a law has no density. `factor` F, `(d, rank)`, has `F F^T = S`.

    >>> Normal([0.5, 0.0], [[1.0, 0.3], [0.3, 0.5]]).log_laplace([[1.0, 0.0]])
    array([1.])
    """

    def __init__(self, mean: AnyArray, covariance: AnyArray, geometry: Geometry | None = None) -> None:
        self._mean = np.array(numbers("mean", mean), ndmin=1)
        if geometry is not None:
            need_space(geometry)
        dimension = self._mean.size
        given = numbers("covariance", covariance)
        self._covariance = given * np.eye(dimension) if given.ndim == 0 else given
        self._geometry = geometry
        _check(self._mean, self._covariance, geometry)
        self._covariance = 0.5 * (self._covariance + self._covariance.T)
        self._scale = np.sqrt(np.maximum(np.diag(self._covariance), 0.0))  # a negative one is refused below
        self._spectrum, self._vectors = _spectrum(self._covariance, self._scale)

    @classmethod
    def of_factor(cls, mean: AnyArray, factor: AnyArray, geometry: Geometry | None = None) -> Normal:
        """`N(m, F F^T)`, of the rank of F, whose thin axes are those of F: a covariance beyond condition 1e16 has lost
        them.

        >>> thin = Normal.of_factor([0.0, 0.0], [[1e10, 1e-10], [1e10, -1e-10]])
        >>> thin.variances, np.linalg.eigvalsh(thin.covariance)[0] > 0
        (array([2.e+20, 2.e-20]), np.False_)
        """
        root = numbers("factor", factor)
        found = cls(mean, root @ root.T, geometry)
        axes, widths, _ = principal(root)
        there = widths > 0
        found._scale = np.ones(found._mean.size)
        found._vectors, found._spectrum = axes[:, there], widths[there] ** 2
        return found

    @property
    def ambient_dimension(self) -> int:
        return self._mean.size

    @property
    def compact(self) -> bool:
        return self.rank == 0

    @property
    def mean(self) -> Float:
        return self._mean.copy()

    @property
    def covariance(self) -> Float:
        return self._covariance.copy()

    @property
    def rank(self) -> int:
        return self._spectrum.size

    @property
    def variances(self) -> Float:
        """Eigenvalues of S, the largest first."""
        found = np.zeros(self._mean.size)
        found[: self.rank] = principal(self.factor)[1] ** 2
        return found

    @cached_property
    def factor(self) -> Float:
        return self._scale[:, None] * self._vectors * np.sqrt(self._spectrum)

    def standardised(self, points: Float) -> Float:
        """z with `x = m + F z`, for S of full rank."""
        self._need_density()
        return ((points - self._mean) / self._scale) @ (self._vectors / np.sqrt(self._spectrum))

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """A tensor rule that also integrates `e^{<w, y>}` to that accuracy, relative to M(w), while |F^T w| <= 8."""
        z, weights = normal_nodes(self.rank, accuracy, refinement)
        return self._mean + z @ self.factor.T, weights

    @property
    def normal(self) -> Normal:
        return self

    def point_masses(self) -> tuple[Float, Float] | None:
        return None if self.rank else self.nodes()

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        if not isinstance(log_factors, Damping):
            return super().tilt(queries, matrix, log_factors)
        w = queries if matrix is None else queries.mapped(matrix)
        value, mean = self._damped(w.points(), log_factors.root)
        return value.reshape(w.shape), w.laid(mean)

    def _damped(self, w: Float, root: Float) -> tuple[Float, Float]:
        """`log int e^{-<y, P y> + <w, y>} dN(m, S)`, `P = K^T K`, and its gradient: `R = (I + 2 S P)^-1`,
        `v = w - 2 P m`, `-<m, P m> + <w, m> + <v, R S v> / 2 - log det(I + 2 S P) / 2` and `m + R S v`."""
        mean, form = self._mean, root.T @ root
        widening = np.eye(mean.size) + 2 * self._covariance @ form
        lean = w - 2 * form @ mean
        moved = lean @ np.linalg.solve(widening, self._covariance)
        constant = -mean @ form @ mean - 0.5 * np.linalg.slogdet(widening)[1]
        return constant + w @ mean + 0.5 * np.sum(lean * moved, axis=1), mean + moved

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        pushed = w @ self._covariance
        return w @ self._mean + 0.5 * np.sum(w * pushed, axis=1), self._mean + pushed

    def entropy(self) -> float:
        if self.rank < self._mean.size:
            return -np.inf
        return 0.5 * float(np.log(2 * np.pi * math.e * self.variances).sum())

    def pair_excess(self, scale: float) -> float:
        """Along an eigenvector of S with eigenvalue s and mean m it is, plus 1, a factor
        `e^{a m^2 / (1 - a s)} / sqrt(1 - a^2 s^2)`."""
        spread, vectors = np.linalg.eigh(self._covariance)
        if abs(scale) * spread[-1] >= 1:
            return np.inf
        along = vectors.T @ self._mean
        terms = scale * along**2 / (1 - scale * spread) - 0.5 * np.log1p(-((scale * spread) ** 2))
        return float(np.expm1(terms.sum()))

    def evaluate(self, points: AnyArray) -> Float:
        x = self.space.points(points)
        z = self.standardised(x)
        log_volume = np.log(self._scale).sum() + 0.5 * np.log(2 * np.pi * self._spectrum).sum()
        return np.exp(-0.5 * np.sum(z * z, axis=1) - log_volume)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.sample_share(0, count, seed)

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        return self._mean + normal_rows(count, self.rank, seed, first=first) @ self.factor.T

    def _cell_averages(self, lattice: Lattice) -> Float:
        self._need_density()
        inverse = np.linalg.inv(lattice.matrix)
        middle, spread = inverse @ (self._mean - lattice.origin), inverse @ self._covariance @ inverse.T
        return averages_of_normal(lattice.axes, middle, spread) / abs(float(np.linalg.det(lattice.matrix)))

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        from scipy.special import erfcinv

        width = np.sqrt(2) * float(erfcinv(tolerance)) * self._scale
        w = np.zeros((1, self._mean.size)) if tilts is None else self._tilts(tilts)
        means = self._log_laplace(w)[1]
        return means.min(axis=0) - width, means.max(axis=0) + width

    def _need_density(self) -> None:
        if self.rank < self._mean.size:
            raise ProblemError.at(
                "measure", f"has no density: its covariance has rank {self.rank} in R^{self._mean.size}"
            )


def _check(mean: Float, covariance: Float, geometry: Geometry | None) -> None:
    dimension = mean.size if geometry is None else geometry.ambient_dimension
    if mean.shape != (dimension,):
        raise ProblemError.at("mean", f"has shape {mean.shape}; tokens in R^{dimension} need ({dimension},)")
    if covariance.shape != (dimension, dimension):
        wanted = f"({dimension}, {dimension}) or a number"
        raise ProblemError.at("covariance", f"has shape {covariance.shape}; tokens in R^{dimension} need {wanted}")
    for name, value in (("mean", mean), ("covariance", covariance)):
        if not np.isfinite(value).all():
            raise ProblemError.at(name, "must be finite")
    apart = np.abs(covariance - covariance.T)
    if apart.max() > _MAX_ASYMMETRY * np.abs(covariance).max():
        i, j = (int(k) for k in np.unravel_index(apart.argmax(), apart.shape))
        raise ProblemError.at(
            "covariance",
            f"must be symmetric, but entry ({i}, {j}) is {covariance[i, j]:g} and ({j}, {i}) {covariance[j, i]:g}",
        )


def _spectrum(covariance: Float, scale: Float) -> tuple[Float, Float]:
    """Positive eigenvalues and eigenvectors of the correlation matrix: small variances beside large ones stay exact."""
    there = scale > 0
    correlation = covariance[there][:, there] / np.outer(scale[there], scale[there])
    values, vectors = np.linalg.eigh(correlation)
    least = values.min(initial=0.0)
    hollow = np.abs(covariance[~there]).max(initial=0.0) > 0
    if hollow or least < -_EIGENVALUE_ROUNDING * max(1, values.size):
        worst = np.linalg.eigvalsh(covariance)[0]
        raise ProblemError.at("covariance", f"must be positive semi-definite, but has the eigenvalue {worst:.6g}")
    kept = values > _EIGENVALUE_ROUNDING * max(1, values.size)
    all_vectors = np.zeros((scale.size, int(kept.sum())))
    all_vectors[there] = vectors[:, kept]
    return values[kept], all_vectors
