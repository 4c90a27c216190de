"""Eight numbers at a time in one register, written out for the products of small matrices. Indices are not checked.

Loops of a few iterations over slices spend their time finding out whether these overlap; here the sums stay in
registers. Every lane does what `fused` does, on every processor: one with shorter registers takes several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from mfpde.transform.fused import fused

__all__ = ["LANES", "add_multiple", "load", "store"]

LANES = 8  # numbers in the widest register of today's processors
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ALIGNMENT = 8  # bytes: numbers stand anywhere in an array


class _Lanes(types.Type):
    """The numbers of one register."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), _VECTOR.as_pointer())


def _load(_typing_context: Any, array: Any, _index: Any) -> Any:
    """The numbers of an array from an index on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments), align=_ALIGNMENT)

    return _LANES(array, types.intp), generate


def _store(_typing_context: Any, array: Any, _index: Any, _lanes: Any) -> Any:
    """Write them there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.none(array, types.intp, _LANES), generate


def _add_multiple(_typing_context: Any, array: Any, _index: Any, _lanes: Any, _onto: Any) -> Any:
    """onto + array[index] lanes, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, index, lanes, onto = arguments
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        factor, nothing = builder.load(builder.gep(data, [index])), ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, factor, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        name, kind = f"llvm.fma.v{LANES}f64", ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        declared = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(declared, [builder.shuffle_vector(first, nothing, zeros), lanes, onto])

    return _LANES(array, types.intp, _LANES, _LANES), generate


def _load_plainly(array: Any, index: int) -> Any:
    return np.array(array[index : index + LANES])


def _store_plainly(array: Any, index: int, lanes: Any) -> None:
    array[index : index + LANES] = lanes


def _add_plainly(array: Any, index: int, lanes: Any, onto: Any) -> Any:
    return np.array([fused(array[index], one, other) for one, other in zip(lanes, onto, strict=True)])


_COMPILED = not vars(numba.config)["DISABLE_JIT"]
load = cast("Callable[[Any, int], Any]", intrinsic(_load) if _COMPILED else _load_plainly)
store = cast("Callable[[Any, int, Any], None]", intrinsic(_store) if _COMPILED else _store_plainly)
add_multiple = cast("Callable[[Any, int, Any, Any], Any]", intrinsic(_add_multiple) if _COMPILED else _add_plainly)
