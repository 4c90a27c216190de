"""Grid densities continued outside of their cells by a Gaussian.

Softmax at x looks at tokens near `m + S A x`, in units of the standard deviation q = |S A| times as far out as x
itself. With q near 1 or beyond no box is large enough: the error of cutting off moves inwards with time. So a density
is continued outside of its cells by a multiple of a Gaussian,

    M = M_cells + a F (1 - r_1 r_2),      F = e^{<t, m> + <t, C t> / 2},

where r_i is the share of the Gaussian tilted by t that the cells of axis i hold: a sum along one axis, and a function
of one number, the place `c_i = (m + C t)_i` of its mean. For C = 1 (moving frames) and on the line this is exact,
otherwise wrong by what correlates outside both strips, beyond the corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.geometry import Lattice, Queries
from mfpde.measure import GridDensity, Panel
from mfpde.measure.damping import LogFactors, Pair
from mfpde.solvers.kernels.finite_volume_closure import (
    GAUSSIAN_FLOOR,
    NEGLIGIBLE_DEVIATIONS,
    POLYNOMIALS_PER_DEVIATION,
    RING_FRACTIONS,
    ROOM,
    SHARE_BOUNDS,
    SHARE_MAX,
    TERMS,
    ClosureGaussian,
    Shares,
    add_outside,
)
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = ["ClosedDensity", "Closure", "Outside", "shares_beyond"]

_CELLS_PER_PIECE = 1 << 13  # whose numbers stay in the cache
_NO_SHARES = Shares(np.zeros((1, TERMS)), 0.0, 1.0)


def shares_beyond(axis: Float, width: float, variance: float) -> Shares:
    """`1 - sum_j h N(z_j - c)`, N the Gaussian of that variance, z_j the cells of the axis.

    The n-th derivative of `N(z_j - c)` is a Hermite function of `z_j - c`. Seen from places on a lattice that holds the
    cells, sums of them over j are differences of running sums.
    """
    deviation = float(np.sqrt(variance))
    # places for each cell, or cells for each place
    finer = max(1, int(np.ceil(POLYNOMIALS_PER_DEVIATION * width / deviation)))
    fewer = max(1, int(deviation / (POLYNOMIALS_PER_DEVIATION * width)))
    step = width / finer
    far = int(np.ceil(NEGLIGIBLE_DEVIATIONS * deviation / step))
    size = -(-(2 * far + 1) // finer) * finer
    x, small = (np.arange(size) - far) * (step / deviation), fewer * step / deviation
    terms = np.zeros((TERMS + 1, size))
    terms[1] = np.exp(-0.5 * x * x) * (width / deviation / np.sqrt(2 * np.pi))
    for n in range(1, TERMS):
        terms[n + 1] = (small / n) * (x * terms[n] - small * terms[n - 1])
    running = np.zeros((TERMS, size + 1))  # the last stands for those before the first
    running[:, :-1] = terms[1:].reshape(TERMS, -1, finer).cumsum(axis=1).reshape(TERMS, size)
    last_cell = (axis.size - 1) * finer
    places = np.arange(-far, last_cell + far + fewer, fewer)

    def up_to(offset: AnyArray) -> Float:
        index = offset - places + far
        beyond = size - 1 - (size - 1 - index) % finer  # where sums do not change any more
        return running[:, np.where(index < 0, size, np.minimum(index, beyond))]

    table = up_to(np.array(-finer)) - up_to(np.array(last_cell))
    table[0] += 1.0
    return Shares(np.ascontiguousarray(table.T), float(axis[0]) - far * step, 1.0 / (fewer * step))


class Outside(NamedTuple):
    """A Gaussian in the coordinates of a lattice, and its share outside of the cells."""

    mean: Float
    covariance: Float
    ring: list[tuple[int, int, float]]  # rows of cells near every edge: direction, index, `sum e^{-<z, C^-1 z> / 2}`
    beyond: list[Shares]  # along each axis

    @classmethod
    def of(cls, axes: Sequence[Float], widths: Float, mean: Float, covariance: Float) -> Outside:
        """Of N(mean, covariance) and so wide cells at these places."""
        inverse, ring = np.linalg.inv(covariance), []
        for direction, axis in enumerate(axes):
            inner, outer = (axis.size // ring for ring in RING_FRACTIONS)
            for end in (inner, outer, axis.size - 1 - inner, axis.size - 1 - outer):
                grids = [np.array([axis[end]]) if i == direction else other for i, other in enumerate(axes)]
                z = np.stack(np.meshgrid(*grids, indexing="ij")).reshape(len(axes), -1) - mean[:, None]
                ring.append((direction, end, float(np.exp(-0.5 * np.einsum("im,ij,jm->m", z, inverse, z)).sum())))
        variances = np.diag(covariance)
        beyond = [shares_beyond(*each) for each in zip(axes, widths, variances, strict=True)]
        return cls(mean, covariance, ring, beyond)


@dataclass(frozen=True, eq=False)
class Closure:
    """`share` times a Gaussian outside of the cells of a lattice, per unit mass in its coordinates."""

    share: float
    outside: Outside

    @classmethod
    def of(cls, density: Float, mass: float, outside: Outside, heaviest: bool = False) -> Closure:
        """Fitted to a density `(cells, ..)` near its ends.

        At the end where the ratio is least, so that the closure is never worse than none; `heaviest` at the end where
        it is largest in the outer rows.
        """
        ratios = [
            float(density.take(end, axis=direction).sum()) / gaussian if gaussian > GAUSSIAN_FLOOR else 0.0
            for direction, end, gaussian in outside.ring
        ]
        unit = float(np.sqrt(np.linalg.det(2 * np.pi * outside.covariance)))
        if heaviest:
            return cls(min(max(ratios[1::2]) * unit, SHARE_MAX * mass), outside)
        share = min(ratios) * unit
        return cls(share if SHARE_BOUNDS[0] * mass <= share <= SHARE_BOUNDS[1] * mass else 0.0, outside)

    def add(self, lattice: Lattice, w: Queries, value: Float, mean: Float) -> None:
        """Turn (log M, grad log M) of a lattice's cells at w, `(n,)` and `(d, n)`, into those of the whole, in
        place."""
        each = int(np.prod(w.shape[1:]))  # tilts for each index of the first axis
        dimension, stretches = lattice.dimension, pieces(w.shape[0], max(1, _CELLS_PER_PIECE // each))
        frame, origin = _on_plane(lattice.matrix), _on_plane(lattice.origin)
        covariance, middle = _on_plane(self.outside.covariance), _on_plane(self.outside.mean)
        first, second = self.outside.beyond[0], self.outside.beyond[-1] if dimension == 2 else _NO_SHARES
        gaussian = ClosureGaussian(float(np.log(self.share)), origin, frame, middle, covariance)

        def work(piece: int) -> None:
            begin, end = stretches[piece]
            here = slice(begin * each, end * each)
            tilts = np.ascontiguousarray(w.part(slice(begin, end)).vectors().reshape(dimension, -1))
            room, means = np.empty((ROOM, tilts.shape[1])), [part[here] for part in mean]
            if dimension == 1:
                tilts, means = np.concatenate([tilts, np.zeros_like(tilts)]), [*means, np.zeros(tilts.shape[1])]
            add_outside(tilts[0], tilts[1], gaussian, first, second, room, value[here], means[0], means[1])

        run_pieces(work, len(stretches))


def _on_plane(array: Float) -> Float:
    full = np.zeros((2,) * array.ndim)
    full[(slice(array.shape[0]),) * array.ndim] = array
    return full


class ClosedDensity(GridDensity):
    """A stack of panels, each continued by its closure outside of the cells of its lattice."""

    compact = False

    def __init__(self, panels: Sequence[Panel], closures: Sequence[tuple[Lattice, Closure]]) -> None:
        super().__init__(panels)
        self._closures = tuple(closures)

    def _restricted(self, panels: Sequence[int]) -> ClosedDensity:
        return ClosedDensity(super()._restricted(panels).panels, [self._closures[index] for index in panels])

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        value, mean = super().tilt(queries, matrix, log_factors)
        if log_factors is not None:
            return value, mean
        w = queries if matrix is None else queries.mapped(matrix)
        logs, means = value.ravel(), np.ascontiguousarray(mean)
        for lattice, closure in self._closures:
            if closure.share > 0:
                closure.add(lattice, w, logs, means.reshape(self.ambient_dimension, -1))
        return logs.reshape(value.shape), means
