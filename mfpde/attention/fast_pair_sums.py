"""Sums over pairs of tokens by the fastest way there is: by moments, lattices, a grid, sorting, tables in
compiled code, or plainly.

Sizes and potentials alone decide which, so the same tokens give the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.attention import pair_sums
from mfpde.attention.grid_sums import grid_plan
from mfpde.attention.lattice_sums import sums_over_lattice
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_tables import kind_of_space, reach_of, tables_of
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.ranks import shared
from mfpde.transform.direct import counts_of, gathered
from mfpde.transform.radial import TABLE_PAIR_NANOSECONDS, forces_by_pairs, values_by_pairs
from mfpde.transform.sorted_sums import sorted_plan
from mfpde.typing import Float

__all__ = ["energy_of_pairs", "forces", "laplacians"]

_PLAIN_PAIRS_MAX = 64  # that are not worth a table


def forces(potential: PairPotential, measure: Measure, queries: Queries) -> Float:
    """`grad (W * mu)` in native components, `(m, c)`."""
    space = measure.space
    if space.flat and potential.stiffness is not None:
        mass, mean = (measure.mass, measure.mean) if measure.lattices else _moments(measure)[:2]
        return potential.stiffness[0] * mass * (_native(queries) - mean)
    found = _by_lattices(potential, measure, "slopes", queries)
    if found is not None:
        return found.T
    points = _native(queries)
    found = _over_nodes(potential, measure, "slopes", points)
    if found is None:
        return pair_sums.forces(potential, space, points, *measure.nodes())
    return found if space.flat or space.angular else found - np.einsum("mc,mc->m", found, points)[:, None] * points


def laplacians(potential: PairPotential, measure: Measure, queries: Queries) -> Float:
    """`Lap (W * mu)`, `(m,)`."""
    if measure.space.flat and potential.stiffness is not None:
        strength = measure.ambient_dimension * potential.stiffness[0] * _moments(measure)[0]
        return np.full(_native(queries).shape[0], strength)
    found = _by_lattices(potential, measure, "laplacians", queries)
    if found is not None:
        return found[0]
    points = _native(queries)
    found = _over_nodes(potential, measure, "laplacians", points)
    return pair_sums.laplacians(potential, measure.space, points, *measure.nodes()) if found is None else found


def energy_of_pairs(potential: PairPotential, measure: Measure) -> float:
    """`iint W dmu dmu / 2`."""
    if measure.space.flat and potential.stiffness is not None:
        (strength, constant), (mass, _, spread) = potential.stiffness, _moments(measure)
        return 0.5 * mass * (constant * mass + strength * spread)
    points, weights = measure.nodes()
    by_lattices = [_by_lattices(potential, measure, "values", queries) for queries in measure.lattices]
    if by_lattices and all(each is not None for each in by_lattices):
        values = np.concatenate([each[0] for each in by_lattices if each is not None])
        return 0.5 * float(np.einsum("n,n->", weights, values))
    found = _of_nodes(potential, measure.space, "values", points, points, weights)
    if found is None:
        return pair_sums.energy_of_pairs(potential, measure.space, points, weights)
    return 0.5 * float(np.einsum("n,n->", weights, found))


def _moments(measure: Measure) -> tuple[float, Float, float]:
    """Mass, mean, and `int |y - mean|^2 dmu`."""

    def moments(points: Float, weights: Float) -> Float:
        mass = shared().sum(float(np.einsum("n->", weights)))
        mean = shared().sum(np.einsum("n,nc->c", weights, points)) / mass
        return np.array([mass, shared().sum(float(np.einsum("n,nc->", weights, (points - mean) ** 2))), *mean])

    mass, spread, *mean = measure.over_nodes(moments)
    return mass, np.array(mean), spread


def _native(queries: Queries) -> Float:
    return queries.points() if queries.native is None else queries.native


def _by_lattices(potential: PairPotential, measure: Measure, what: str, queries: Queries) -> Float | None:
    """Of a density on lattices, one after the other; None of any other measure, and where one of them is not to be
    summed so."""
    if not measure.lattices or not measure.space.flat:
        return None
    total = None
    for lattice, masses in zip(measure.lattices, measure.lattice_masses, strict=True):
        found = sums_over_lattice(potential, measure.space, what, lattice, masses, queries)
        if found is None:
            return None
        total = found if total is None else total + found
    return total


def _over_nodes(potential: PairPotential, measure: Measure, what: str, points: Float) -> Float | None:
    """Of all nodes; where these are spread over ranks, each gives its own as far as there is a grid to sum them on."""
    if not measure.space.flat:
        return _of_nodes(potential, measure.space, what, points, *measure.nodes())
    return measure.over_nodes(lambda keys, weights: _of_nodes(potential, measure.space, what, points, keys, weights))


def _of_nodes(
    potential: PairPotential, space: Geometry, what: str, points: Float, keys: Float, weights: Float
) -> Float | None:
    if math.prod(counts_of(points, keys)) <= _PLAIN_PAIRS_MAX:
        return None
    reach = reach_of(space, points, keys)
    plan = grid_plan(potential, space, what, reach, points, keys)
    if plan is not None:
        found = plan.sums(points, keys, weights)
        return found.T if what == "slopes" else found[0]
    keys, weights = gathered(keys, weights)
    tables = tables_of(potential, space, reach, what)
    if tables is None:
        return None
    if points.shape[1] == 1:
        along = _by_sorting(potential, space, reach, what, points[:, 0], keys[:, 0], weights)
        if along is not None:
            return along[:, None] if what == "slopes" else along
    summed = forces_by_pairs if what == "slopes" else values_by_pairs
    return summed(kind_of_space(space), points, keys, weights, tables)


def _by_sorting(
    potential: PairPotential, space: Geometry, reach: float, what: str, x: Float, y: Float, weights: Float
) -> Float | None:
    """On the line, and on the circle, whose keys are seen on either side; None where all pairs are cheaper."""
    tables = tables_of(potential, space, reach, what, coarse=True)
    plan = None if tables is None else sorted_plan(tables[0])
    if plan is None or plan.point_nanoseconds * (x.size + y.size) > TABLE_PAIR_NANOSECONDS * float(x.size) * y.size:
        return None
    if space.angular:
        x, y = np.mod(x, 2 * np.pi), np.mod(y, 2 * np.pi)
        ahead, behind = y < np.pi, y >= np.pi
        y = np.concatenate([y, y[ahead] + 2 * np.pi, y[behind] - 2 * np.pi])
        weights = np.concatenate([weights, weights[ahead], weights[behind]])
    return plan.sums(x, y, weights, odd=what == "slopes")
