"""One rounding, compiled and in Python."""

import math
from fractions import Fraction

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.fused import _exactly, fused


@kernel
def fused_rows(a, b, c, out):
    for i in range(a.size):
        out[i] = fused(a[i], b[i], c[i])


def test_a_product_and_a_sum_are_rounded_once():
    generator = np.random.default_rng(3)
    a, b = generator.standard_normal((2, 203))
    c = -a * b * (1 + generator.choice([0, 1e-15, 1e-8, 1.0], a.size))  # little is left of most
    compiled = np.empty(a.size)
    fused_rows(a, b, c, compiled)
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    assert compiled.tolist() == [float(value) for value in exact]
    assert compiled.tolist() == [_exactly(x, y, z) for x, y, z in zip(a, b, c, strict=True)]
    assert not np.array_equal(compiled, a * b + c)


def test_what_is_not_finite_and_the_sign_of_zero_are_those_of_the_plain_formula():
    for a, b, c in [(math.inf, 1.0, 1.0), (0.0, math.inf, 1.0), (-0.0, 1.0, -0.0), (1.0, -1.0, 1.0)]:
        compiled = np.empty(1)
        fused_rows(np.array([a]), np.array([b]), np.array([c]), compiled)
        for value in (compiled[0], _exactly(a, b, c)):
            assert str(float(value)) == str(a * b + c)
