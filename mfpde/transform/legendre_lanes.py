"""Legendre recurrences that stay in vector registers from the first degree to the last.

The compiler vectorises innermost loops only: with rings innermost, every pass over a few degrees loads and stores the
recurrence and the sums, which takes longer than the arithmetic. Here degrees are innermost, and rings stand side by
side in lanes. The order of operations is written out: the bits are the same on every processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mfpde.typing import Float

__all__ = [
    "FIELDS",
    "LANES",
    "NEWER",
    "OLDER",
    "ROOM",
    "SUMS",
    "VECTORS",
    "VECTORS_OF_TWO",
    "WORK",
    "X",
    "analyze_one",
    "analyze_one_narrow",
    "analyze_two",
    "analyze_two_narrow",
    "sum_one",
    "sum_one_narrow",
    "sum_two",
    "sum_two_narrow",
]

tools: Any = cgutils
#: rings in a vector; blocks of rings are a multiple of it
LANES = 8
#: vectors side by side hide the latency of a recurrence; fewer where all sums of two fields have to fit into registers
VECTORS, VECTORS_OF_TWO = 4, 2
#: most pairs of rings in a block, and the distance between rows of the work array
ROOM = 64
# rows of the work array: x, the first two degrees, four sums, and four fields of each parity
X, OLDER, NEWER, SUMS, FIELDS = 0, ROOM, 2 * ROOM, 3 * ROOM, 7 * ROOM
WORK = FIELDS + 8 * ROOM
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class _Code:
    """Instructions on vectors of rings."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.context, self.builder = context, builder
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        self._fused = tools.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")
        self.zero = ir.Constant(_VECTOR, [0.0] * LANES)

    def starts(self, signature: Any, arguments: Any) -> list[Any]:
        """Of the data of arrays."""
        pairs = zip(signature.args, arguments, strict=False)
        return [self.context.make_array(kind)(self.context, self.builder, given).data for kind, given in pairs]

    def integer(self, value: int) -> Any:
        return self.context.get_constant(types.intp, value)

    def place(self, data: Any, index: Any, further: int) -> Any:
        """A pointer to that number."""
        return self.builder.gep(self.builder.gep(data, [index]), [self.integer(further)])

    def rings(self, data: Any, ring: Any, further: int) -> Any:
        """A pointer to the vector there."""
        return self.builder.bitcast(self.place(data, ring, further), _VECTOR.as_pointer())

    def row(self, data: Any, ring: Any, further: int) -> Any:
        return self.builder.load(self.rings(data, ring, further), align=8)

    def spread(self, data: Any, index: Any, further: int) -> Any:
        """A number in all lanes."""
        number, zeroth = self.builder.load(self.place(data, index, further)), ir.Constant(ir.IntType(32), 0)
        first = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, zeroth)
        return self.shuffled(first, first, [0] * LANES)

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.call(self._fused, [a, b, c])

    def shuffled(self, one: Any, two: Any, lanes: Sequence[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
        return self.builder.shuffle_vector(one, two, mask)

    def variables(self, values: Sequence[Any]) -> list[Any]:
        """What a loop changes."""
        return [tools.alloca_once_value(self.builder, value) for value in values]

    def totals(self, vectors: list[Any]) -> Any:
        """The sum of the lanes of each of eight vectors: of every stretch of lanes, both halves are added."""
        width = LANES
        while width > 1:
            half, apart = width // 2, len(vectors) // 2
            lanes = [
                shift + start + lane for start in range(0, LANES, width) for shift in (0, LANES) for lane in range(half)
            ]
            others = [lane + half for lane in lanes]
            vectors = [
                self.builder.fadd(self.shuffled(one, two, lanes), self.shuffled(one, two, others))
                for one, two in zip(vectors[:apart], vectors[apart:], strict=True)
            ]
            width = half
        return vectors[0]


class _Recurrence:
    """Two degrees as variables, of rings from `ring` on; the newer one takes the place of the older in turn."""

    def __init__(self, code: _Code, work: Any, steps: Any, ring: Any, vectors: int) -> None:
        self.code, self.steps = code, steps
        self.x, *both = ([code.row(work, ring, row + LANES * k) for k in range(vectors)] for row in (X, OLDER, NEWER))
        self.degrees = [code.variables(each) for each in both]

    def values(self, parity: int) -> list[Any]:
        return [self.code.builder.load(each) for each in self.degrees[parity]]

    def advance(self, degree: Any, number: int) -> None:
        """`Q_{l+2} = c_{l+2} x Q_{l+1} + Q_l` for l = degree + number."""
        step, parity = self.code.spread(self.steps, degree, number + 2), number % 2
        news = zip(self.x, self.values(1 - parity), self.values(parity), self.degrees[parity], strict=True)
        for x, newer, older, kept in news:
            self.code.builder.store(self.code.fused(self.code.builder.fmul(step, x), newer, older), kept)


def _sums(vectors: int) -> Any:
    """Sums over even and odd degrees of real and imaginary coefficients of one field or two, for rings from `ring` on,
    written to four rows from SUMS on, and four from FIELDS on."""

    def instructions(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        work, steps, *rows = code.starts(signature, arguments[:-2])
        degrees, ring = arguments[-2:]
        recurrence = _Recurrence(code, work, steps, ring, vectors)
        sums = [[code.variables([code.zero] * vectors) for _ in rows] for _ in range(2)]
        with tools.for_range_slice(builder, code.integer(0), degrees, code.integer(2), inc=True) as (degree, _):
            for parity in range(2):
                values = recurrence.values(parity)
                for row, kept in zip(rows, sums[parity], strict=True):
                    share = code.spread(row, degree, parity)
                    for value, total in zip(values, kept, strict=True):
                        builder.store(code.fused(share, value, builder.load(total)), total)
                recurrence.advance(degree, parity)
        for parity, number in product(range(2), range(len(rows))):
            for k, total in enumerate(sums[parity][number]):
                target = code.rings(work, ring, _sum_row(number, parity) + LANES * k)
                builder.store(builder.load(total), target, align=8)
        return context.get_dummy_value()

    return instructions


def _sums_in_python(vectors: int) -> Callable[..., None]:
    """The same to rounding."""

    def sums(work: Float, steps: Float, *given: Any) -> None:
        *rows, degrees, ring = given
        here = ring + np.arange(vectors * LANES)
        kept = np.zeros((2, len(rows), here.size))
        for degree, values in _degrees(work, steps, here, degrees + degrees % 2):
            kept[degree % 2] += np.multiply.outer([row[degree] for row in rows], values)
        for parity, number in product(range(2), range(len(rows))):
            work[_sum_row(number, parity) + here] = kept[parity, number]

    return sums


def _sum_row(number: int, parity: int) -> int:
    """Where sums of a row of coefficients go: those of the second field to FIELDS."""
    return (SUMS, FIELDS)[number // 2] + (2 * parity + number % 2) * ROOM


def _products(vectors: int) -> Any:
    """Add `sum_rings Q_l f` over rings from `ring` on to rows of real and imaginary parts of one field or two, whose
    even parts are the first rows of FIELDS, the odd ones those from the fourth on; as many degrees at once as give
    eight products. Rows are a multiple of four numbers long."""

    def instructions(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        work, steps, *rows = code.starts(signature, arguments[:-2])
        degrees, ring = arguments[-2:]
        at_once = LANES // len(rows)
        recurrence, few = _Recurrence(code, work, steps, ring, vectors), ir.VectorType(ir.DoubleType(), at_once)
        with tools.for_range_slice(builder, code.integer(0), degrees, code.integer(at_once), inc=True) as (degree, _):
            products = [[code.zero] * at_once for _ in rows]
            for number in range(at_once):
                for k, value in enumerate(recurrence.values(number % 2)):
                    for row, sums in enumerate(products):
                        field = code.row(work, ring, FIELDS + (4 * (number % 2) + row) * ROOM + LANES * k)
                        sums[number] = code.fused(value, field, sums[number])
                recurrence.advance(degree, number)
            totals = code.totals([each for sums in products for each in sums])
            for row, data in enumerate(rows):
                found = code.shuffled(totals, totals, range(row * at_once, (row + 1) * at_once))
                target = builder.bitcast(code.place(data, degree, 0), few.as_pointer())
                builder.store(builder.fadd(builder.load(target, align=8), found), target, align=8)
        return context.get_dummy_value()

    return instructions


def _products_in_python(vectors: int) -> Callable[..., None]:
    """The same to rounding."""

    def products(work: Float, steps: Float, *given: Any) -> None:
        *rows, degrees, ring = given
        here = ring + np.arange(vectors * LANES)
        for degree, values in _degrees(work, steps, here, degrees):
            for number, row in enumerate(rows):
                row[degree] += values @ work[FIELDS + (4 * (degree % 2) + number) * ROOM + here]

    return products


def _degrees(work: Float, steps: Float, here: Any, degrees: int) -> Any:
    """The recurrence in Python."""
    older, newer = work[OLDER + here], work[NEWER + here]
    for degree in range(degrees):
        yield degree, older
        older, newer = newer, steps[degree + 2] * work[X + here] * newer + older


def _of_one(instructions: Callable[..., Any], in_python: Callable[..., None]) -> Any:
    """Compiled, or in Python for kernels that NUMBA_DISABLE_JIT leaves uncompiled."""

    def typed(_context: Any, work: Any, steps: Any, real: Any, imaginary: Any, _degrees: Any, _ring: Any) -> Any:
        return types.void(work, steps, real, imaginary, types.intp, types.intp), instructions

    return in_python if vars(numba.config)["DISABLE_JIT"] else intrinsic(typed)


def _of_two(instructions: Callable[..., Any], in_python: Callable[..., None]) -> Any:
    """The same for two fields."""

    def typed(
        _context: Any, work: Any, steps: Any, real: Any, imaginary: Any, real_2: Any, imaginary_2: Any, _n: Any, _k: Any
    ) -> Any:
        return types.void(work, steps, real, imaginary, real_2, imaginary_2, types.intp, types.intp), instructions

    return in_python if vars(numba.config)["DISABLE_JIT"] else intrinsic(typed)


sum_one, sum_one_narrow = (_of_one(_sums(width), _sums_in_python(width)) for width in (VECTORS, 1))
sum_two, sum_two_narrow = (_of_two(_sums(width), _sums_in_python(width)) for width in (VECTORS_OF_TWO, 1))
analyze_one, analyze_one_narrow = (_of_one(_products(width), _products_in_python(width)) for width in (VECTORS, 1))
analyze_two, analyze_two_narrow = (_of_two(_products(width), _products_in_python(width)) for width in (VECTORS, 1))
