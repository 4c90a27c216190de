"""Sums over pairs of tokens by the fastest way there is: by a grid, by tables in compiled code, or plainly.

Sizes and potentials alone decide which, so the same tokens give the same bits.
"""

from __future__ import annotations

import numpy as np

from mfpde.attention import pair_sums
from mfpde.attention.grid_sums import grid_plan
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_tables import kind_of_space, reach_of, tables_of
from mfpde.geometry import Geometry
from mfpde.transform.radial import forces_by_pairs, values_by_pairs
from mfpde.typing import Float

__all__ = ["energy_of_pairs", "forces", "laplacians"]

_PLAIN_PAIRS_MAX = 64  # that are not worth a table


def forces(potential: PairPotential, space: Geometry, points: Float, keys: Float, weights: Float) -> Float:
    """As `pair_sums.forces`."""
    found = _fast(potential, space, "slopes", points, keys, weights)
    if found is None:
        return pair_sums.forces(potential, space, points, keys, weights)
    return found if space.flat or space.angular else found - np.einsum("mc,mc->m", found, points)[:, None] * points


def laplacians(potential: PairPotential, space: Geometry, points: Float, keys: Float, weights: Float) -> Float:
    """As `pair_sums.laplacians`."""
    found = _fast(potential, space, "laplacians", points, keys, weights)
    return pair_sums.laplacians(potential, space, points, keys, weights) if found is None else found


def energy_of_pairs(potential: PairPotential, space: Geometry, points: Float, weights: Float) -> float:
    """As `pair_sums.energy_of_pairs`."""
    found = _fast(potential, space, "values", points, points, weights)
    if found is None:
        return pair_sums.energy_of_pairs(potential, space, points, weights)
    return 0.5 * float(np.einsum("n,n->", weights, found))


def _fast(
    potential: PairPotential, space: Geometry, what: str, points: Float, keys: Float, weights: Float
) -> Float | None:
    if points.shape[0] * keys.shape[0] <= _PLAIN_PAIRS_MAX:
        return None
    reach = reach_of(space, points, keys)
    plan = grid_plan(potential, space, what, reach, points, keys)
    if plan is not None:
        found = plan.sums(points, keys, weights)
        return found.T if what == "slopes" else found[0]
    tables = tables_of(potential, space, reach, what)
    if tables is None:
        return None
    summed = forces_by_pairs if what == "slopes" else values_by_pairs
    return summed(kind_of_space(space), points, keys, weights, tables)
