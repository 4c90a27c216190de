"""Calls that do not look at types."""

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel, quick
from mfpde.typing import Float


class Pair(NamedTuple):
    one: Float
    other: Float


@kernel
def product(pair: Pair, factor: float) -> float:
    total = 0.0
    for i in range(pair.one.size):
        total += factor * pair.one[i] * pair.other[i]
    return total


def test_a_quick_call_answers_as_the_kernel(random):
    called = quick(product)
    for _ in range(3):
        x, y = random.normal(size=(2, 7))
        assert called(Pair(x, y), 2.0) == product(Pair(x, y), 2.0)


def test_a_first_call_with_strides_leaves_all_to_the_kernel(random):
    called = quick(product)
    x, y = random.normal(size=(2, 14))
    for pair in (Pair(x[:7], y[::2]), Pair(x[::2], y[:7]), Pair(x[:7], y[:7])):
        assert np.isclose(called(pair, 0.5), 0.5 * (pair.one @ pair.other), rtol=1e-14, atol=0.0)
