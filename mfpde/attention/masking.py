"""Masked attention: a token at position s sees the tokens at positions up to s (physics section 8)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Queries
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["positions_of", "visible_groups"]


def positions_of(measure: Measure, queries: Queries, positions: AnyArray | None) -> Float:
    """Positions of the queries; the measure's own where its own nodes are asked for."""
    if measure.positions is None:
        raise ProblemError.at("measure", "has no positions, which masked attention needs: Particles(..., positions=s)")
    given, wanted = measure.positions_at(queries) if positions is None else positions, queries.positions_shape
    if given is None:
        raise ProblemError.at(
            "positions", "are wanted, one for each point, unless the points are the measure's own nodes"
        )
    given = np.asarray(given, dtype=float)
    if given.shape not in {(), wanted} or not np.isfinite(given).all():
        raise ProblemError.at("positions", f"must be finite and have shape {wanted}, not {given.shape}")
    first = float(measure.positions.min())
    if given.min(initial=np.inf) < first:
        raise ProblemError.at(
            "positions", f"a token at s = {given.min():g} sees nothing: the first of the measure is at {first:g}"
        )
    return np.broadcast_to(given, wanted)


def visible_groups(measure: Measure, positions: Float) -> Iterator[tuple[AnyArray, Measure, float]]:
    """For each position that occurs: the indices of its points, the measure they see, and its share of the mass."""
    for position in np.unique(positions):
        yield np.flatnonzero(positions == position), *measure.up_to(float(position))
