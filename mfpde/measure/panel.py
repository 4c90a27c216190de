"""A density on one lattice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arguments import instance, number, numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Lattice, Queries
from mfpde.geometry.lattice import grid_moments
from mfpde.measure.edge_stencils import at_middles, end_weights
from mfpde.measure.interpolation import Interpolant
from mfpde.measure.point_values import point_values
from mfpde.typing import Float

__all__ = ["Panel"]

_SPACING_TOLERANCE = 1e-6  # relative difference between the spacings of an axis


@dataclass(frozen=True, eq=False)
class Panel:
    """Densities `values`, per unit physical volume, at the points of a lattice with evenly spaced axes.

    `averages`: values are averages over the cells about the points, not point values, and integrals are corrected for
    the width of the cells. `position` is that of its tokens in masked attention. `edges` (averages on the line): the
    density is smooth up to both ends of the cells and 0 beyond.

    >>> Panel(Lattice.of([[0.0, 0.5, 1.0]]), np.array([0.0, 1.0, 1.0])).masses
    array([0. , 0.5, 0.5])
    """

    lattice: Lattice
    values: Float
    averages: bool = True
    position: float | None = None
    edges: bool = False

    def __post_init__(self) -> None:
        instance("lattice", self.lattice, Lattice, "a lattice such as mfpde.Lattice.of([[0.0, 0.5, 1.0]])")
        object.__setattr__(self, "values", numbers("values", self.values))
        if self.position is not None:
            number("position", self.position)
        if self.values.shape != self.lattice.shape:
            raise ProblemError.at(
                "values", f"must have the shape of the lattice, {self.lattice.shape}, not {self.values.shape}"
            )
        if self.lattice.dimension > 2:
            raise ProblemError.at("lattice", f"must have one or two axes, not {self.lattice.dimension}")
        if self.edges and not (self.averages and self.lattice.dimension == 1):
            raise ProblemError.at("edges", "are known of averages on the line only")
        low, high = self.values.min(), self.values.max()
        if not (low >= 0 and high < np.inf):
            where = np.unravel_index(np.argmax(~(self.values >= 0) | (self.values == np.inf)), self.values.shape)
            raise ProblemError.at(
                "values", f"must be finite and not negative, not {self.values[where]} at {[int(i) for i in where]}"
            )
        for index, (axis, width) in enumerate(zip(self.lattice.axes, self.widths, strict=True)):
            if axis.size > 2 and np.ptp(np.diff(axis)) > _SPACING_TOLERANCE * width:
                raise ProblemError.at("lattice", f"must have evenly spaced axes, axis {index} is not")

    @cached_property
    def widths(self) -> Float:
        """Sides of a cell in the coordinates of the lattice, `(d,)`."""
        if min(self.lattice.shape) < 2:
            raise ProblemError.at("lattice", f"needs two points a side to have cells, not {self.lattice.shape}")
        return np.array([(axis[-1] - axis[0]) / (axis.size - 1) for axis in self.lattice.axes])

    @cached_property
    def volume(self) -> float:
        """Physical volume of a cell."""
        return float(abs(np.linalg.det(self.lattice.matrix)) * np.prod(self.widths))

    @cached_property
    def masses(self) -> Float:
        """Masses of the cells."""
        return self.values * self.volume

    @cached_property
    def mass(self) -> float:
        return float(self.masses.sum())

    @cached_property
    def at_points(self) -> Float:
        """Densities at the points themselves."""
        if self.edges:
            return np.maximum(at_middles(self.values.size).of(self.values), 0.0)
        return point_values(self.values) if self.averages else self.values

    @cached_property
    def node_masses(self) -> Float:
        """Weights of the points in integrals of functions against the density."""
        if not self.edges:
            return self.at_points * self.volume
        weighted = self.at_points * end_weights(self.values.size)
        return weighted * (self.mass / weighted.sum()) if weighted.any() else weighted

    @cached_property
    def interpolant(self) -> Interpolant:
        """The density between the points."""
        return Interpolant(self.lattice, self.at_points, self.moments, self.edges)

    @property
    def ends(self) -> tuple[float, float]:
        """Of the cells on the line, ascending."""
        (axis,), half = self.lattice.axes, 0.5 * self.widths[0]
        places = self.lattice.origin[0] + self.lattice.matrix[0, 0] * np.array([axis[0] - half, axis[-1] + half])
        return float(places.min()), float(places.max())

    @property
    def _smeared(self) -> bool:
        """Whether sums over the cells are those of the density averaged over boxes."""
        return self.averages and not self.edges

    @cached_property
    def moments(self) -> tuple[Float, Float]:
        """Mean `(d,)` and covariance `(d, d)` of the panel's tokens."""
        masses = self.node_masses if self.edges else self.masses
        middle, spread = grid_moments(self.lattice.axes, masses / self.mass)
        if self._smeared:  # a box of width h has variance h^2 / 12
            spread -= np.diag(self.widths**2 / 12)
        frame = self.lattice.matrix
        return self.lattice.origin + frame @ middle, frame @ spread @ frame.T

    def tilt(self, w: Queries, log_factors: Float | None = None) -> tuple[Float, Float]:
        """`(log M, grad log M)` at queries w, in their shape and `(d, *shape)`, with factors `e^g` at the points.

        With `y = m + S z` it is `<w, m>` plus the sum over z at `S^T w`. Only values at points may be multiplied by a
        function, averages may not.
        """
        frame, origin = self.lattice.matrix, self.lattice.origin
        masses = self.masses if log_factors is None and not self.edges else self.node_masses
        factors = None if log_factors is None else log_factors.reshape(masses.shape)
        mean, value = w.tilts_of_grid(self.lattice.axes, masses, frame, factors)
        if log_factors is None and self._smeared:
            from mfpde.transform import cell_correction

            slope, log_factor = cell_correction(np.ascontiguousarray(w.mapped(frame.T).vectors()), self.widths)
            mean -= slope
            value -= log_factor
        if not np.array_equal(frame, np.eye(origin.size)):
            mean = w.transformed(frame, mean)
        if origin.any():
            value += w.along(origin)
            mean += origin.reshape(-1, *[1] * (mean.ndim - 1))
        return value, mean
