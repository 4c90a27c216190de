"""Masked attention: a token at position s sees the tokens at positions up to s (physics section 8)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Measure, Particles, Superposition
from mfpde.measure.positioned import Positioned
from mfpde.typing import AnyArray, Float

__all__ = ["positions_of", "seen_from", "total_mass", "views", "visible_groups"]


def positions_of(measure: Measure, points: AnyArray | Lattice, positions: AnyArray | None) -> Float:
    """Positions of the points, `(m,)`, or `()` for a lattice; the measure's own where its own nodes are the points."""
    if measure.positions is None:
        raise ProblemError.at("measure", "has no positions, which masked attention needs: Particles(..., positions=s)")
    if positions is None:
        positions = _own_positions(measure, points)
    given = np.asarray(positions, dtype=float)
    wanted = () if isinstance(points, Lattice) else (points.shape[0],)
    if given.shape not in {(), wanted} or not np.isfinite(given).all():
        raise ProblemError.at("positions", f"must be finite and have shape {wanted}, not {given.shape}")
    first = float(measure.positions.min())
    if given.min(initial=np.inf) < first:
        raise ProblemError.at(
            "positions", f"a token at s = {given.min():g} sees nothing: the first of the measure is at {first:g}"
        )
    return np.broadcast_to(given, wanted)


def _own_positions(measure: Measure, points: AnyArray | Lattice) -> Float:
    if isinstance(points, Lattice):
        own = measure.panels if isinstance(measure, GridDensity) else ()
        for panel in own:
            if panel.lattice is points and panel.position is not None:
                return np.asarray(panel.position)
    elif measure.positions is not None:
        nodes = measure.nodes()[0]
        if nodes.shape == points.shape and np.array_equal(nodes, points):
            return measure.positions
    raise ProblemError.at("positions", "are wanted, one for each point, unless the points are the measure's own nodes")


def visible_groups(measure: Measure, positions: Float) -> Iterator[tuple[AnyArray, Measure, float]]:
    """For each position that occurs: the indices of its points, the measure they see, and its share of the mass."""
    for position in np.unique(positions):
        yield np.flatnonzero(positions == position), *seen_from(measure, float(position))


def seen_from(measure: Measure, position: float) -> tuple[Measure, float]:
    """The part of the measure at positions up to that one, and by what its integrals are to be multiplied.

    Panels keep their mass; all else is scaled to mass 1, and its share is the second answer.
    """
    if isinstance(measure, GridDensity):
        return measure.up_to(position), 1.0
    if isinstance(measure, Positioned):
        earlier = [(share, part) for place, share, part in measure.slices if place <= position]
        shares = np.array([share for share, _ in earlier])
        return Superposition(shares / shares.sum(), [part for _, part in earlier]), float(shares.sum())
    nodes, weights = measure.nodes()
    there = np.asarray(measure.positions) <= position
    share = float(weights[there].sum() / weights.sum())
    return Particles(nodes[there], weights[there], measure.geometry), share


def views(measure: Measure, previous: Measure | None) -> Iterator[tuple[Measure, Measure | None]]:
    """What the positions of panels see of the measure, and saw of an earlier one. Nothing is kept of what is seen of
    other measures, so there is nothing to prepare."""
    if isinstance(measure, GridDensity) and measure.positions is not None:
        for position in sorted({panel.position for panel in measure.panels if panel.position is not None}):
            before = previous.up_to(position) if isinstance(previous, GridDensity) else None
            yield measure.up_to(position), before


def total_mass(measure: Measure) -> float:
    """Of a measure that need not be a probability: grids keep the mass they are given."""
    return measure.mass if isinstance(measure, GridDensity) else 1.0
