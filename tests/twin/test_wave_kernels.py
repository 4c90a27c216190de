"""Convolutions on a torus, in compiled code, against NumPy."""

from itertools import pairwise

import numpy as np
import pytest

from mfpde.transform.ring_fourier import ring_roots
from mfpde.transform.wave_kernels import ACT, ALL, ANALYSE, RESTORE, Waves, convolve, lines_of, wave_factors

STEPS = np.array([[0.3, 0.1], [-0.05, 0.4]])
SIZES = [(6, 8), (9, 15), (20, 135)]


def waves_of(sizes):
    """Turns and k of the waves of `fft2`."""
    turns = np.stack(np.meshgrid(*map(np.fft.fftfreq, sizes), indexing="ij"))
    return turns, 2 * np.pi * np.tensordot(np.linalg.inv(STEPS).T, turns, axes=1)


def half(waves, sizes):
    return np.ascontiguousarray(waves[: sizes[0] // 2 + 1].T)


@pytest.mark.parametrize("laplacian", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_factors(sizes, laplacian):
    turns, k = waves_of(sizes)
    squared = (k**2).sum(axis=0)
    wanted = np.exp(-0.01 * squared) * (-squared if laplacian else 1.0) * (np.abs(turns) < 0.5).all(axis=0)

    size, t = np.sqrt((k**2).sum(axis=0)), np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    count = int(size[wanted != 0].max() / 0.25)
    spacing = size[wanted != 0].max() / (count + 0.02)  # the last row goes on
    values = np.exp(-0.01 * (spacing * (np.arange(count)[:, None] + 0.5 * (1 + t))) ** 2)
    table = np.linalg.solve(np.vander(t, increasing=True), values.T).T.copy()
    factors = np.empty(half(wanted, sizes).shape)
    wave_factors(table, spacing, np.linalg.inv(STEPS), sizes[0], 1.0, laplacian, factors)
    np.testing.assert_allclose(factors, half(wanted, sizes), atol=1e-13 * np.abs(wanted).max())


def convolved(masses, begins, sizes, factors, kept, slopes, most, parts):
    """In so many calls of each part; all in one where there are none."""
    waves, room = factors.shape[1], np.empty((2, 4 * max(sizes) * most))
    rooms = np.empty((2, masses.shape[1], waves)), np.empty((2 if slopes else 1, 2, kept[1], waves)), room
    acting, out = (
        Waves(*map(ring_roots, sizes), np.linalg.inv(STEPS), factors, slopes),
        np.empty((len(rooms[1]), *kept)),
    )
    if not parts:
        convolve(ALL, 0, 0, most, masses, begins, acting, rooms, out)
    for kind in (ANALYSE, ACT, RESTORE) if parts else ():
        cuts = np.linspace(0, lines_of(kind, masses.shape[1], kept[1], waves), parts + 1).astype(int).tolist()
        for first, stop in pairwise(cuts):
            convolve(kind, first, stop, most, masses, begins, acting, rooms, out)
    return out


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize(("sizes", "begins"), list(zip(SIZES, [(0, 0), (2, -3), (-19, 4)], strict=True)))
def test_convolutions(sizes, begins, slopes):
    random = np.random.default_rng(3)
    masses, kept = random.random((sizes[0] // 2, sizes[1] // 3)), (sizes[0] // 2 + 1, sizes[1] // 2)
    turns, k = waves_of(sizes)
    factors = np.exp(-0.01 * (k**2).sum(axis=0)) * (np.abs(turns) < 0.5).all(axis=0)
    placed = np.zeros(sizes)
    rows, columns = ((np.arange(n) + begin) % size for n, begin, size in zip(masses.shape, begins, sizes, strict=True))
    placed[np.ix_(rows, columns)] = masses
    acting = 1j * k * factors if slopes else factors[None]
    wanted = np.fft.ifft2(acting * np.fft.fft2(placed)).real[:, : kept[0], : kept[1]]
    for most, parts in ((64, 0), (3, 0), (5, 2)):
        found = convolved(masses, begins, sizes, half(factors, sizes), kept, slopes, most, parts)
        np.testing.assert_allclose(found, wanted, atol=2e-14 * np.abs(wanted).max())


def test_bits_do_not_depend_on_the_cut():
    random = np.random.default_rng(5)
    masses, factors = random.random((12, 11)), random.random((24, 13))
    one, two = (convolved(masses, (0, 0), (24, 24), factors, (12, 11), True, most, parts)
                for most, parts in ((48, 0), (4, 3)))  # fmt: skip
    np.testing.assert_array_equal(one, two)
