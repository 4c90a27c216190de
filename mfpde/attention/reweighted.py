"""Measures times an exponential of a function on their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.attention.law import embedded, embedded_nodes
from mfpde.geometry import Circle, Lattice
from mfpde.measure import GridDensity, Measure, Panel, Particles
from mfpde.typing import Float

__all__ = ["Reweighted"]


class Reweighted:
    """`e^g mu` for a measure mu and g `(n,)` at its nodes, of any size and range: its tilted means.

    The logarithm of `M(w) = int e^{g(y) + <w, y>} dmu(y)` and its gradient, by the fast sums that mu itself uses.
    """

    def __init__(self, measure: Measure, log_factors: Float) -> None:
        self.measure = measure
        self.log_factors = log_factors

    def log_laplace(self, w: Float | Lattice) -> tuple[Float, Float]:
        """`(log M, grad log M)` at w `(m, d)`, or on a lattice of w's: its shape and `(d, *shape)`."""
        from mfpde.transform import joined, tilted_mean

        if not isinstance(w, Lattice):
            mean, value = tilted_mean(w, *embedded_nodes(self.measure), self.log_factors)
            return value, mean
        if not isinstance(self.measure, GridDensity):
            value, mean = self.log_laplace(w.points())
            return value.reshape(w.shape), np.ascontiguousarray(mean.T).reshape(-1, *w.shape)
        panels = self.measure.panels
        ends = np.cumsum([panel.values.size for panel in panels])[:-1]
        factors = np.split(self.log_factors, ends)
        mean, value = joined([_on_panel(panel, g, w) for panel, g in zip(panels, factors, strict=True)], axis=0)
        return value, mean

    def tilt(self, points: Float, matrix: Float) -> tuple[Float, Float]:
        """`(log M(Ax), grad log M(Ax))` at native points x of the measure's space, `(m,)` and `(m, d)`."""
        beta = float(matrix[0, 0])
        zonal = isinstance(self.measure, Particles) and np.array_equal(matrix, beta * np.eye(matrix.shape[0]))
        geometry = self.measure.geometry
        if not zonal or geometry is None or geometry.flat or matrix.shape[0] > 3:
            return self.log_laplace(embedded(self.measure, points) @ matrix.T)
        from mfpde.transform import tilted_mean_on_circle, tilted_mean_on_sphere

        nodes, weights = self.measure.nodes()
        if isinstance(geometry, Circle):
            mean, value = tilted_mean_on_circle(beta, points[:, 0], nodes[:, 0], weights, self.log_factors)
        else:
            mean, value = tilted_mean_on_sphere(beta, points, nodes, weights, self.log_factors)
        return value, mean

    def at_nodes(self, matrix: Float) -> Float:
        """`log M(Ay)` at the nodes y of mu, `(n,)`."""
        if not isinstance(self.measure, GridDensity):
            return self.tilt(self.measure.nodes()[0], matrix)[0]
        lattices = [panel.lattice.mapped(matrix) for panel in self.measure.panels]
        return np.concatenate([self.log_laplace(lattice)[0].ravel() for lattice in lattices])


def _on_panel(panel: Panel, log_factors: Float, w: Lattice) -> tuple[Float, Float]:
    """One panel's `(grad log M, log M)`. Only point values may be multiplied by a function, averages may not."""
    from mfpde.transform import tilted_mean_on_grid

    frame, origin = panel.lattice.matrix, panel.lattice.origin
    matrix, offset = frame.T @ w.matrix, frame.T @ w.origin
    masses = panel.at_points * panel.volume
    mean, value = tilted_mean_on_grid(
        panel.lattice.axes, masses, matrix, offset, w.axes, log_factors.reshape(masses.shape)
    )
    slope, axes = w.matrix.T @ origin, np.meshgrid(*w.axes, indexing="ij", sparse=True)
    shift: Any = sum(part * axis for part, axis in zip(slope, axes, strict=True)) + w.origin @ origin
    column = origin.reshape(-1, *[1] * w.dimension)
    return np.tensordot(frame, mean, axes=1) + column, value + shift
