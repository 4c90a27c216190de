"""Scalar products of rows, eight at once, in vector instructions.

The compiler must not reorder sums, and so it leaves a scalar product as one number after the other. Here the order is
written out: eight partial sums side by side, added up in pairs at the end. The bits are the same on every processor.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mfpde.typing import Float

__all__ = ["LANES", "products_of_one", "products_of_two"]

tools: Any = cgutils
#: rows are a multiple of it long
LANES = 8


def _made(functions: int, fields: int) -> Any:
    """`out[fields i + j] = sum_r work[first + i between + r] work[start + j apart + r]`, i < functions, j < fields, r <
    count, written to `work` from `out` on; `count` is a multiple of `LANES`."""

    def instructions(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first, between, start, apart, out, count = arguments[1:]
        vector = ir.VectorType(ir.DoubleType(), LANES)
        kind = ir.FunctionType(vector, [vector] * 3)
        fused = tools.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")
        zero = ir.Constant(vector, [0.0] * LANES)
        sums = [tools.alloca_once_value(builder, zero) for _ in range(functions * fields)]

        step = context.get_constant(types.intp, LANES)
        with tools.for_range_slice(builder, context.get_constant(types.intp, 0), count, step, inc=True) as (here, _):
            ones = _rows(builder, data, builder.add(first, here), between, functions)
            for j, field in enumerate(_rows(builder, data, builder.add(start, here), apart, fields)):
                for i, one in enumerate(ones):
                    kept = sums[fields * i + j]
                    builder.store(builder.call(fused, [one, field, builder.load(kept)]), kept)
        for k, kept in enumerate(sums):
            total = _pairs(builder, builder.load(kept))
            builder.store(total, builder.gep(data, [builder.add(out, context.get_constant(types.intp, k))]))
        return context.get_dummy_value()

    def signature(
        _context: Any, work: Any, _first: Any, _between: Any, _start: Any, _apart: Any, _out: Any, _count: Any
    ) -> Any:
        return types.void(work, *[types.intp] * 6), instructions

    def plainly(work: Float, first: int, between: int, start: int, apart: int, out: int, count: int) -> None:
        """The same in Python, for kernels that NUMBA_DISABLE_JIT leaves uncompiled (to rounding)."""
        for i in range(functions):
            one = work[first + i * between : first + i * between + count]
            for j in range(fields):
                work[out + fields * i + j] = one @ work[start + j * apart : start + j * apart + count]

    return plainly if vars(numba.config)["DISABLE_JIT"] else intrinsic(signature)


def _rows(builder: Any, data: Any, place: Any, distance: Any, length: int) -> list[Any]:
    """Lanes from rows that are so far from each other."""
    vector, found = ir.VectorType(ir.DoubleType(), LANES), []
    for _ in range(length):
        pointer = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        found.append(builder.load(pointer, align=8))
        place = builder.add(place, distance)
    return found


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


#: of two functions with the four rows of two fields, and of four functions with the two of one
products_of_two, products_of_one = _made(2, 4), _made(4, 2)
