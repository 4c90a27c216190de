"""The nonlinear part of the circle's equation for any kernel that is the same for every measure:
`N_k = -i k int e^{-ik theta} v dmu`, v a sum of quotients of integrals over mu, each a table times low modes.

Slices (laws at several positions) lie one after the other in the columns of the rows of real and imaginary parts.
"""

from __future__ import annotations

from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.exponential_step import advance_stage, scale_difference, step_errors
from mfpde.solvers.kernels.fast_fourier import forward
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.typing import Float

__all__ = ["TableWork", "attempt_by_tables"]

_WATCHED_SHARE = 16  # of the modes that a grid tells apart, the last sixteenth shows what it can hardly hold


class TableWork(NamedTuple):
    """Tables, and room for the compiled steps; nothing in it outlives a step but `start`, which follows from the
    state.

    `numerators (terms, columns, points / 2)` and `denominators`, of the first of these terms, at the points of half a
    circle: kernels of `<Ax, y>` have k(-x, -y) = k(x, y), so that at the antipodes columns of odd modes change their
    signs. Columns are the real parts of the even modes, then the imaginary ones, then those of the odd modes, each a
    multiple of two. `fixed` is what moves every token on its own. A slice sees the `masses` of those before it where it
    is masked.

    Without denominators the velocity may be a sum of few modes: `waves (columns, 2 (J + 1))` then make their real
    parts, and the imaginary ones, of the columns, `pull` is what `fixed` has of them, and products are made mode by
    mode.
    """

    numerators: Float
    denominators: Float
    bounds: Float
    fixed: Float
    waves: Float
    pull: Float
    masses: Float
    masked: bool
    kept: Float
    seen: Float
    density: Float
    scratch: Float
    padded: Float
    drift: Float
    speed: Float
    above: Float
    below: Float
    roots: Float
    half_roots: Float
    start: Float
    slope: Float
    stage: Float
    scaled: Float
    errors: Float


@kernel
def _combine(table: Float, weights: Float, out: Float) -> None:
    """out = sum of the rows of the table times weights, four rows at a time."""
    for point in range(out.size):
        out[point] = 0.0
    for row in range(0, weights.size, 4):
        a, b, c, d = weights[row], weights[row + 1], weights[row + 2], weights[row + 3]
        first, second, third, fourth = table[row], table[row + 1], table[row + 2], table[row + 3]
        for point in range(out.size):
            out[point] += (a * first[point] + b * second[point]) + (c * third[point] + d * fourth[point])


@kernel
def _see(w: TableWork, state: Float, first: int, number: int) -> None:
    """w.seen = the low modes that a slice sees: its own, on those of the slices before where it is masked."""
    modes, share = w.seen.size // 2, w.masses[number]
    for part in range(2):
        row = state[part, first:]
        for order in range(min(modes, w.kept.shape[1] // w.masses.size)):
            column = order % 2 * modes + part * (modes // 2) + order // 2
            before = w.seen[column] if w.masked and number > 0 else 0.0
            w.seen[column] = before + share * row[order]


@kernel
def _combine_parities(table: Float, weights: Float, out: Float) -> None:
    """out[0], out[1] = the sums over even and over odd modes."""
    half = weights.size // 2
    for parity in range(2):
        first = parity * half
        _combine(table[first : first + half], weights[first : first + half], out[parity])


@kernel
def _speed(w: TableWork) -> None:
    """w.speed on the grid; |v| <= bound holds for every measure where a term has a normaliser, and is kept where that
    has sunk below roundoff."""
    speed, above, below = w.speed, w.above, w.below
    half = speed.size // 2
    for point in range(speed.size):
        speed[point] = w.fixed[point]
    for term in range(w.numerators.shape[0]):
        _combine_parities(w.numerators[term], w.seen, above)
        normalised = term < w.denominators.shape[0]
        if normalised:
            _combine_parities(w.denominators[term], w.seen, below)
        bound = w.bounds[term] if normalised else 0.0
        for side in range(2):
            sign, there = 1.0 - 2.0 * side, speed[side * half : (side + 1) * half]
            for point in range(half):
                value = above[0, point] + sign * above[1, point]
                if normalised:
                    level = below[0, point] + sign * below[1, point]
                    value = min(bound, max(-bound, value / level)) if level > 0.0 else 0.0
                there[point] += value


@kernel
def _convolved(w: TableWork, real: Float, imaginary: Float, out: Float, out_imaginary: Float) -> None:
    """The flux mode by mode, `m_k = sum_{|j| <= J} v_j c_{k-j}`: exact, without aliasing."""
    count, modes = w.drift.size // 2, real.size
    _combine(w.waves, w.seen, w.drift)
    for order in range(w.drift.size):
        w.drift[order] += w.pull[order]
    offset = count - 1
    ahead, ahead_imaginary = w.padded[0], w.padded[1]
    for column in range(ahead.size):
        ahead[column] = 0.0
        ahead_imaginary[column] = 0.0
    for mode in range(modes):
        ahead[offset + mode], ahead_imaginary[offset + mode] = real[mode], imaginary[mode]
    for mode in range(1, min(count, modes)):
        ahead[offset - mode], ahead_imaginary[offset - mode] = real[mode], -imaginary[mode]
    for mode in range(modes):
        out[mode] = w.drift[0] * real[mode]
        out_imaginary[mode] = w.drift[0] * imaginary[mode]
    for order in range(1, count):
        g, h = w.drift[order], w.drift[count + order]
        low, high = offset - order, offset + order
        a, b = ahead[low : low + modes], ahead_imaginary[low : low + modes]
        c, d = ahead[high : high + modes], ahead_imaginary[high : high + modes]
        for mode in range(modes):
            out[mode] += g * (a[mode] + c[mode]) + h * (d[mode] - b[mode])
            out_imaginary[mode] += g * (b[mode] + d[mode]) + h * (a[mode] - c[mode])


@kernel
def _slope_by_waves(w: TableWork, state: Float, slope: Float) -> float:
    """The same mode by mode: there is nothing that it cannot hold."""
    slices = w.masses.size
    modes = w.kept.shape[1] // slices
    for number in range(slices):
        first = number * modes
        _see(w, state, first, number)
        row, other = slope[0, first : first + modes], slope[1, first : first + modes]
        _convolved(w, state[0, first : first + modes], state[1, first : first + modes], row, other)
        for mode in range(modes):
            turned = -mode * row[mode]
            row[mode] = mode * other[mode] * w.kept[0, first + mode]
            other[mode] = turned * w.kept[1, first + mode]
    return 0.0


@kernel
def _unfolded(data: Float, roots: Float, order: int) -> tuple[float, float]:
    """`sum_n f_n e^{-2 pi i k n / length}` of a real f, from the transform of `f_{2j} + i f_{2j+1}`."""
    half = data.shape[1]
    there = (half - order) % half
    a, b, c, d = data[0, order], data[1, order], data[0, there], data[1, there]
    even, even_imaginary, odd, odd_imaginary = 0.5 * (a + c), 0.5 * (b - d), 0.5 * (b + d), 0.5 * (c - a)
    re, im = roots[0, order], roots[1, order]
    return even + (re * odd - im * odd_imaginary), even_imaginary + (re * odd_imaginary + im * odd)


@kernel
def _fold(real: Float, imaginary: Float, roots: Float, data: Float) -> None:
    """The transform of `f_{2j} + i f_{2j+1}`, its parts exchanged, from the modes of a real f: `forward` then acts as
    the inverse."""
    half, modes = data.shape[1], real.size
    for order in range(half):
        there = half - order
        a, b = (real[order], imaginary[order]) if order < modes else (0.0, 0.0)
        c, d = (real[there], -imaginary[there]) if there < modes else (0.0, 0.0)
        re, im = roots[0, order], -roots[1, order]
        g, h = a - c, b - d
        data[1, order], data[0, order] = a + c - (re * h + im * g), b + d + (re * g - im * h)


@kernel
def slope_by_tables(w: TableWork, state: Float, slope: Float) -> float:
    """slope = N(state). Returns the largest of the last modes that the grid tells apart of the flux."""
    if w.waves.size > 0:
        return _slope_by_waves(w, state, slope)
    density, length, slices = w.density, w.speed.size, w.masses.size
    modes, spill = w.kept.shape[1] // slices, 0.0
    for number in range(slices):
        first = number * modes
        _see(w, state, first, number)
        _speed(w)
        _fold(state[0, first : first + modes], state[1, first : first + modes], w.roots, density)
        forward(density, w.scratch, w.half_roots)
        for point in range(length // 2):
            even, odd = density[1, point], density[0, point]
            density[0, point] = w.speed[2 * point] * even / length
            density[1, point] = w.speed[2 * point + 1] * odd / length
        forward(density, w.scratch, w.half_roots)
        for order in range(length // 2 - length // _WATCHED_SHARE, length // 2):
            real, imaginary = _unfolded(density, w.roots, order)
            spill = max(spill, abs(real), abs(imaginary))
        for mode in range(modes):
            real, imaginary = _unfolded(density, w.roots, mode)
            slope[0, first + mode] = mode * imaginary * w.kept[0, first + mode]
            slope[1, first + mode] = -mode * real * w.kept[1, first + mode]
    return spill


@kernel
def attempt_by_tables(w: TableWork, state: Float, table: Float, step: float) -> float:
    """One step: the new state in w.stage, its N in w.slope, errors in w.errors. Returns the spill of the end. A step of
    0 makes N of the state alone, in w.start."""
    if step == 0.0:
        return slope_by_tables(w, state, w.start)
    size, spill = state.shape[1], 0.0
    for stage in range(1, STAGES + 1):
        advance_stage(stage, state, w.start, w.scaled, table, step, w.stage, 0, size)
        spill = slope_by_tables(w, w.stage, w.slope)
        scale_difference(stage, w.slope, w.start, w.scaled, table, size)
    step_errors(w.scaled, table, step, w.errors, size)
    return spill
