"""How far two measures are apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Circle
from mfpde.measure import GridDensity, Measure, Panel
from mfpde.observe.flat import density_on
from mfpde.typing import Float

__all__ = ["DISTANCES", "NEED_DENSITY", "covariance", "l1", "maximum", "mean"]

_ANGLES = 4096


def l1(measure: Measure, reference: Measure) -> float:
    """`int |rho - sigma|`: cell averages against cell averages on a grid, and all of sigma outside of it."""
    if isinstance(measure.geometry, Circle):
        theta = 2 * np.pi / _ANGLES * np.arange(_ANGLES)
        return float(np.abs(measure.evaluate(theta) - reference.evaluate(theta)).mean()) * 2 * np.pi
    grid = _on_grid(measure)
    inside, total = 0.0, 0.0
    for panel, share, density, sigma in _pieces(grid, reference):
        inside += float((share * sigma).sum()) * panel.volume
        total += float((share * np.abs(density - sigma)).sum()) * panel.volume
    return total + max(1.0 - inside, 0.0)


def maximum(measure: Measure, reference: Measure) -> float:
    """`max |rho - sigma| / max sigma`, over the cells of a grid."""
    if isinstance(measure.geometry, Circle):
        theta = 2 * np.pi / _ANGLES * np.arange(_ANGLES)
        known = reference.evaluate(theta)
        return float(np.abs(measure.evaluate(theta) - known).max() / known.max())
    pieces = list(_pieces(_on_grid(measure), reference))
    worst = max(float(np.abs(density - sigma).max()) for _, _, density, sigma in pieces)
    return worst / max(float(sigma.max()) for *_, sigma in pieces)


def mean(measure: Measure, reference: Measure) -> float:
    """`|m - m'| / (int |x|^2 dmu')^{1/2}`."""
    size = np.sqrt(reference.mean @ reference.mean + np.trace(reference.covariance))
    return float(np.linalg.norm(measure.mean - reference.mean)) / float(size or 1.0)


def covariance(measure: Measure, reference: Measure) -> float:
    """`|S - S'| / |S'|` in the spectral norm."""
    size = float(np.linalg.norm(reference.covariance, 2))
    return float(np.linalg.norm(measure.covariance - reference.covariance, 2)) / (size or 1.0)


#: by the names that problem files use
DISTANCES: dict[str, Callable[[Measure, Measure], float]] = {
    "l1": l1,
    "max": maximum,
    "mean": mean,
    "covariance": covariance,
}
#: those that look at densities
NEED_DENSITY = ("l1", "max")


def _on_grid(measure: Measure) -> GridDensity:
    if not isinstance(measure, GridDensity):
        raise ProblemError.at("compare.distance", f"needs a density on a grid, and this is a {type(measure).__name__}")
    return measure


def _pieces(measure: GridDensity, reference: Measure) -> list[tuple[Panel, Float, Float, Float]]:
    """By panels: the panel, its share of the density, the density and the reference's."""
    if len(measure.panels) == 1:
        (panel,) = measure.panels
        lattice = panel.lattice
        if panel.averages:
            return [(panel, np.ones(lattice.shape), panel.values, reference.cell_averages(lattice))]
        sigma = reference.evaluate(lattice.points()).reshape(lattice.shape)
        return [(panel, np.ones(lattice.shape), panel.values, sigma)]
    found = []
    for panel in measure.panels:  # where they overlap, each counts for its share
        density = density_on(measure, panel)
        share = np.divide(panel.at_points, density, out=np.zeros_like(density), where=density > 0)
        sigma = reference.evaluate(panel.lattice.points()).reshape(density.shape)
        found.append((panel, share, density, sigma))
    return found
