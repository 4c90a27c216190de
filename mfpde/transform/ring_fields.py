"""Compiled steps between coefficients of harmonics and fields on Gauss rings, block by block.

A block's field is `(2, length * count)`, place k of pair r in column `k * count + r`. In space row 1 holds the northern
rings and row 0 the southern ones: a transform of both at once, run backwards by exchanging real and imaginary parts.
"""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.legendre_kernels import (
    FIELDS,
    ROOM,
    SUMS,
    analyze_one_field,
    analyze_order,
    load_rings,
    start_order,
    sum_order,
    sum_order_of_two,
)
from mfpde.transform.legendre_tables import Orders, Rings
from mfpde.transform.ring_fourier import transform_rings
from mfpde.typing import Float

__all__ = [
    "analyze_block",
    "analyze_scalar",
    "analyze_values",
    "prepare_field",
    "prepare_slopes",
    "synthesize_block",
    "synthesize_block_of_two",
    "synthesize_gradient",
    "synthesize_values",
    "vector_products",
]


@kernel
def prepare_field(orders: Orders, coefficients: Float, factors: Float, top: int, prepared: Float) -> None:
    """`factors[l]` times coefficients of degrees up to `top`, scaled for sums."""
    for row in range(orders.order.size):
        count = min(orders.counts[row] - 1, int(top - orders.order[row]) + 1)
        for place in range(orders.first[row], orders.first[row + 1]):
            share = 0.0
            if place - orders.first[row] < count:
                share = orders.scale[place] * factors[int(orders.degree[place])]
            prepared[0, place] = share * coefficients[0, place]
            prepared[1, place] = share * coefficients[1, place]


@kernel
def prepare_slopes(orders: Orders, coefficients: Float, factors: Float, top: int, along: Float, around: Float) -> None:
    """The same for `sin` times the derivative in colatitude, of degree `top + 1`, and for that in longitude."""
    for row in range(orders.order.size):
        order, start = orders.order[row], orders.first[row]
        count = min(orders.counts[row] - 1, int(top - order) + 1)
        for place in range(start, orders.first[row + 1]):
            number, degree, scale = place - start, orders.degree[place], orders.scale[place]
            real, imaginary = 0.0, 0.0
            if 0 < number <= count:
                share = (degree - 1.0) * orders.root[place] * factors[int(degree) - 1]
                real, imaginary = share * coefficients[0, place - 1], share * coefficients[1, place - 1]
            if number + 1 < count:
                share = (degree + 1.0 + orders.shift) * orders.root[place + 1] * factors[int(degree) + 1]
                real -= share * coefficients[0, place + 1]
                imaginary -= share * coefficients[1, place + 1]
            along[0, place], along[1, place] = scale * real, scale * imaginary
            share = order * scale * factors[int(degree)] if number < count else 0.0
            around[0, place], around[1, place] = -share * coefficients[1, place], share * coefficients[0, place]


@kernel
def _place(work: Float, sums: int, field: Float, row: int, length: int, count: int) -> None:
    """Spectra of a pair's two rings, from even and odd sums in four rows of `work`, as one complex spectrum with its
    parts exchanged."""
    real, imaginary, four = field[0], field[1], work[sums : sums + 4 * ROOM]
    here, there = row * count, (length - row) % length * count
    forth_real, forth_imaginary = real[here : here + count], imaginary[here : here + count]
    back_real, back_imaginary = real[there : there + count], imaginary[there : there + count]
    for ring in range(count):
        even_re, even_im = four[ring], four[ROOM + ring]
        odd_re, odd_im = four[2 * ROOM + ring], four[3 * ROOM + ring]
        north_re, south_re = even_re + odd_re, even_re - odd_re
        north_im, south_im = even_im + odd_im, even_im - odd_im
        back_imaginary[ring], back_real[ring] = north_re + south_im, south_re - north_im
        forth_imaginary[ring], forth_real[ring] = north_re - south_im, south_re + north_im


@kernel
def _clear_between(field: Float, rows: int, length: int, count: int) -> None:
    """No waves of orders from number `rows` on."""
    for part in range(2):
        between = field[part, rows * count : (length - rows + 1) * count]
        for column in range(between.size):
            between[column] = 0.0


@kernel
def _rows_within(orders: Orders, rings: Rings, block: int, top: int) -> int:
    """Of the orders that reach a block of rings, those up to the degree `top`."""
    rows = min(orders.order.size, rings.reach[block])
    while rows > 1 and orders.order[rows - 1] > top:
        rows -= 1
    return rows


@kernel
def synthesize_block(
    orders: Orders, rings: Rings, block: int, prepared: Float, top: int, work: Float, field: Float, spare: Float
) -> bool:
    """The field on a block of rings. True when it is in `spare`."""
    first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
    length, rows = rings.roots.shape[1], _rows_within(orders, rings, block, top)
    load_rings(work, rings.cosines[first : first + count], count)
    _clear_between(field, rows, length, count)
    for row in range(rows):
        start = orders.first[row]
        degrees = min(orders.counts[row], int(top - orders.order[row]) + 1)
        start_order(work, rings.sectoral[row, first : first + count], count)
        sum_order(work, orders.step[start:], prepared[0, start:], prepared[1, start:], degrees, count)
        _place(work, SUMS, field, row, length, count)
    return transform_rings(field, spare, rings.roots, count)


@kernel
def synthesize_block_of_two(
    orders: Orders, rings: Rings, block: int, prepared: Float, top: int, work: Float, fields: Float, spare: Float
) -> bool:
    """Two fields by one recurrence, of `prepared[0]` and `prepared[1]`, in two of `fields`, or of `spare`."""
    first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
    length, rows = rings.roots.shape[1], _rows_within(orders, rings, block, top)
    load_rings(work, rings.cosines[first : first + count], count)
    for which in range(2):
        _clear_between(fields[which], rows, length, count)
    one, two = prepared[0], prepared[1]
    for row in range(rows):
        start = orders.first[row]
        degrees = min(orders.counts[row], int(top - orders.order[row]) + 1)
        start_order(work, rings.sectoral[row, first : first + count], count)
        sum_order_of_two(
            work, orders.step[start:], one[0, start:], one[1, start:], two[0, start:], two[1, start:], degrees, count
        )
        _place(work, SUMS, fields[0], row, length, count)
        _place(work, FIELDS, fields[1], row, length, count)
    transform_rings(fields[0], spare[0], rings.roots, count)
    return transform_rings(fields[1], spare[1], rings.roots, count)


@kernel
def _split(work: Float, field: Float, weights: Float, row: int, length: int, count: int, rows: int) -> None:
    """Even and odd parts of a pair's two spectra, times quadrature weights, to two rows of fields of each parity."""
    real, imaginary = field[0], field[1]
    here, there = row * count, (length - row) % length * count
    forth_real, forth_imaginary = real[here : here + count], imaginary[here : here + count]
    back_real, back_imaginary = real[there : there + count], imaginary[there : there + count]
    even, odd = work[rows : rows + 2 * ROOM], work[rows + 4 * ROOM : rows + 6 * ROOM]
    for ring in range(count):
        share = 0.5 * weights[ring] / length
        south_re, south_im = forth_real[ring] + back_real[ring], forth_imaginary[ring] - back_imaginary[ring]
        north_re, north_im = forth_imaginary[ring] + back_imaginary[ring], back_real[ring] - forth_real[ring]
        even[ring], odd[ring] = share * (north_re + south_re), share * (north_re - south_re)
        even[ROOM + ring], odd[ROOM + ring] = share * (north_im + south_im), share * (north_im - south_im)


@kernel
def analyze_block(
    orders: Orders, rings: Rings, block: int, work: Float, one: Float, two: Float, sums: Float, sums_2: Float
) -> None:
    """Add what a block of two fields, already transformed along rings, has of each harmonic, before it is scaled."""
    first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
    length, rows = rings.roots.shape[1], min(orders.order.size, rings.reach[block])
    weights = rings.weights[first : first + count]
    load_rings(work, rings.cosines[first : first + count], count)
    for row in range(rows):
        start = orders.first[row]
        _split(work, one, weights, row, length, count, FIELDS)
        _split(work, two, weights, row, length, count, FIELDS + 2 * ROOM)
        start_order(work, rings.sectoral[row, first : first + count], count)
        analyze_order(
            work,
            orders.step[start:],
            sums[0, start:],
            sums[1, start:],
            sums_2[0, start:],
            sums_2[1, start:],
            orders.counts[row],
            count,
        )


@kernel
def vector_products(orders: Orders, along: Float, around: Float, products: Float) -> None:
    """`int F . grad conj(Y)` from sums of the components of F, each divided by the sine of the colatitude."""
    for row in range(orders.order.size):
        order, start, count = orders.order[row], orders.first[row], orders.counts[row] - 1
        for place in range(start, orders.first[row + 1]):
            if place - start >= count:
                products[0, place] = products[1, place] = 0.0
                continue
            degree, turn = orders.degree[place], order * orders.scale[place]
            share = degree * orders.root[place + 1] * orders.scale[place + 1]
            real = share * along[0, place + 1] + turn * around[1, place]
            imaginary = share * along[1, place + 1] - turn * around[0, place]
            if place > start:
                share = (degree + orders.shift) * orders.root[place] * orders.scale[place - 1]
                real -= share * along[0, place - 1]
                imaginary -= share * along[1, place - 1]
            products[0, place], products[1, place] = real, imaginary


_TILE = 16  # places along a ring that are copied at a time, so that reading and writing both stay near by


@kernel
def _spread_block(field: Float, first: int, count: int, pairs: int, length: int, values: Float) -> None:
    """Values of a block, `(2 pairs, length)`, the northernmost ring first."""
    for start in range(0, length, _TILE):
        end = min(start + _TILE, length)
        for ring in range(min(count, pairs - first)):
            north, south = values[first + ring], values[2 * pairs - 1 - first - ring]
            for place in range(start, end):
                north[place] = field[1, place * count + ring]
                south[place] = field[0, place * count + ring]


@kernel
def _gather_block(values: Float, first: int, count: int, pairs: int, length: int, field: Float) -> None:
    """The other way round; rings that only fill a block are zero."""
    for start in range(0, length, _TILE):
        end = min(start + _TILE, length)
        for ring in range(count):
            if first + ring >= pairs:
                for place in range(start, end):
                    field[0, place * count + ring] = field[1, place * count + ring] = 0.0
                continue
            north, south = values[first + ring], values[2 * pairs - 1 - first - ring]
            for place in range(start, end):
                field[1, place * count + ring] = north[place]
                field[0, place * count + ring] = south[place]


@kernel
def synthesize_values(
    orders: Orders, rings: Rings, prepared: Float, top: int, work: Float, field: Float, spare: Float, values: Float
) -> None:
    """Values on all rings, `(2 pairs, length)`."""
    pairs, length = values.shape[0] // 2, values.shape[1]
    for block in range(rings.bounds.size - 1):
        first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
        moved = synthesize_block(orders, rings, block, prepared, top, work, field, spare)
        _spread_block(spare if moved else field, first, count, pairs, length, values)


@kernel
def synthesize_gradient(
    orders: Orders, rings: Rings, prepared: Float, top: int, work: Float, fields: Float, spare: Float, values: Float
) -> None:
    """Values of two fields on all rings, `(2, 2 pairs, length)`."""
    pairs, length = values.shape[1] // 2, values.shape[2]
    for block in range(rings.bounds.size - 1):
        first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
        moved = synthesize_block_of_two(orders, rings, block, prepared, top, work, fields, spare)
        made = spare if moved else fields
        for which in range(2):
            _spread_block(made[which], first, count, pairs, length, values[which])


@kernel
def analyze_values(
    orders: Orders,
    rings: Rings,
    one: Float,
    two: Float,
    work: Float,
    fields: Float,
    spare: Float,
    sums: Float,
    sums_2: Float,
) -> None:
    """Sums for two fields given on all rings; `fields` and `spare` have room for two blocks."""
    pairs, length = one.shape[0] // 2, one.shape[1]
    sums[:, :] = 0.0
    sums_2[:, :] = 0.0
    for block in range(rings.bounds.size - 1):
        first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
        _gather_block(one, first, count, pairs, length, fields[0])
        _gather_block(two, first, count, pairs, length, fields[1])
        moved = transform_rings(fields[0], spare[0], rings.roots, count)
        transform_rings(fields[1], spare[1], rings.roots, count)
        first_field, second_field = (spare[0], spare[1]) if moved else (fields[0], fields[1])
        analyze_block(orders, rings, block, work, first_field, second_field, sums, sums_2)


@kernel
def analyze_scalar(
    orders: Orders, rings: Rings, values: Float, work: Float, field: Float, spare: Float, sums: Float
) -> None:
    """Sums for one field given on all rings."""
    pairs, length = values.shape[0] // 2, values.shape[1]
    sums[:, :] = 0.0
    for block in range(rings.bounds.size - 1):
        first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
        _gather_block(values, first, count, pairs, length, field)
        moved = transform_rings(field, spare, rings.roots, count)
        weights = rings.weights[first : first + count]
        load_rings(work, rings.cosines[first : first + count], count)
        for row in range(min(orders.order.size, rings.reach[block])):
            start, number = orders.first[row], orders.counts[row]
            _split(work, spare if moved else field, weights, row, length, count, FIELDS)
            start_order(work, rings.sectoral[row, first : first + count], count)
            analyze_one_field(work, orders.step[start:], sums[0, start:], sums[1, start:], number, count)
