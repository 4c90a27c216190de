"""Fourier transforms along many rings at once, inside compiled loops.

Stockham's self-sorting form with radices 2, 3, 4 and 5. Data are real and imaginary rows of flat arrays, `(2, length *
rings)`: place k of ring r in column `k * rings + r`. Every pass runs along whole rows of rings, which the compiler
turns into vector instructions, and what Legendre sums make row by row needs no transposition.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.typing import Float

__all__ = ["ring_length", "ring_roots", "transform_rings"]

_SIN_60 = math.sin(math.pi / 3)
_COS_72, _SIN_72 = math.cos(2 * math.pi / 5), math.sin(2 * math.pi / 5)
_COS_144, _SIN_144 = math.cos(4 * math.pi / 5), math.sin(4 * math.pi / 5)


def ring_length(least: int) -> int:
    """The shortest length from `least` on, in steps of 4, whose prime factors are 2, 3 and 5.

    >>> ring_length(260), ring_length(5)
    (288, 8)
    """
    length = max(4, -(-least // 4) * 4)
    while _rest(length) > 1 or length % 4:
        length += 4
    return length


def _rest(length: int) -> int:
    for prime in (2, 3, 5):
        while length % prime == 0:
            length //= prime
    return length


def ring_roots(length: int) -> Float:
    """e^{-2 pi i t / length}, t < length, as two rows."""
    angle = -2 * np.pi * np.arange(length) / length
    return np.stack([np.cos(angle), np.sin(angle)])


@kernel
def _turn(data: Float, first: int, width: int, re: float, im: float) -> None:
    """`width` columns from `first` on, times the number `re + i im`."""
    real, imaginary = data[0, first : first + width], data[1, first : first + width]
    for column in range(width):
        a, b = real[column], imaginary[column]
        real[column] = fused(re, a, -im * b)
        imaginary[column] = fused(re, b, im * a)


@kernel
def _radix_four(source: Float, target: Float, roots: Float, parts: int, stride: int, rings: int) -> None:
    """One pass: `parts` groups of butterflies, each on `stride * rings` neighbouring columns."""
    width = stride * rings
    apart = parts * width
    for index in range(parts):
        w1r, w1i = roots[0, index * stride], roots[1, index * stride]
        w2r, w2i = roots[0, 2 * index * stride], roots[1, 2 * index * stride]
        w3r, w3i = roots[0, 3 * index * stride], roots[1, 3 * index * stride]
        real, imaginary = source[0, index * width :], source[1, index * width :]
        out_real, out_imaginary = target[0, 4 * index * width :], target[1, 4 * index * width :]
        for i0 in range(width):
            i1, i2, i3 = i0 + apart, i0 + 2 * apart, i0 + 3 * apart
            sr, si = real[i0] + real[i2], imaginary[i0] + imaginary[i2]
            dr, di = real[i0] - real[i2], imaginary[i0] - imaginary[i2]
            tr, ti = real[i1] + real[i3], imaginary[i1] + imaginary[i3]
            er, ei = real[i1] - real[i3], imaginary[i1] - imaginary[i3]
            o1, o2, o3 = i0 + width, i0 + 2 * width, i0 + 3 * width
            out_real[i0] = sr + tr
            out_imaginary[i0] = si + ti
            ar, ai = dr + ei, di - er
            out_real[o1] = fused(w1r, ar, -w1i * ai)
            out_imaginary[o1] = fused(w1r, ai, w1i * ar)
            br, bi = sr - tr, si - ti
            out_real[o2] = fused(w2r, br, -w2i * bi)
            out_imaginary[o2] = fused(w2r, bi, w2i * br)
            cr, ci = dr - ei, di + er
            out_real[o3] = fused(w3r, cr, -w3i * ci)
            out_imaginary[o3] = fused(w3r, ci, w3i * cr)


@kernel
def _radix_two(source: Float, target: Float, roots: Float, parts: int, stride: int, rings: int) -> None:
    width = stride * rings
    apart = parts * width
    for index in range(parts):
        wr, wi = roots[0, index * stride], roots[1, index * stride]
        real, imaginary = source[0, index * width :], source[1, index * width :]
        out_real, out_imaginary = target[0, 2 * index * width :], target[1, 2 * index * width :]
        for i0 in range(width):
            dr, di = real[i0] - real[i0 + apart], imaginary[i0] - imaginary[i0 + apart]
            out_real[i0] = real[i0] + real[i0 + apart]
            out_imaginary[i0] = imaginary[i0] + imaginary[i0 + apart]
            out_real[i0 + width] = fused(wr, dr, -wi * di)
            out_imaginary[i0 + width] = fused(wr, di, wi * dr)


@kernel
def _radix_three(source: Float, target: Float, roots: Float, parts: int, stride: int, rings: int) -> None:
    width = stride * rings
    apart = parts * width
    for index in range(parts):
        w1r, w1i = roots[0, index * stride], roots[1, index * stride]
        w2r, w2i = roots[0, 2 * index * stride], roots[1, 2 * index * stride]
        real, imaginary = source[0, index * width :], source[1, index * width :]
        out_real, out_imaginary = target[0, 3 * index * width :], target[1, 3 * index * width :]
        for i0 in range(width):
            i1, i2 = i0 + apart, i0 + 2 * apart
            sr, si = real[i1] + real[i2], imaginary[i1] + imaginary[i2]
            dr, di = _SIN_60 * (real[i1] - real[i2]), _SIN_60 * (imaginary[i1] - imaginary[i2])
            mr, mi = fused(-0.5, sr, real[i0]), fused(-0.5, si, imaginary[i0])
            out_real[i0] = real[i0] + sr
            out_imaginary[i0] = imaginary[i0] + si
            ar, ai = mr + di, mi - dr
            br, bi = mr - di, mi + dr
            out_real[i0 + width] = fused(w1r, ar, -w1i * ai)
            out_imaginary[i0 + width] = fused(w1r, ai, w1i * ar)
            out_real[i0 + 2 * width] = fused(w2r, br, -w2i * bi)
            out_imaginary[i0 + 2 * width] = fused(w2r, bi, w2i * br)


@kernel
def _radix_five(source: Float, target: Float, roots: Float, parts: int, stride: int, rings: int) -> None:
    """The butterflies first, the turns of their results in passes of their own: there are too many arrays for one."""
    width = stride * rings
    apart = parts * width
    for index in range(parts):
        real, imaginary = source[0, index * width :], source[1, index * width :]
        for part in range(2):
            # of the imaginary parts i times the differences are real: the roles are exchanged and a sign turns
            same, other = (real, imaginary) if part == 0 else (imaginary, real)
            sign = 1.0 - 2.0 * part
            out = target[part, 5 * index * width :]
            for i0 in range(width):
                i1, i2, i3, i4 = i0 + apart, i0 + 2 * apart, i0 + 3 * apart, i0 + 4 * apart
                s1, s2 = same[i1] + same[i4], same[i2] + same[i3]
                d1, d2 = sign * (other[i1] - other[i4]), sign * (other[i2] - other[i3])
                m1 = fused(_COS_144, s2, fused(_COS_72, s1, same[i0]))
                m2 = fused(_COS_72, s2, fused(_COS_144, s1, same[i0]))
                t1 = fused(_SIN_144, d2, _SIN_72 * d1)
                t2 = fused(-_SIN_72, d2, _SIN_144 * d1)
                out[i0] = same[i0] + s1 + s2
                out[i0 + width] = m1 + t1
                out[i0 + 2 * width] = m2 + t2
                out[i0 + 3 * width] = m2 - t2
                out[i0 + 4 * width] = m1 - t1
        for place in range(1, 5):
            turn = place * index * stride
            _turn(target, (5 * index + place) * width, width, roots[0, turn], roots[1, turn])


@kernel
def transform_rings(data: Float, work: Float, roots: Float, rings: int) -> bool:
    """`sum_n data[n] e^{-2 pi i k n / length}` of every ring. True when the result is in `work`, which is as large.

    The inverse (without 1/length) is the same with real and imaginary rows exchanged: pass `data[::-1]`.
    """
    length = roots.shape[1]
    remaining, in_work = length, False
    while remaining > 1:
        stride = length // remaining
        radix = 4 if remaining % 4 == 0 else 2 if remaining % 2 == 0 else 3 if remaining % 3 == 0 else 5
        source, target = (work, data) if in_work else (data, work)
        remaining //= radix
        if radix == 4:
            _radix_four(source, target, roots, remaining, stride, rings)
        elif radix == 2:
            _radix_two(source, target, roots, remaining, stride, rings)
        elif radix == 3:
            _radix_three(source, target, roots, remaining, stride, rings)
        else:
            _radix_five(source, target, roots, remaining, stride, rings)
        in_work = not in_work
    return in_work
