"""Kernels that call kernels: one piece of machine code, made once."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary

from mfpde.compilation import kernel, watched


def smooth(x: float, count: int) -> float:
    """sin, again and again."""
    if count < 0:
        raise ValueError("not so often")
    for _ in range(count):
        x = np.sin(x)
    return x


def difference(x: float, count: int) -> float:
    return x - smooth(x, count)


def product(x: float, count: int) -> float:
    return smooth(x, count) * difference(x, count)


def factorial(count: int) -> int:
    return 1 if count < 2 else count * factorial(count - 1)


def six() -> int:
    return factorial(np.int32(3))


@pytest.fixture
def fresh(monkeypatch) -> Callable[[], None]:
    """Make the functions of this file kernels that have compiled nothing, as in another process."""
    module = sys.modules[__name__]
    plain = {name: getattr(module, name) for name in ("smooth", "difference", "product", "factorial", "six")}

    def make() -> None:
        for name, function in plain.items():
            monkeypatch.setattr(module, name, kernel(function))

    make()
    return make


@pytest.fixture
def optimised(monkeypatch) -> list[str]:
    """The names of what is optimised as a whole from now on, numba's own functions left out."""
    names, optimise = [], CPUCodeLibrary._optimize_final_module

    def seen(library):
        if hasattr(sys.modules[__name__], library.name):
            names.append(library.name)
        optimise(library)

    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", seen)
    return names


def needed(work: Callable[[], object]) -> list[bool]:
    """Of each piece of code that was needed whether it had to be compiled."""
    seen: list[bool] = []
    with watched(seen.append):
        work()
    return seen


def test_only_what_python_calls_becomes_machine_code(place, fresh, optimised):
    assert product(0.7, 9) == smooth(0.7, 9) * difference(0.7, 9)
    assert optimised == ["product", "smooth", "difference"]
    assert {file.name.partition("-")[0].partition(".")[2] for file in place.iterdir()} == set(optimised)


def test_callees_are_translated_once_for_all_kernels_and_processes(place, fresh):
    assert needed(lambda: difference(0.7, 9)) == [True, True]
    assert needed(lambda: product(0.7, 9)) == [True, True], "itself and the difference, as a callee"
    fresh()
    assert needed(lambda: product(0.7, 9)) == [False], "the machine code has all that it calls in it"
    (file,) = place.glob("*.product-*")
    file.unlink()
    fresh()
    assert needed(lambda: product(0.7, 9)) == [True, False, False]
    assert product(0.7, 9) == smooth(0.7, 9) * difference(0.7, 9)


def test_an_error_of_a_callee_is_raised(place, fresh):
    for _ in range(2):
        with pytest.raises(ValueError, match="not so often"):
            product(0.7, -1)
        fresh()


def test_a_kernel_that_calls_itself_with_another_type_is_refused(place, fresh):
    """An integer of 32 bits less one has 64."""
    with pytest.raises(NotImplementedError, match="factorial calls itself"):
        six()
