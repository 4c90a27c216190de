"""What waves on a torus are multiplied by, against NumPy."""

import numpy as np
import pytest

from mfpde.transform.wave_kernels import multiply_waves, wave_factors

STEPS = np.array([[0.3, 0.1], [-0.05, 0.4]])


@pytest.mark.parametrize("sizes", [(6, 8), (9, 7), (20, 133)])
def test_factors_and_derivatives(sizes):
    inverse = np.linalg.inv(STEPS)
    turns = np.stack(np.meshgrid(np.fft.fftfreq(sizes[0]), np.fft.rfftfreq(sizes[1]), indexing="ij"))
    k = 2 * np.pi * np.tensordot(inverse.T, turns, axes=1)
    wanted = np.exp(-0.01 * (k**2).sum(axis=0)) * (np.abs(turns) < 0.5).all(axis=0)

    spacing, t = 0.25, np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    values = np.exp(-0.01 * (spacing * (np.arange(200)[:, None] + 0.5 * (1 + t))) ** 2)
    table = np.linalg.solve(np.vander(t, increasing=True), values.T).T.copy()
    factors = np.empty(wanted.shape)
    wave_factors(table, spacing, inverse, sizes[1], factors)
    np.testing.assert_allclose(factors, wanted, atol=1e-13)

    random = np.random.default_rng(3)
    spectrum = random.standard_normal(wanted.shape) + 1j * random.standard_normal(wanted.shape)
    for derivatives, multiplied in ((0, wanted[None]), (1, 1j * k * wanted), (2, -(k**2).sum(axis=0)[None] * wanted)):
        out = np.empty(multiplied.shape, dtype=complex)
        multiply_waves(factors, inverse, sizes[1], derivatives, spectrum, out)
        np.testing.assert_allclose(out, multiplied * spectrum, atol=1e-11)
