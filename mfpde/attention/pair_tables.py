"""Forces, values and Laplacians of an interaction potential as tables in the distance, for compiled sums over pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.attention.pair_sums import laplacian_of_pair
from mfpde.geometry import Geometry
from mfpde.transform.direct import common_bounds
from mfpde.transform.piecewise import PANELS_FIRST, Piecewise, tabulated
from mfpde.transform.radial import CIRCLE, EUCLIDEAN, SPHERE
from mfpde.typing import Float, Truths

__all__ = ["Tables", "kind_of_space", "reach_of", "tables_of"]

#: of a function of the distance to a neighbour, and of that to an antipode
Tables = tuple[Piecewise, Piecewise]
Profile = Callable[[Float, Truths], Float]

_LONGEST_CHORD = 1.5  # between tokens no more than a right angle apart; sqrt(2), and rounding
_SMALLEST_REACH = 1e-30  # of tokens in one place


def kind_of_space(space: Geometry) -> int:
    """How distances are measured there."""
    return CIRCLE if space.angular else EUCLIDEAN if space.flat else SPHERE


def reach_of(space: Geometry, points: Float, keys: Float) -> float:
    """A power of two beyond all distances on a flat space; tables for it last while tokens move."""
    if not space.flat:
        return np.pi
    low, high = common_bounds(points, keys)
    length = math.hypot(*(high - low))
    return 2.0 ** math.ceil(math.log2(max(1.01 * length, _SMALLEST_REACH)))


@lru_cache(maxsize=64)
def tables_of(
    potential: PairPotential, space: Geometry, reach: float, what: str, coarse: bool = False
) -> Tables | None:
    """Tables of `slopes`, `values` or `laplacians`; None where these are too rough, or not finite. `coarse` ones have
    as few panels as may be."""
    profile, first = _profiles(potential, space)[what], 1 if coarse else PANELS_FIRST
    kinks = kinks_of(potential, reach)
    if space.flat:
        only = tabulated(lambda r: profile(r, np.zeros(r.shape, dtype=bool)), reach, kinks, first)
        return None if only is None else (only, only)
    if space.angular:
        half = 0.5 * np.pi
        only = tabulated(
            lambda r: profile(np.where(r > half, np.pi - r, r), r > half), np.pi, np.append(kinks, half), first
        )
        return None if only is None else (only, only)
    found = []
    for opposite in (False, True):
        chords = 2 * np.sin(0.5 * (np.pi - kinks if opposite else kinks))
        found.append(tabulated(_along_chords(profile, opposite, what == "slopes"), _LONGEST_CHORD, chords, first))
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _profiles(potential: PairPotential, space: Geometry) -> dict[str, Profile]:
    return {
        "slopes": lambda near, opposite: potential.jets(near, opposite)[1],
        "values": lambda near, opposite: potential.jets(near, opposite)[0],
        "laplacians": lambda near, opposite: laplacian_of_pair(potential, space, near, opposite),
    }


def _along_chords(profile: Profile, opposite: bool, slopes: bool) -> Callable[[Float], Float]:
    """As a function of the chord; slopes as forces along it, of which the part along the sphere is W'."""

    def of_chord(chord: Float) -> Float:
        half = np.arcsin(0.5 * chord)
        found = profile(2 * half, np.full(chord.shape, opposite))
        return found / np.cos(half) if slopes else found

    return of_chord
