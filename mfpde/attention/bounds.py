"""How large scores may be."""

from __future__ import annotations

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Measure, Particles
from mfpde.typing import Float

__all__ = ["LARGEST_SCORE", "check_scores"]

#: scores are rounded to 2e-16 of their size, which moves a tilted mean by as much: 1e-9 at this one
LARGEST_SCORE = 1e6


def check_scores(measure: Measure, points: Float | Lattice, query: Float) -> None:
    """Fail when `<Ax, y>` can be so large that its rounding alone spoils the drift."""
    if measure.geometry is not None and not measure.geometry.flat:
        largest = float(np.linalg.norm(query, 2))
    else:
        keys = _sizes_of(measure)
        if keys is None:
            return
        largest = float(keys @ np.abs(query) @ _sizes(points))
        if largest > LARGEST_SCORE and not isinstance(points, Lattice):  # rough in many dimensions: look closer
            lengths = [np.linalg.norm(x, axis=1).max() for x in (measure.nodes()[0], points)]
            largest = min(largest, float(np.linalg.norm(query, 2) * lengths[0] * lengths[1]))
    if largest > LARGEST_SCORE:
        raise ProblemError.at(
            "attention",
            f"A is too large for these tokens: scores <Ax, y> reach {largest:.2g}, and beyond {LARGEST_SCORE:g} their "
            "rounding alone moves the drift by more than 1e-9; scale A or the tokens down",
        )


def _sizes_of(measure: Measure) -> Float | None:
    """Largest |y_i| of the tokens, where they are known without any computing."""
    if isinstance(measure, GridDensity):
        return np.max([_sizes(panel.lattice) for panel in measure.panels], axis=0)
    return _sizes(measure.points) if isinstance(measure, Particles) else None


def _sizes(points: Float | Lattice) -> Float:
    if isinstance(points, Lattice):
        ends = np.array([max(abs(axis[0]), abs(axis[-1])) for axis in points.axes])
        return np.abs(points.matrix) @ ends + np.abs(points.origin)
    return np.maximum(points.max(axis=0, initial=0.0), -points.min(axis=0, initial=0.0))
