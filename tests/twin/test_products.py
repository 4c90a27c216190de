"""Products of matrices in register tiles against a plain loop of fused multiply-adds: the same bits."""

import numpy as np
import pytest

from mfpde.transform.products import _multiply_rows, multiply


@pytest.mark.parametrize("shape", [(4, 1, 32), (8, 300, 70), (12, 128, 31), (4, 129, 96), (16, 5, 64)])
def test_tiles_have_the_bits_of_plain_sums(shape, random):
    rows, terms, columns = shape
    wide, right = random.standard_normal((rows, terms + 5)), random.standard_normal((terms, columns + 3))
    left, right = wide[:, 2 : 2 + terms], right[:, 1 : 1 + columns]
    tiles, plain = np.full((rows, columns), np.nan), np.empty((rows, columns))
    multiply(left, right, tiles)
    _multiply_rows(left, right, plain)
    assert np.array_equal(tiles, plain)
    np.testing.assert_allclose(tiles, left @ right, atol=1e-12)


def test_matrices_with_gaps_between_columns_are_multiplied_too(random):
    left, right = random.standard_normal((4, 40)), random.standard_normal((64, 40)).T
    out = np.empty((4, 64))
    multiply(left, right, out)
    np.testing.assert_allclose(out, left @ right, atol=1e-12)
    out = np.empty((4, 64))
    multiply(left, np.ascontiguousarray(right)[:, ::2], out[:, ::2])
    np.testing.assert_allclose(out[:, ::2], (left @ right)[:, ::2], atol=1e-12)
