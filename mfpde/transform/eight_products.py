"""Eight scalar products of rows at once, in vector instructions.

The compiler must not reorder sums, and so it leaves a scalar product as one number after the other. Here the order is
written out: eight partial sums side by side, added up in pairs at the end. The bits are the same on every processor.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mfpde.typing import Float

__all__ = ["LANES", "eight_products"]

tools: Any = cgutils
#: rows are a multiple of it long
LANES = 8
_FIELDS = 4  # transformed at once


def _instructions(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """`out[4 i + j] = sum_r work[first_i + r] work[fields + j apart + r]`, i < 2, j < 4, r < count, written to `work`
    from `out` on; `count` is a multiple of `LANES`, and rows are where the five numbers say."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    first, second, fields, apart, out, count = arguments[1:]
    vector = ir.VectorType(ir.DoubleType(), LANES)

    def loaded(place: Any) -> Any:
        pointer = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        return builder.load(pointer, align=8)

    fused = tools.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f64")
    zero = ir.Constant(vector, [0.0] * LANES)
    sums = [tools.alloca_once_value(builder, zero) for _ in range(2 * _FIELDS)]
    step = context.get_constant(types.intp, LANES)
    with tools.for_range_slice(builder, context.get_constant(types.intp, 0), count, step, inc=True) as (here, _):
        functions = [loaded(builder.add(row, here)) for row in (first, second)]
        place = builder.add(fields, here)
        for j in range(_FIELDS):
            field = loaded(place)
            place = builder.add(place, apart)
            for i, function in enumerate(functions):
                kept = sums[_FIELDS * i + j]
                builder.store(builder.call(fused, [function, field, builder.load(kept)]), kept)
    for k, kept in enumerate(sums):
        total = _pairs(builder, builder.load(kept))
        builder.store(total, builder.gep(data, [builder.add(out, context.get_constant(types.intp, k))]))
    return context.get_dummy_value()


def _pairs(builder: Any, lanes: Any) -> Any:
    """The sum of the lanes: halves added until one is left."""
    width = LANES
    while width > 1:
        width //= 2
        halves = [
            builder.shuffle_vector(
                lanes,
                ir.Constant(lanes.type, ir.Undefined),
                ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width))),
            )
            for start in (0, width)
        ]
        lanes = builder.fadd(*halves)
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


def _signature(
    _typing_context: Any, work: Any, _first: Any, _second: Any, _fields: Any, _apart: Any, _out: Any, _count: Any
) -> Any:
    return types.void(work, *[types.intp] * 6), _instructions


def _plainly(work: Float, first: int, second: int, fields: int, apart: int, out: int, count: int) -> None:
    """The same in Python, for kernels that NUMBA_DISABLE_JIT leaves uncompiled (to rounding)."""
    rows = np.array([work[fields + j * apart : fields + j * apart + count] for j in range(_FIELDS)])
    for i, row in enumerate((first, second)):
        work[out + _FIELDS * i : out + _FIELDS * (i + 1)] = rows @ work[row : row + count]


eight_products = cast("Any", _plainly if vars(numba.config)["DISABLE_JIT"] else intrinsic(_signature))
