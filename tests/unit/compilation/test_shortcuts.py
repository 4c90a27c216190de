"""What is done once in place of again and again is what numba does."""

import itertools
import math
import operator

import pytest
from numba import types
from numba.core import compiler, errors
from numba.core.registry import cpu_target

from mfpde.compilation.shortcuts import QuickFlags, remember_signatures

OPERATORS = (operator.add, operator.mul, operator.truediv, operator.floordiv, operator.pow, operator.getitem)
VECTOR, MATRIX = types.float64[::1], types.float64[:, :]
KINDS = (types.int64, types.uint8, types.float64, types.boolean, types.literal(3), VECTOR, MATRIX)


def answer(resolve, function, arguments):
    """The signature that is found, or the kind of what is raised."""
    try:
        return resolve(function, arguments, {})
    except errors.NumbaError as error:
        return type(error)


@pytest.mark.parametrize("function", [*OPERATORS, math.exp], ids=lambda function: function.__name__)
def test_signatures_are_those_of_numba(function):
    context = cpu_target.typing_context
    context.refresh()
    remember_signatures(context)

    def plain(*asked):
        return type(context).resolve_function_type(context, *asked)

    for _ in range(2):  # found, and remembered
        for arguments in itertools.product(KINDS, repeat=1 if function is math.exp else 2):
            assert answer(context.resolve_function_type, function, arguments) == answer(plain, function, arguments)


def flags(kind, **chosen):
    made = kind()
    for name, value in chosen.items():
        setattr(made, name, value)
    return made


def test_flags_are_as_alike_as_those_of_numba():
    chosen = [{}, {"nrt": True}, {"nrt": False}, {"nrt": True, "boundscheck": True}, {"error_model": "numpy"}]
    quick, plain = ([flags(kind, **each) for each in chosen] for kind in (QuickFlags, compiler.Flags))
    for one, other in itertools.product(range(len(chosen)), repeat=2):
        assert (quick[one] == quick[other]) is (plain[one] == plain[other])
    for mine, theirs in zip(quick, plain, strict=True):
        assert hash(mine) == hash(theirs)
        assert mine == theirs
