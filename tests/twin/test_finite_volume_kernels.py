"""Compiled kernels of the finite volumes against NumPy of a few lines."""

from functools import cache

import numpy as np
import pytest
from scipy.interpolate import lagrange

from mfpde.solvers.kernels import finite_volume_diffusion as diffusion
from mfpde.solvers.kernels import finite_volume_peaks as peaks
from mfpde.solvers.kernels import finite_volume_transport as transport
from mfpde.solvers.kernels import finite_volume_update as updating

SHAPE = (14, 23)


@cache
def upwind_weights(order):
    """Value at the right face from `order` cell averages: the derivative of the polynomial through the primitive."""
    edges = np.arange(order + 1) - order // 2 - 1.0  # of the cells; the face is at 0
    weights = []
    for cell in range(order):
        primitive = np.where(np.arange(order + 1) > cell, 1.0, 0.0)
        weights.append(float(lagrange(edges, primitive).deriv()(0.0)))
    return np.array(weights)


def weno5(a, b, c, d, e):
    """[borges2008], equations (2) to (9) and (25)."""
    betas = [
        13 / 12 * (a - 2 * b + c) ** 2 + (a - 4 * b + 3 * c) ** 2 / 4,
        13 / 12 * (b - 2 * c + d) ** 2 + (b - d) ** 2 / 4,
        13 / 12 * (c - 2 * d + e) ** 2 + (3 * c - 4 * d + e) ** 2 / 4,
    ]
    small = 1e-14 * (a * a + b * b + c * c + d * d + e * e) + 1e-40
    tau = abs(betas[0] - betas[2])
    alphas = [share * (1 + (tau / (beta + small)) ** 2) for share, beta in zip((0.1, 0.6, 0.3), betas, strict=True)]
    parts = [(2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6]
    return sum(x * p for x, p in zip(alphas, parts, strict=True)) / sum(alphas)


def face_value(order, window):
    """From the cells of a window of ten whose sixth face is wanted, with the wind from the left."""
    if order == 2:
        left, right = window[4] - window[3], window[5] - window[4]
        return window[4] + (left * right / (left + right) if left * right > 0 else 0.0)
    if order == 5:
        return weno5(*window[2:7])
    half = order // 2
    return upwind_weights(order) @ window[4 - half : 5 + half]


TURNING = 0.3


def direction(order, wind):
    """Of the stencil: the linear ones turn by a cubic where the wind is weak."""
    if order < 7 or abs(wind) >= TURNING:
        return 1.0 if wind >= 0 else -1.0
    return 1.5 * wind / TURNING - 0.5 * (wind / TURNING) ** 3


def fluxes(order, density, speed, along):
    """Walls, a row at a time."""
    if not along:
        return fluxes(order, density.T, speed.T, True).T
    rows, n = density.shape
    out = np.zeros((rows, n + 1))
    padded = np.pad(density * speed, [(0, 0), (5, 5)], mode="edge")
    for row in range(rows):
        for face in range(1, n):
            wind = 0.5 * (speed[row, face - 1] + speed[row, face])
            window = padded[row, face : face + 10]
            if order == 1:
                out[row, face] = wind * density[row, face - 1 if wind >= 0 else face]
            else:
                side = direction(order, wind)
                from_left, from_right = face_value(order, window), face_value(order, window[::-1])
                out[row, face] = 0.5 * (1 + side) * from_left + 0.5 * (1 - side) * from_right
    return out


@pytest.mark.parametrize("order", [1, 2, 5, 7, 9])
@pytest.mark.parametrize("along", [True, False], ids=["along", "across"])
def test_transport(order, along, random):
    density, speed = random.random(SHAPE), random.standard_normal(SHAPE)
    kernel = transport.transport_along if along else transport.transport_across
    grown = np.add(SHAPE, (0, 1) if along else (1, 0))
    room = np.add(SHAPE, (0, 10) if along else (10, 0))
    flux = np.full(grown, np.nan)
    kernel(order, transport.WALLS, density, speed, density * speed, TURNING, 3.0, np.empty(room), flux)
    assert np.abs(flux - 3.0 * fluxes(order, density, speed, along)).max() < 1e-12


def test_open_ends_continue_gaussians():
    """Through a wall-less end flows what would flow if the Gaussian had more cells."""
    z = np.linspace(-6, 6, 61)
    density, speed = np.exp(-(z**2) / 2)[None], (0.5 - z)[None]
    inside = slice(12, 49)
    whole, part = np.empty((1, 62)), np.empty((1, 38))
    transport.transport_along(
        9, transport.OPEN, density, speed, density * speed, TURNING, 1.0, np.empty((1, 71)), whole
    )
    cut, wind = np.ascontiguousarray(density[:, inside]), np.ascontiguousarray(speed[:, inside])
    transport.transport_along(9, transport.OPEN, cut, wind, cut * wind, TURNING, 1.0, np.empty((1, 47)), part)
    assert np.abs(part - whole[:, 12:50]).max() < 1e-13


def dense_spread(values, factors, weights, faces):
    """Twice the staggered difference, as matrices on a mirrored row."""
    n = values.size
    mirrored = np.concatenate([values[::-1], values, values[::-1]])
    weight = np.concatenate([faces[:0:-1], faces, faces[-2::-1]])  # faces 0 .. 3n
    slope = np.zeros(3 * n + 1)
    for face in range(4, 3 * n - 3):
        for m, factor in enumerate(factors):
            slope[face] += factor * (mirrored[face + m] - mirrored[face - 1 - m])
    slope *= weight
    slope[n] = slope[2 * n] = 0.0
    change = np.zeros(n)
    for cell in range(n):
        for m, factor in enumerate(factors):
            change[cell] += factor * (slope[n + cell + 1 + m] - slope[n + cell - m])
    return weights * change


@pytest.mark.parametrize("along", [True, False], ids=["along", "across"])
def test_diffusion(along, random):
    factors = np.array([1225 / 1024, -245 / 3072, 49 / 5120, -5 / 7168])
    values = random.random(SHAPE)
    n, others = (SHAPE[1], SHAPE[0]) if along else SHAPE
    faces, beside = random.random(n + 1), random.random(others)
    flux = np.zeros(np.add(SHAPE, (0, 1) if along else (1, 0)))
    if along:
        diffusion.spread_along(False, values, factors, 2.0, beside, faces, np.empty((2, n + 8)), flux)
    else:
        room = np.empty((n + 8, others))
        diffusion.spread_across(False, values, factors, 2.0, faces, beside, room, np.empty_like(room), flux)
    change = -np.diff(flux, axis=1 if along else 0)
    for index in range(others):
        row = values[index] if along else values[:, index]
        found = change[index] if along else change[:, index]
        assert np.abs(found - dense_spread(row, factors, 2.0 * beside[index], faces)).max() < 1e-12


def test_diffusion_leaves_its_steady_state_alone(random):
    flux = np.zeros((4, 31))
    factors = np.array([1225 / 1024, -245 / 3072, 49 / 5120, -5 / 7168])
    level, faces = np.full((4, 30), 0.7), random.random(31)
    diffusion.spread_along(False, level, factors, 9.0, np.ones(4), faces, np.empty((2, 38)), flux)
    assert not flux.any()


def test_limited_updates_are_positive_conservative_and_no_further_from_the_high_fluxes_than_needed(random):
    density = random.random(SHAPE) * (random.random(SHAPE) > 0.3)
    across, along = 0.4 * random.standard_normal((15, 23)), 0.4 * random.standard_normal((14, 24))
    for flux, low, high in ((across, across[0], across[-1]), (along, along[:, 0], along[:, -1])):
        assert flux.size
        low[:] = high[:] = 0.0
    still = np.zeros_like(across), np.zeros_like(along)
    high_across, high_along, new = across.copy(), along.copy(), np.empty(SHAPE)
    assert updating.update(density, high_across, high_along, new) < 0
    updating.limit(density, across, along, *still, np.empty(SHAPE), new)
    assert new.min() >= 0
    assert abs(new.sum() - density.sum()) < 1e-12
    assert (np.abs(across) <= np.abs(high_across)).all()
    full = random.random(SHAPE) + 4.0
    across, along = high_across.copy(), high_along.copy()
    updating.limit(full, across, along, *still, np.empty(SHAPE), new)
    assert np.array_equal(across, high_across)


def test_outflow_is_the_largest_share_that_upwind_fluxes_take(random):
    speeds, widths = random.standard_normal((2, *SHAPE)), np.array([0.2, 0.5])
    share = np.zeros(SHAPE)
    for direction in range(2):
        padded = np.pad(speeds[direction], [(1, 1) if axis == direction else (0, 0) for axis in range(2)], mode="edge")
        face = 0.5 * (
            np.take(padded, range(1, padded.shape[direction]), direction)
            + np.take(padded, range(padded.shape[direction] - 1), direction)
        )
        n = SHAPE[direction]
        right, left = np.take(face, range(1, n + 1), direction), np.take(face, range(n), direction)
        share += (np.maximum(right, 0) + np.maximum(-left, 0)) / widths[direction]
    assert abs(updating.outflow(speeds, widths, 0, SHAPE[0]) - share.max()) < 1e-13


def test_width_of_the_narrowest_peak():
    x = np.arange(200.0)
    rows = np.exp(-((x - 60.3) ** 2) / (2 * 4.0**2)) + 0.8 * np.exp(-((x - 140.0) ** 2) / (2 * 7.0**2))
    for row, deviation in ((rows, 4.0), (rows[100:].copy(), 7.0)):
        width = peaks.narrowest_peak(row[None], 0.5, np.empty((1, row.size)))
        assert abs(width - 2.3548 * np.sqrt(deviation**2 + 0.5)) < 0.05  # averages (1, 2, 1) / 4 have the variance 1/2
