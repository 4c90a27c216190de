"""The push-forward of a measure along characteristics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measure import GridDensity, Measure, Particles
from mfpde.measure.base import NODES_ACCURACY
from mfpde.solvers.characteristics.on_cells import affine_fit, density_on_cells, outline
from mfpde.solvers.characteristics.trajectory import Trajectory
from mfpde.typing import AnyArray, Float

__all__ = ["CarriedMeasure"]

_SHARE_OUTSIDE = 1e-10  # of the mass, that cells leave out of tails

#: the nodes' trajectory and the initial measure, both made on first use; the time
Origin = tuple[Callable[[], Trajectory], Callable[[], Measure], float]


class CarriedMeasure(Particles):
    """The push-forward of the initial measure: integrals are sums over moved nodes, and the density is `rho_0(x_0)
    e^{-int div G}` along the characteristic back to x_0."""

    def __init__(
        self, points: Float, weights: Float, geometry: Geometry, positions: Float | None, origin: Origin
    ) -> None:
        super().__init__(points, weights, geometry, positions)
        self._trajectory, self._initial, self._time = origin

    @property
    def compact(self) -> bool:
        return self._initial().compact

    def point_masses(self) -> tuple[Float, Float] | None:
        """Its nodes stand for a density, unless the initial measure is made of points itself."""
        return None if self._initial().point_masses() is None else self.nodes()

    def evaluate(self, points: AnyArray) -> Float:
        return self._density(self._trajectory().flow.geometry.points(np.asarray(points)))

    def _density(self, points: Float) -> Float:
        parts = (share * self._traced(law, points, place) for place, share, law in self._initial().slices)
        return sum(parts, np.zeros(points.shape[0]))

    def _traced(self, initial: Measure, points: Float, position: float | None) -> Float:
        positions = None if position is None else np.full(points.shape[0], position)
        origins, grown = self._trajectory().back(points, self._time, positions)
        return initial.evaluate(origins) * np.exp(-grown)

    def sample(self, count: int, seed: int = 0) -> Float:
        initial, path = self._initial(), self._trajectory()
        positions = initial.sample_positions(count, seed)
        return path.flow.geometry.points(path.forward(initial.sample(count, seed), self._time, positions))

    def on_cells(self, cells: int) -> GridDensity:
        path = self._trajectory()
        before, after = (path.nodes(time).reshape(self.weights.size, -1) for time in (0.0, self._time))
        start, end, matrix = affine_fit(before, after, self.weights)
        frame = end - matrix @ start, matrix
        return density_on_cells(self._density, frame, self._border(_SHARE_OUTSIDE), cells)

    def _border(self, tolerance: float) -> Float:
        """Of the line or the plane: where the border is carried of what the initial measure reaches."""
        edge = outline(*self._initial().reach(tolerance))
        places = [None if place is None else np.full(edge.shape[0], place) for place, _, _ in self._initial().slices]
        return np.concatenate([self._trajectory().forward(edge, self._time, place) for place in places])

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        """Gauss nodes leave a margin: on the line and the plane the border of the initial measure is carried along."""
        low, high = super().reach(tolerance, tilts)
        if not self.space.flat or low.size > 2 or self.point_masses() is not None:
            return low, high
        border = self._border(tolerance)
        return np.minimum(low, border.min(axis=0)), np.maximum(high, border.max(axis=0))

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self.points, self.weights
