"""The nonlinear part of the equation on spheres in harmonics: `N_lm = int grad conj(Y_lm) . v dmu`, v a convolution.

Products are made on Gauss rings with so many places that the sums over them are the integrals, and N is the projection
of `-div(mu v)`: mass is kept to the last digit. Blocks of rings go all the way from coefficients to coefficients.
`external` holds the slopes of an external potential, prepared for sums, if there is one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.exponential_step import advance_stage, scale_difference, step_errors
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.transform.legendre_tables import Orders, Rings
from mfpde.transform.ring_fields import (
    analyze_block,
    prepare_field,
    prepare_slopes,
    synthesize_block,
    synthesize_block_of_two,
    vector_products,
)
from mfpde.transform.ring_fourier import transform_rings
from mfpde.typing import Float

__all__ = ["HarmonicWork", "attempt_on_sphere", "slope_on_sphere"]

_WATCHED_SHARE = 16  # of the orders that a ring tells apart, the last sixteenth shows what it can hardly hold


class HarmonicWork(NamedTuple):
    """Tables, and room for the compiled steps; nothing in it outlives a step but `start`, which follows from the
    state."""

    orders: Orders
    rings: Rings
    potential: Float
    normaliser: Float
    external: Float
    reach: int
    bound: float
    ones: Float
    kept: Float
    prepared: Float
    fields: Float
    spare: Float
    sums: Float
    work: Float
    start: Float
    slope: Float
    stage: Float
    scaled: Float
    errors: Float


@kernel
def _add_external(external: Float, along: Float, around: Float) -> None:
    """Slopes of U to those of W * mu, both prepared for sums."""
    for part in range(2 if external.size > 0 else 0):
        for place in range(along.shape[1]):
            along[part, place] += external[0, part, place]
            around[part, place] += external[1, part, place]


@kernel
def _flux(fields: Float, squares: Float, bound: float, columns: int, normalised: bool) -> None:
    """`mu v / sin` in place of `sin v`: divided by the squared sine and, where there is one, by the normaliser.

    |v| <= bound holds for every measure, and is kept where the normaliser has sunk below the roundoff of its largest
    value."""
    count = squares.size
    for part in range(2):
        for here in range(0, columns, count):
            density, down = fields[0, part, here : here + count], fields[1, part, here : here + count]
            side = fields[2, part, here : here + count]
            if not normalised:
                for ring in range(count):
                    share = density[ring] * squares[ring]
                    down[ring] *= share
                    side[ring] *= share
                continue
            level = fields[3, part, here : here + count]
            for ring in range(count):
                # sin |grad S| and sin times the bound of it
                size = math.sqrt(down[ring] * down[ring] + side[ring] * side[ring])
                most = bound * max(level[ring], 0.0) / math.sqrt(squares[ring])
                share = 0.0
                if most > 0.0:
                    bounded = size > most
                    share = math.sqrt(squares[ring]) * bound / size if bounded else squares[ring] / level[ring]
                    share *= density[ring]
                down[ring] *= share
                side[ring] *= share


@kernel
def _spill(one: Float, two: Float, length: int, count: int, known: float) -> float:
    """The largest of the last orders that rings tell apart, before it is divided by the number of places."""
    largest = known
    for order in range(length // 2 - length // _WATCHED_SHARE, length // 2):
        for ring in range(count):
            here = order * count + ring
            largest = max(largest, abs(one[0, here]), abs(one[1, here]), abs(two[0, here]), abs(two[1, here]))
    return largest


@kernel
def slope_on_sphere(w: HarmonicWork, state: Float, slope: Float) -> float:
    """slope = N(state). Returns what rings can hardly hold of the flux, relative to its bound."""
    orders, rings, top = w.orders, w.rings, w.orders.top
    length, spill = rings.roots.shape[1], 0.0
    prepare_field(orders, state, w.ones, top, w.prepared[0])
    prepare_slopes(orders, state, w.potential, w.reach, w.prepared[1], w.prepared[2])
    _add_external(w.external, w.prepared[1], w.prepared[2])
    if w.normaliser.size > 0:
        prepare_field(orders, state, w.normaliser, w.reach, w.prepared[3])
    for which in range(2):
        for part in range(2):
            row = w.sums[which, part]
            for place in range(row.size):
                row[place] = 0.0
    for block in range(rings.bounds.size - 1):
        first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
        moved = synthesize_block(orders, rings, block, w.prepared[0], top, w.work, w.fields[0], w.spare[0])
        downhill, fields, spare = w.prepared[1:3], w.fields[1:3], w.spare[1:3]
        synthesize_block_of_two(orders, rings, block, downhill, w.reach + 1, w.work, fields, spare)
        if w.normaliser.size > 0:
            synthesize_block(orders, rings, block, w.prepared[3], w.reach, w.work, w.fields[3], w.spare[3])
        here, there = (w.spare, w.fields) if moved else (w.fields, w.spare)
        squares = rings.inverse_squares[first : first + count]
        _flux(here, squares, w.bound, length * count, w.normaliser.size > 0)
        transform_rings(here[1], there[1], rings.roots, count)
        transform_rings(here[2], there[2], rings.roots, count)
        onward = there if moved else here
        spill = _spill(onward[1], onward[2], length, count, spill)
        analyze_block(orders, rings, block, w.work, onward[1], onward[2], w.sums[0], w.sums[1])
    vector_products(orders, w.sums[0], w.sums[1], slope)
    for part in range(2):
        for place in range(slope.shape[1]):
            slope[part, place] *= w.kept[part, place]
    return spill / (length * w.bound) if w.bound > 0.0 else 0.0


@kernel
def attempt_on_sphere(w: HarmonicWork, state: Float, table: Float, step: float) -> float:
    """One step: the new state in w.stage, its N in w.slope, errors in w.errors. Returns the spill of the end. A step of
    0 makes N of the state alone, in w.start."""
    if step == 0.0:
        return slope_on_sphere(w, state, w.start)
    size, spill = state.shape[1], 0.0
    for stage in range(1, STAGES + 1):
        advance_stage(stage, state, w.start, w.scaled, table, step, w.stage, 0, size)
        spill = slope_on_sphere(w, w.stage, w.slope)
        scale_difference(stage, w.slope, w.start, w.scaled, table, size)
    step_errors(w.scaled, table, step, w.errors, size)
    return spill
