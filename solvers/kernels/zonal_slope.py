"""The nonlinear part of the circle's equation in mode space: `N_k = -i k m_k`, `m_k = int e^{-ik theta} v dmu`, v the
zonal drift `v = grad (W * mu + U)`, `potential` the numbers that W multiplies modes by, `external` the modes of U.

Modes are rows of real and imaginary parts, `(2, modes)`; stages live in padded rows, mode k in column `offset + k`.
"""

from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.fast_fourier import forward
from mfpde.typing import Float

__all__ = ["GridRoom", "convolution_slope", "drift_mode_count", "grid_slope", "keep_symmetry"]

Pair = tuple[float, float]


class GridRoom(NamedTuple):
    """Room for products on an equispaced grid, `(2, points)` each, and the roots of unity of its transforms."""

    density: Float
    speed: Float
    scratch: Float
    roots: Float


@kernel
def _fill_ghosts(padded: Float, offset: int, modes: int) -> None:
    """c_{-k} = conj(c_k) on the left, nothing beyond the last mode on the right."""
    for part in range(2):
        sign = 1.0 - 2.0 * part
        left, right = padded[part, :offset], padded[part, offset + 1 : offset + modes]
        count = min(offset, modes - 1)
        left[: offset - count] = 0.0
        for column in range(count):
            left[offset - 1 - column] = sign * right[column]
        padded[part, offset + modes : 2 * offset + modes] = 0.0


@kernel
def drift_mode_count(padded: Float, offset: int, pulls: Float, modes: int, cut: float) -> int:
    """One more than the last order whose drift, `pulls[j] c_j`, |c_j| <= 1, can pass `cut` times this state's
    largest."""
    count = min(pulls.size, modes)
    largest = 0.0
    for order in range(1, count):
        size = max(abs(padded[0, offset + order]), abs(padded[1, offset + order]))
        largest = max(largest, pulls[order] * size)
    while count > 2 and pulls[count - 1] <= cut * largest:
        count -= 1
    return count


@kernel
def _drift_modes(padded: Float, offset: int, potential: Float, external: Float, count: int, drift: Float) -> None:
    """drift[:, j] = i j (W_j c_j + U_j) below count, zeros beyond."""
    real, imaginary = padded[0, offset : offset + count], padded[1, offset : offset + count]
    drift[:, :count] = 0.0
    for order in range(min(count, potential.shape[1])):
        even, odd = order * potential[0, order], order * potential[1, order]
        drift[0, order] = -even * imaginary[order] - odd * real[order]
        drift[1, order] = even * real[order] - odd * imaginary[order]
    for order in range(external.shape[1]):
        drift[0, order] -= order * external[1, order]
        drift[1, order] += order * external[0, order]
    drift[:, count : count + 3] = 0.0


@kernel
def convolution_slope(
    padded: Float,
    offset: int,
    potential: Float,
    external: Float,
    modes: int,
    count: int,
    drift: Float,
    slope: Float,
) -> None:
    """m_k = sum_{1<=j<count} (G_j c_{k-j} + conj(G_j) c_{k+j}): exact, no aliasing, exact zeros stay zero.

    Four orders at a time, on slices with constant shifts, let the compiler use whole vector registers.
    """
    _fill_ghosts(padded, offset, modes)
    _drift_modes(padded, offset, potential, external, count, drift)
    out_real, out_imaginary = slope[0, :modes], slope[1, :modes]
    out_real[:] = 0.0
    out_imaginary[:] = 0.0
    real, imaginary = padded[0], padded[1]
    for order in range(1, count, 4):
        g1, g2, g3, g4 = drift[0, order], drift[0, order + 1], drift[0, order + 2], drift[0, order + 3]
        h1, h2, h3, h4 = drift[1, order], drift[1, order + 1], drift[1, order + 2], drift[1, order + 3]
        left, right = offset - order - 3, offset + order
        a, b = real[left : left + modes + 3], imaginary[left : left + modes + 3]
        c, d = real[right : right + modes + 3], imaginary[right : right + modes + 3]
        for k in range(modes):
            out_real[k] += (
                (g1 * (a[k + 3] + c[k]) + h1 * (d[k] - b[k + 3]))
                + (g2 * (a[k + 2] + c[k + 1]) + h2 * (d[k + 1] - b[k + 2]))
            ) + (
                (g3 * (a[k + 1] + c[k + 2]) + h3 * (d[k + 2] - b[k + 1]))
                + (g4 * (a[k] + c[k + 3]) + h4 * (d[k + 3] - b[k]))
            )
            out_imaginary[k] += (
                (g1 * (b[k + 3] + d[k]) + h1 * (a[k + 3] - c[k]))
                + (g2 * (b[k + 2] + d[k + 1]) + h2 * (a[k + 2] - c[k + 1]))
            ) + (
                (g3 * (b[k + 1] + d[k + 2]) + h3 * (a[k + 1] - c[k + 2]))
                + (g4 * (b[k] + d[k + 3]) + h4 * (a[k] - c[k + 3]))
            )
    for k in range(modes):
        turned = -k * out_real[k]
        out_real[k] = k * out_imaginary[k]
        out_imaginary[k] = turned


@kernel
def _place(first: Pair, second: Pair, spectrum: Float, mode: int, length: int) -> None:
    """Put the mode of `f + i g` (f, g real, first and second their modes) and of its mirror where `forward` acts as
    the inverse."""
    mirror = (length - mode) % length
    spectrum[1, mirror], spectrum[0, mirror] = first[0] + second[1], second[0] - first[1]
    spectrum[1, mode], spectrum[0, mode] = first[0] - second[1], first[1] + second[0]


@kernel
def _speed(
    padded: Float, offset: int, potential: Float, normaliser: Float, bound: float, modes: int, room: GridRoom
) -> None:
    """speed[0] = v on the grid: the drift's series, divided by the normaliser's. |v| <= bound holds for every
    measure, and is kept where the normaliser has sunk below roundoff of its largest value."""
    speed = room.speed
    length = speed.shape[1]
    speed[:] = 0.0
    for order in range(min(potential.shape[1], modes)):
        weight = order * potential[0, order]
        share = normaliser[order]
        re, im = padded[0, offset + order], padded[1, offset + order]
        _place((share * re, share * im), (-weight * im, weight * re), speed, order, length)
    forward(speed, room.scratch, room.roots)
    for point in range(length):
        ratio = speed[0, point] / speed[1, point]
        speed[0, point] = min(bound, max(-bound, ratio)) if speed[1, point] > 0.0 else 0.0


@kernel
def grid_slope(
    padded: Float,
    offset: int,
    potential: Float,
    normaliser: Float,
    external: Float,
    bound: float,
    modes: int,
    room: GridRoom,
    slope: Float,
) -> float:
    """The same on an equispaced grid, with the normaliser if there is one. Returns the size of what the grid can
    hardly hold, relative to the bound of m."""
    density, speed, scratch, roots = room
    length = density.shape[1]
    density[:] = 0.0
    if normaliser.size > 0:
        _speed(padded, offset, potential, normaliser, bound, modes, room)
    for order in range(modes):
        re, im = padded[0, offset + order], padded[1, offset + order]
        down, up = 0.0, 0.0
        if normaliser.size == 0 and order < potential.shape[1]:
            even, odd = order * potential[0, order], order * potential[1, order]
            down, up = -even * im - odd * re, even * re - odd * im
        if order < external.shape[1]:
            down, up = down - order * external[1, order], up + order * external[0, order]
        _place((re, im), (down, up), density, order, length)
    for order in range(modes, external.shape[1]):
        _place((0.0, 0.0), (-order * external[1, order], order * external[0, order]), density, order, length)
    forward(density, scratch, roots)
    for point in range(length):
        drift = speed[0, point] if normaliser.size > 0 else density[0, point]
        density[0, point] = drift * density[1, point] / length
        density[1, point] = 0.0
    forward(density, scratch, roots)
    last = 0.0
    for order in range(length // 2 - length // 16, length // 2):
        last = max(last, abs(density[0, order]), abs(density[1, order]))
    for mode in range(modes):
        slope[0, mode] = mode * density[1, mode]
        slope[1, mode] = -mode * density[0, mode]
    return last / bound if bound > 0.0 else 0.0


@kernel
def keep_symmetry(slope: Float, modes: int, even: bool, period: int) -> None:
    """A reflection (all modes real) or rotation (only multiples of `period`) symmetry of the data is one of the
    solution: no roundoff may break it, because it would grow."""
    if even:
        slope[1, :modes] = 0.0
    if period > 1:
        for mode in range(modes):
            if mode % period != 0:
                slope[0, mode] = 0.0
                slope[1, mode] = 0.0
