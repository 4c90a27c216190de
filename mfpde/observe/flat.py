"""What observables on R^d have in common: the measure as nodes, and the density at them."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Circle, Geometry
from mfpde.measure import GridDensity, Initial, Measure, Panel, Particles
from mfpde.typing import Float

__all__ = ["carries_density", "concrete", "density_at_nodes", "density_on", "is_circle"]


def concrete(measure: Measure) -> Measure:
    """A measure that was only written down, made."""
    return measure.on(measure.geometry) if isinstance(measure, Initial) else measure


def is_circle(geometry: Geometry | None) -> bool:
    """Whether densities are series of waves."""
    return isinstance(geometry, Circle)


def carries_density(measure: Measure) -> bool:
    """Whether it is made of points that know the density where they are (characteristics)."""
    return isinstance(measure, Particles) and type(measure) is not Particles


def density_at_nodes(measure: Measure) -> tuple[Float, Float]:
    """Weights of the nodes and the densities there, so that `sum_i w_i f(rho_i)` is `int f(rho) dmu`."""
    if isinstance(measure, GridDensity):
        densities = [density_on(measure, panel) for panel in measure.panels]
        weights = [panel.at_points * panel.volume for panel in measure.panels]
        return _in_a_row(weights), _in_a_row(densities)
    points, weight = measure.nodes()
    return weight, measure.evaluate(points)


def density_on(measure: GridDensity, panel: Panel) -> Float:
    """The density of all panels at the points of one, in its shape."""
    others = [other for other in measure.panels if other is not panel and other.mass > 0]
    density = panel.at_points
    if others:
        density = density + GridDensity(others).evaluate(panel.lattice.points()).reshape(density.shape)
    return density


def _in_a_row(arrays: list[Float]) -> Float:
    return np.concatenate([array.ravel() for array in arrays])
