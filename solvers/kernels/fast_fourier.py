"""Fourier transforms of power-of-two length inside compiled loops, on separate real and imaginary arrays.

Stockham's self-sorting form, radix four: every pass reads and writes whole runs, no bit reversal.
"""

import numpy as np

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["copy_rows", "forward", "roots_of_unity"]


def roots_of_unity(length: int) -> Float:
    """e^{-2 pi i t / length}, t < length, as two rows."""
    angle = -2 * np.pi * np.arange(length) / length
    return np.stack([np.cos(angle), np.sin(angle)])


@kernel
def copy_rows(source: Float, first: int, target: Float, start: int, count: int) -> None:
    """target[:, start : start + count] = source[:, first : first + count], as a loop: numba's slice assignment
    compiles for seconds."""
    for part in range(2):
        read, write = source[part, first : first + count], target[part, start : start + count]
        for column in range(count):
            write[column] = read[column]


@kernel
def _radix_four(source: Float, target: Float, roots: Float, quarter: int, stride: int) -> None:
    """One pass: `quarter` butterflies, each on `stride` neighbouring columns."""
    real, imaginary = source[0], source[1]
    out_real, out_imaginary = target[0], target[1]
    third = quarter * stride
    for index in range(quarter):
        w1r, w1i = roots[0, index * stride], roots[1, index * stride]
        w2r, w2i = roots[0, 2 * index * stride], roots[1, 2 * index * stride]
        w3r, w3i = roots[0, 3 * index * stride], roots[1, 3 * index * stride]
        read, write = index * stride, 4 * index * stride
        for column in range(stride):
            i0 = read + column
            i1, i2, i3 = i0 + third, i0 + 2 * third, i0 + 3 * third
            sr, si = real[i0] + real[i2], imaginary[i0] + imaginary[i2]
            dr, di = real[i0] - real[i2], imaginary[i0] - imaginary[i2]
            tr, ti = real[i1] + real[i3], imaginary[i1] + imaginary[i3]
            er, ei = real[i1] - real[i3], imaginary[i1] - imaginary[i3]
            o0 = write + column
            o1, o2, o3 = o0 + stride, o0 + 2 * stride, o0 + 3 * stride
            out_real[o0] = sr + tr
            out_imaginary[o0] = si + ti
            ar, ai = dr + ei, di - er
            out_real[o1] = w1r * ar - w1i * ai
            out_imaginary[o1] = w1r * ai + w1i * ar
            br, bi = sr - tr, si - ti
            out_real[o2] = w2r * br - w2i * bi
            out_imaginary[o2] = w2r * bi + w2i * br
            cr, ci = dr - ei, di + er
            out_real[o3] = w3r * cr - w3i * ci
            out_imaginary[o3] = w3r * ci + w3i * cr


@kernel
def _radix_two(source: Float, target: Float, stride: int) -> None:
    for part in range(2):
        for column in range(stride):
            first, second = source[part, column], source[part, column + stride]
            target[part, column] = first + second
            target[part, column + stride] = first - second


@kernel
def forward(data: Float, work: Float, roots: Float) -> None:
    """`sum_n data[n] e^{-2 pi i k n / length}`, in place. `work` has the shape of `data`, (2, length).

    The inverse (without 1/length) is the same with real and imaginary rows exchanged: pass `data[::-1]`.
    """
    length = data.shape[1]
    remaining = length
    in_work = False
    while remaining > 1:
        stride = length // remaining
        if remaining >= 4:
            if in_work:
                _radix_four(work, data, roots, remaining // 4, stride)
            else:
                _radix_four(data, work, roots, remaining // 4, stride)
            remaining //= 4
        else:
            if in_work:
                _radix_two(work, data, stride)
            else:
                _radix_two(data, work, stride)
            remaining = 1
        in_work = not in_work
    if in_work:
        copy_rows(work, 0, data, 0, length)
