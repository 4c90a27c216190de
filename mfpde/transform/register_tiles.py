"""Tiles of products of matrices, held in the registers of the processor while they are summed.

The compiler keeps the sums of four rows in memory between two terms. Here 4 x 32 of them stay in vector registers over
all terms: sixteen multiply-adds for four loads and four broadcasts. Each sum has the order of its terms, as in a plain
loop of fused multiply-adds, and the same bits.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mfpde.typing import Float

__all__ = ["TILE_COLUMNS", "TILE_ROWS", "multiply_tile"]

tools: Any = cgutils
_LANES, _VECTORS = 8, 4  # numbers of a register, and registers side by side: with four rows sixteen of 32 hold sums
TILE_ROWS, TILE_COLUMNS = 4, _LANES * _VECTORS  # of a tile of the product


def _instructions(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    left, right, out = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
    )
    row, column, begin, end, apart, along, between = arguments[3:]
    vector = ir.VectorType(ir.DoubleType(), _LANES)
    fused = tools.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{_LANES}f64"
    )
    zero = ir.Constant(vector, [0.0] * _LANES)
    sums = [[tools.alloca_once_value(builder, zero) for _ in range(_VECTORS)] for _ in range(TILE_ROWS)]

    def place(number: int, of: int) -> Any:
        return builder.add(number, context.get_constant(types.intp, of))

    def lanes(data: Any, start: Any) -> Any:
        return builder.bitcast(builder.gep(data, [start]), vector.as_pointer())

    starts = [builder.add(builder.mul(place(row, i), between), column) for i in range(TILE_ROWS)]
    held = [(sums[i][k], lanes(out, place(starts[i], _LANES * k))) for i in range(TILE_ROWS) for k in range(_VECTORS)]
    for here, there in held:
        builder.store(builder.load(there, align=8), here)
    first, step = ir.Constant(ir.IntType(32), 0), context.get_constant(types.intp, 1)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    with tools.for_range_slice(builder, begin, end, step, inc=True) as (term, _):
        start = builder.add(builder.mul(term, along), column)
        fields = [builder.load(lanes(right, place(start, _LANES * k)), align=8) for k in range(_VECTORS)]
        for i, line in enumerate(sums):
            one = builder.load(builder.gep(left, [builder.add(builder.mul(place(row, i), apart), term)]))
            factor = builder.shuffle_vector(builder.insert_element(zero, one, first), zero, everywhere)
            for here, field in zip(line, fields, strict=True):
                builder.store(builder.call(fused, [factor, field, builder.load(here)]), here)
    for here, there in held:
        builder.store(builder.load(here), there, align=8)
    return context.get_dummy_value()


def _intrinsic(
    _context: Any, left: Any, right: Any, out: Any, _row: Any, _column: Any, _begin: Any, _end: Any,
    _apart: Any, _along: Any, _between: Any,
) -> Any:  # fmt: skip
    """`out[row + i, column + j] += sum_k left[row + i, k] right[k, column + j]`, begin <= k < end, i < 4, j < 32, of
    matrices whose rows are so many numbers apart."""
    return types.void(left, right, out, *[types.intp] * 7), _instructions


def _plainly(
    left: Float, right: Float, out: Float, row: int, column: int, begin: int, end: int,
    _apart: int, _along: int, _between: int,
) -> None:  # fmt: skip
    """The same in Python, for kernels that NUMBA_DISABLE_JIT leaves uncompiled (to rounding)."""
    rows, there = slice(row, row + TILE_ROWS), slice(column, column + TILE_COLUMNS)
    out[rows, there] += left[rows, begin:end] @ right[begin:end, there]


multiply_tile: Any = _plainly if vars(numba.config)["DISABLE_JIT"] else intrinsic(_intrinsic)
