"""How large scores may be."""

from __future__ import annotations

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Queries
from mfpde.measure import Measure
from mfpde.typing import Float

__all__ = ["LARGEST_SCORE", "check_scores"]

#: scores are rounded to 2e-16 of their size, which moves a tilted mean by as much: 1e-9 at this one
LARGEST_SCORE = 1e6


def check_scores(measure: Measure, queries: Queries, query: Float) -> None:
    """Fail when `<Ax, y>` can be so large that its rounding alone spoils the drift."""
    if not measure.space.flat:
        largest = float(np.linalg.norm(query))  # rough, and without a decomposition of A in every evaluation
        if largest > LARGEST_SCORE:
            largest = float(np.linalg.norm(query, 2))
    else:
        keys = measure.sizes()
        if keys is None:
            return
        largest = float(keys @ np.abs(query) @ queries.sizes())
        if largest > LARGEST_SCORE:  # rough in many dimensions: look closer
            lengths = [np.linalg.norm(x, axis=1).max() for x in (measure.nodes()[0], queries.points())]
            largest = min(largest, float(np.linalg.norm(query, 2) * lengths[0] * lengths[1]))
    if largest > LARGEST_SCORE:
        raise ProblemError.at(
            "attention",
            f"A is too large for these tokens: scores <Ax, y> reach {largest:.2g}, and beyond {LARGEST_SCORE:g} their "
            "rounding alone moves the drift by more than 1e-9; scale A or the tokens down",
        )
