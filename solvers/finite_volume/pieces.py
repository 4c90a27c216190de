"""Smooth pieces of an initial measure on the line, cut at edges and kinks that move with the tokens.

A jump of the density stays one, at a token: on a piece between two of them the density is smooth for all times where
the velocity is. ReLU attention has its kink at the origin, where tokens stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.measure.edge_stencils import at_middles
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.initial import Discretised, Part, components
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention.velocity import Velocity
    from mfpde.equation import Equation

__all__ = ["averaged", "ends_inside", "kinks_inside", "resolved", "smooth_pieces"]

_MAX_PIECES = 12  # of a component: each costs as much as a component does
_MAX_HALVINGS = 5  # of a piece, where tails or a steep end need them
_TRIAL = Grid(np.array([-1.0]), np.array([1.0]), (96,), gaussian=False)  # cells a piece should do with
_SMOOTH_TO = 1e-9  # of the largest density: what such cells may miss of it before a piece is halved
_LEAST_LENGTH = 1e-12  # of the support, of a piece
_LEAST_SHARE = 1e-18  # of the mass: intervals with less are empty


def smooth_pieces(equation: Equation, measure: Measure) -> list[Part]:
    """A part for each smooth piece, its frame from end to end: `x = mean + matrix z`, z in [-1, 1].

    Empty where pieces are of no use: with noise, where tails matter to the kernel, and where nothing has edges or kinks
    that stay at a token.
    """
    velocity, law = equation.velocity, equation.velocity.law
    if equation.noise.strongest > 0 or equation.geometry.ambient_dimension > 1 or equation.interaction is not None:
        return []
    laws = [
        (place, share * part, component, component.breakpoints)
        for place, share, slice_law in measure.slices
        for part, component in components(slice_law, apart=True)
    ]
    if any(ends is None for *_, ends in laws):
        return []
    terms = () if law is None else law.at(0.0).terms(1)
    if any(term.head.tail_power < 1 for term in terms) and not measure.compact:
        return []
    cut = velocity.kinked and not kinks_inside(velocity)
    if not cut and not any(_ends_inside(law) for _, _, law, _ in laws):
        return []
    origin = [0.0] if cut else []
    found = [
        piece for place, share, part, ends in laws for piece in _pieces(part, np.asarray(ends), origin, share, place)
    ]
    return found if len(found) <= _MAX_PIECES * len(laws) else []


def ends_inside(measure: Measure) -> bool:
    """Whether a measure on the line has edges or kinks, which cells that do not follow them cannot show."""
    return any(_ends_inside(part) for _, _, law in measure.slices for _, part in components(law, apart=True))


def _ends_inside(measure: Measure) -> bool:
    return measure.compact or (measure.breakpoints is not None and measure.breakpoints.size > 2)


def kinks_inside(velocity: Velocity) -> bool:
    """Whether the velocity has kinks that tokens cross: any but that of kernels whose token at the origin rests."""
    if not velocity.kinked or velocity.pointwise is not None or velocity.law is None:
        return velocity.kinked
    return not all(term.head.rests_at_origin for term in velocity.law.at(0.0).terms(1))


def _pieces(measure: Measure, ends: Float, cuts: list[float], share: float, position: float | None) -> list[Part]:
    inner = [cut for cut in cuts if ends[0] < cut < ends[-1]]
    places = np.unique(np.concatenate([inner, ends]))
    # pieces that meet may say so to rounding only
    places = places[np.diff(places, prepend=-np.inf) > _LEAST_LENGTH * (places[-1] - places[0])]
    for _ in range(_MAX_HALVINGS):
        parts = _between(measure, places, share, position)
        rough = [each.missed > _SMOOTH_TO for each in averaged(parts, _TRIAL)]
        middles = [part.mean for part, is_rough in zip(parts, rough, strict=True) if is_rough]
        if not middles or places.size + len(middles) > _MAX_PIECES:
            break
        places = np.sort(np.concatenate([places, *middles]))
    return _between(measure, places, share, position)


def _between(measure: Measure, ends: Float, share: float, position: float | None) -> list[Part]:
    """One part for each interval, those without mass left out."""
    frames = [(np.array([0.5 * (low + high)]), np.array([[0.5 * (high - low)]])) for low, high in pairwise(ends)]
    averages = [measure.cell_averages(Lattice(_TRIAL.axes, *frame)) for frame in frames]
    masses = np.array([part.mean() * frame[1][0, 0] for part, frame in zip(averages, frames, strict=True)])
    shares = masses / masses.sum()
    return [
        Part(share * part, measure, *frame, position)
        for part, frame in zip(shares.tolist(), frames, strict=True)
        if part > _LEAST_SHARE
    ]


def resolved(parts: Sequence[Part]) -> bool:
    """Whether halving has made pieces smooth: not where a density ends like a square root."""
    return all(each.missed <= _SMOOTH_TO for each in averaged(parts, _TRIAL))


def averaged(parts: Sequence[Part], grid: Grid) -> list[Discretised]:
    """Pieces on cells: averages over them; `missed` is how far point values made of these are from the measure's,
    relative to the largest density of all pieces."""
    with np.errstate(all="ignore"):
        found = [_averaged(part, grid) for part in parts]
        peak = max(float(each.density.max()) / each.matrix[0, 0] for each in found)
        return [each._replace(missed=float(each.missed / each.matrix[0, 0] / peak)) for each in found]


def _averaged(part: Part, grid: Grid) -> Discretised:
    """With `missed` per unit length of z."""
    lattice = Lattice(grid.axes, part.mean, part.matrix)
    density = part.measure.cell_averages(lattice).reshape(grid.shape)
    factor = part.share / (density.sum() * grid.volume)
    exact = part.measure.evaluate(lattice.points()).reshape(grid.shape)
    missed = float(np.abs(at_middles(grid.cells[0]).of(density) - exact).max()) * factor
    return Discretised(density * factor, part.mean, part.matrix, missed)
