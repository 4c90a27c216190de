"""The cheapest way to the velocity that a law makes of a density on a grid of harmonics."""

from __future__ import annotations

import numpy as np

from mfpde.attention import Law
from mfpde.measure import Particles
from mfpde.solvers.spectral.law_grids import Grid, RingGrid
from mfpde.solvers.spectral.law_part import Part, bounds_of
from mfpde.solvers.spectral.law_sphere import ConvolutionOnSphere, parts_on_sphere
from mfpde.solvers.spectral.law_tables import tables_of_convolution, tables_of_terms
from mfpde.typing import Float

__all__ = ["Sums", "part_of"]


def part_of(law: Law, grid: Grid, positions: Float | None, masses: Float, lasting: bool, nodes: int = 0) -> Part:
    """Of a law that does not depend on time: by degree, by tables, or by sums over the nodes of the grid. What is not
    `lasting` gets no tables; others are made by a rule of at least so many `nodes`."""
    convolution = None if positions is not None else law.convolution(grid.geometry)
    masked, terms = positions is not None, law.terms(grid.geometry.ambient_dimension)
    found: Part | None = None
    if isinstance(grid, RingGrid):
        if convolution is not None:
            return ConvolutionOnSphere(convolution, grid)
        found = parts_on_sphere(terms, grid, masses, masked) if lasting else None
    elif convolution is not None:
        return tables_of_convolution(convolution, grid)  # type: ignore[arg-type]
    elif terms and lasting:
        found = tables_of_terms(terms, grid, masses, masked, nodes)  # type: ignore[arg-type]
    return found or Sums(law, grid, positions, masses)


class Sums(Part):
    """The drift of the weighted nodes of the grid: for kernels that depend on the measure, or change in time."""

    def __init__(self, law: Law, grid: Grid, positions: Float | None, masses: Float) -> None:
        self._law, self._grid, self._positions, self._masses = law, grid, positions, masses
        terms = law.terms(grid.geometry.ambient_dimension)
        self.bound = sum(bounds_of(terms)) if terms else np.inf
        self.kinked = law.kinked
        self._previous: Particles | None = None

    @property
    def cost(self) -> float:
        nodes = self._grid.nodes(self._grid.weights)[1].size
        return 1e-2 * nodes * self._grid.weights.size * self._masses.size**2

    def forget(self) -> None:
        self._previous = None

    def velocity(self, values: Float, densities: Float) -> Float:
        measure = self._measure(densities)
        self._law.prepare(measure, self._previous)
        self._previous = measure
        count = len(densities)
        points = np.tile(self._grid.points, (count, 1))
        places = None if self._positions is None else np.repeat(self._positions, len(self._grid.points))
        found = self._law.any_drift(measure, points, places).reshape(count, len(self._grid.points), -1)
        return np.stack([self._grid.components(each) for each in found])

    def _measure(self, densities: Float) -> Particles:
        """A density is not negative but for rounding."""
        pairs = [self._grid.nodes(np.maximum(density, 0.0)) for density in densities]
        points = np.concatenate([each for each, _ in pairs])
        weights = np.concatenate([m * each / each.sum() for m, (_, each) in zip(self._masses, pairs, strict=True)])
        positions = None
        if self._positions is not None:
            positions = np.repeat(self._positions, [each.size for _, each in pairs])
        return Particles(points, weights, self._grid.geometry, positions)
