"""Initial measures on cells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.solvers.finite_volume.grid import Grid, root
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.transform.regular_grid import STENCIL, lagrange_basis
from mfpde.typing import Float, Truths

__all__ = ["Discretised", "Extent", "Part", "at_points", "components", "discretised", "stacked"]

_MAX_COMPONENTS = 8  # that get a frame each
_END_SHARE = 0.02  # of the extent: nodes there decide whether the measure ends abruptly
_ABRUPT_WEIGHT = 1e-8  # of the largest weight: an end with more has no tail
_VARIANCE_FLOOR = 1e-200  # whose inverse is near overflow
_MAX_STRETCHES = 6  # of the lattice, until the moments do not change
_POINT_VALUE_ERROR = 1e-9  # of mass and moments: below it cells resolve the data, and point values are taken


class Extent(NamedTuple):
    """Ends of what cells have to cover, `(d,)`, and whether the density has an edge there."""

    low: Float
    high: Float
    edge_low: Truths
    edge_high: Truths


@dataclass(frozen=True, eq=False)
class Part:
    """A component of the initial measure, with its share of the mass, its position, and its affine frame."""

    share: float
    measure: Measure
    mean: Float
    matrix: Float
    position: float | None = None

    @classmethod
    def of(cls, share: float, measure: Measure, position: float | None = None) -> Part:
        """With the frame in which its mean is 0 and its covariance 1."""
        variances, axes = np.linalg.eigh(measure.covariance)
        if not variances[0] > _VARIANCE_FLOOR:
            raise ProblemError.at(
                "initial",
                f"has a covariance with the eigenvalue {variances[0]:.6g}: a measure on a point or a line has no "
                "density; use solver.kind: characteristics, or gaussian",
            )
        return cls(share, measure, measure.mean, axes * np.sqrt(variances), position)

    def at_rest(self) -> Part:
        """The same part in the coordinates x."""
        return Part(self.share, self.measure, np.zeros_like(self.mean), np.eye(self.mean.size), self.position)

    def extent(self, deviations: float) -> Extent:
        """In z: the ends of the support, or where tails are as thin as those of a Gaussian at that many deviations."""
        if self.measure.normal is not None:
            everywhere, nowhere = np.full(self.mean.size, deviations), np.zeros(self.mean.size, dtype=bool)
            return Extent(-everywhere, everywhere, nowhere, nowhere)
        points, weights = self.measure.nodes()
        there = weights > (0.0 if self.measure.compact else np.exp(-0.5 * deviations**2) * weights.max())
        z, weights = np.linalg.solve(self.matrix, (points[there] - self.mean).T), weights[there]
        low, high = self._support() or (z.min(axis=1), z.max(axis=1))
        near = _END_SHARE * (high - low)[:, None]
        ends = [self._abrupt(at_end, weights) for at_end in (z < low[:, None] + near, z > high[:, None] - near)]
        return Extent(low, high, *ends)

    def _support(self) -> tuple[Float, Float] | None:
        """Its ends to the last digit, where the frame's axes are those of the measure's own box."""
        if not self.measure.compact or np.count_nonzero(self.matrix) > self.mean.size:
            return None
        ends = np.linalg.solve(self.matrix, (np.array(self.measure.reach()) - self.mean).T)
        return ends.min(axis=1), ends.max(axis=1)

    def _abrupt(self, at_end: Truths, weights: Float) -> Truths:
        """Whether the measure ends there without a tail, `(d,)`."""
        largest = np.where(at_end, weights, 0.0).max(axis=1)
        return self.measure.compact | (largest > _ABRUPT_WEIGHT * weights.max())


def components(measure: Measure, apart: bool) -> list[tuple[float, Measure]]:
    """Those of a mixture with their shares if they are to be kept apart, otherwise the measure itself."""
    summands = [(share, law) for share, law in measure.summands if law is not measure]
    if apart and 0 < len(summands) <= _MAX_COMPONENTS:
        found = [(share * part, law) for share, whole in summands for part, law in components(whole, apart)]
        if len(found) <= _MAX_COMPONENTS:
            return found
    return [(1.0, measure)]


class Discretised(NamedTuple):
    """A part on cells: its density `(rows, columns)` in z, its frame, and whether point values do.

    Where averages had to be taken, the largest difference between them and point values is `missed`, relative to the
    peak, and `halfway` what interpolation makes wrong between points; in a moving frame the density at the ends of the
    cells is missed as well.
    """

    density: Float
    mean: Float
    matrix: Float
    missed: float
    resolved: bool = True
    halfway: float = 0.0

    @property
    def error(self) -> float:
        """Of the density, relative to the peak."""
        return max(self.missed, self.halfway)


def stacked(pieces: list[Discretised]) -> Solution:
    """The solution whose panels are these."""
    return Solution(*(np.stack(each) for each in list(zip(*pieces, strict=True))[:3]))


def at_points(part: Part, grid: Grid) -> Discretised:
    """Point values of a part of the initial measure, scaled to its share of the mass, and whether they do."""
    density, resolved = _point_values(part, grid)
    density = _scaled(part, grid, density)
    return Discretised(density, part.mean, part.matrix, 0.0 if resolved else np.inf, resolved)


def _point_values(part: Part, grid: Grid) -> tuple[Float, bool]:
    """Of the density in z, and whether they resolve it."""
    lattice = Lattice(grid.axes, part.mean, part.matrix)
    density = abs(np.linalg.det(part.matrix)) * part.measure.on_lattice(lattice).reshape(grid.shape)
    in_its_frame = grid.gaussian and part.measure.normal is not None  # resolved, although cut off
    return density, in_its_frame or _wrong(grid, density, *_wanted(part)) <= _POINT_VALUE_ERROR


def discretised(part: Part, grid: Grid, stretched: bool = True) -> Discretised:
    """A part of the initial measure on cells.

    Point values where the cells resolve the measure. Otherwise (edges) cell averages, of the measure under an affine
    map close to the identity (unless `stretched` is False) that makes mean and covariance of the averages right.
    """
    lattice = Lattice(grid.axes, part.mean, part.matrix)
    values, resolved = _point_values(part, grid)
    density, missed, halfway = values, 0.0, 0.0
    if not resolved:
        wanted = _wanted(part)
        for _ in range(_MAX_STRETCHES if stretched else 1):
            density = abs(np.linalg.det(lattice.matrix)) * part.measure.cell_averages(lattice).reshape(grid.shape)
            inside = float(density.sum() * grid.volume)
            if not inside > 0.5:
                break
            middle, spread = grid.moments(density)
            if not (np.linalg.eigvalsh(spread)[0] > 0.25 * np.linalg.eigvalsh(wanted[1])[0]):
                break  # too narrow for any map to help; it will be refused
            # lattice := the affine map of z that gives the averages the moments that are wanted
            stretch = root(wanted[1]) @ np.linalg.inv(root(spread))
            if np.abs(stretch - np.eye(len(stretch))).max() < 1e-13:
                break
            back = np.linalg.inv(stretch)
            shift = middle - back @ wanted[0]
            lattice = Lattice(grid.axes, lattice.origin + lattice.matrix @ shift, lattice.matrix @ back)
        missed = float(np.abs(density - values).max() / density.max()) if density.any() else np.inf
        halfway = _missed_halfway(part, grid, values) / float(density.max()) if density.any() else np.inf
    density = _scaled(part, grid, density)
    if grid.gaussian and density.any():
        missed += max(float(ends.max()) for ends in _ends(density)) / float(density.max())
    return Discretised(density, part.mean, part.matrix, missed, resolved, halfway)


def _scaled(part: Part, grid: Grid, density: Float) -> Float:
    """To the share of the mass that the part has."""
    mass = float(density.sum() * grid.volume)
    return density * (part.share / mass) if mass > 0 else density


def _missed_halfway(part: Part, grid: Grid, values: Float) -> float:
    """The largest error of interpolation halfway between points, along an axis or along both: at kinks on faces cell
    averages are the point values. Densities `(rows, columns)` in z."""
    factors, largest = lagrange_basis(np.array([0.5]))[:, 0], 0.0
    long = [axis for axis, places in enumerate(grid.axes) if places.size > STENCIL]
    for some in itertools.chain.from_iterable(itertools.combinations(long, count) for count in (1, 2)):
        axes, found = list(grid.axes), values.reshape(grid.cells)
        for axis in some:
            stencils = np.arange(axes[axis].size - STENCIL + 1)[:, None] + np.arange(STENCIL)
            axes[axis] = axes[axis][stencils] @ factors
            found = np.moveaxis(np.moveaxis(found, axis, -1)[..., stencils] @ factors, -1, axis)
        exact = part.measure.on_lattice(Lattice(tuple(axes), part.mean, part.matrix))
        largest = max(largest, float(np.abs(found - abs(np.linalg.det(part.matrix)) * exact).max()))
    return largest


def _ends(density: Float) -> list[Float]:
    """The outermost cells of a density `(rows, columns)`."""
    columns = [density[:, 0], density[:, -1]]
    return columns if len(density) == 1 else [density[0], density[-1], *columns]


def _wanted(part: Part) -> tuple[Float, Float]:
    inverse = np.linalg.inv(part.matrix)
    return inverse @ (part.measure.mean - part.mean), inverse @ part.measure.covariance @ inverse.T


def _wrong(grid: Grid, density: Float, mean: Float, covariance: Float) -> float:
    """Largest error of mass and moments of point values."""
    mass = float(density.sum() * grid.volume)
    if not mass > 0:
        return np.inf
    middle, spread = grid.moments(density)
    scale = float(np.sqrt(np.trace(covariance)))
    errors = (abs(mass - 1), np.abs(middle - mean).max() / scale, np.abs(spread - covariance).max() / scale**2)
    return float(max(errors))
