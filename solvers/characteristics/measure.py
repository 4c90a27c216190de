"""A measure carried along characteristics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measure import Measure, Particles
from mfpde.measure.base import NODES_ACCURACY
from mfpde.solvers.characteristics.path import Path
from mfpde.typing import AnyArray, Float

__all__ = ["CarriedMeasure"]


#: the nodes' way, the initial measure, both made when they are asked for; the time
Origin = tuple[Callable[[], Path], Callable[[], Measure], float]


class CarriedMeasure(Particles):
    """The initial measure, moved: integrals are sums over moved nodes, and the density is `rho_0(x_0) e^{-int div G}`
    along the way back to x_0."""

    def __init__(
        self, points: Float, weights: Float, geometry: Geometry, positions: Float | None, origin: Origin
    ) -> None:
        super().__init__(points, weights, geometry, positions)
        self._way, self._initial, self._time = origin

    @property
    def compact(self) -> bool:
        return self._initial().compact

    def evaluate(self, points: AnyArray) -> Float:
        return self._density(self._way().flow.geometry.points(np.asarray(points)))

    def _density(self, points: Float) -> Float:
        if self.positions is not None:
            return sum(
                (share * self._traced(points, place) for place, share in self._slices()), np.zeros(points.shape[0])
            )
        return self._traced(points, None)

    def _slices(self) -> list[tuple[float, float]]:
        """Positions and their masses."""
        assert self.positions is not None  # noqa: S101 - for the type checker
        places, number = np.unique(self.positions, return_inverse=True)
        return list(zip(places.tolist(), np.bincount(number, weights=self.weights).tolist(), strict=True))

    def _traced(self, points: Float, position: float | None) -> Float:
        positions = None if position is None else np.full(points.shape[0], position)
        origins, grown = self._way().back(points, self._time, positions)
        return self._initial().evaluate(origins) * np.exp(-grown)

    def sample(self, count: int, seed: int = 0) -> Float:
        drawn, positions = self._initial().sample(count, seed), None
        if self.positions is not None:
            places, shares = (np.array(column) for column in zip(*self._slices(), strict=True))
            which = np.random.Generator(np.random.Philox(key=[seed, 1])).random(count) * shares.sum()
            positions = places[np.minimum(np.searchsorted(np.cumsum(shares), which, side="right"), places.size - 1)]
        path = self._way()
        return path.flow.geometry.points(path.forward(drawn, self._time, positions))

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self.points, self.weights
