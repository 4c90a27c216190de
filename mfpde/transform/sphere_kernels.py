"""Faces of the cube: where a unit vector lies, and the sums of six faces by one matrix of exponentials."""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import arctangent, exponential
from mfpde.transform.fused import fused
from mfpde.transform.products import multiply
from mfpde.typing import AnyArray, Float

__all__ = ["gather", "gather_octant", "sum_for_faces", "sum_for_octant", "unfold", "walsh"]

_EDGE_RADIANS = 4e-15  # distance kept from a face's edge, beyond rounding
_SOURCES_PER_BLOCK = 32  # whose exponentials stay in the second-level cache


@allocating_kernel
def unfold(points: Float, out: Float) -> None:
    """Angles on the face of the largest component, both from 0 to pi/2, faces side by side along the first."""
    slopes, faces = np.empty((2, points.shape[0])), np.empty(points.shape[0])
    first, second = slopes[0], slopes[1]
    for j in range(points.shape[0]):
        x, y, z = points[j, 0], points[j, 1], points[j, 2]
        if abs(x) >= abs(y) and abs(x) >= abs(z):
            face, normal, u, v = 0, x, y, z
        elif abs(y) >= abs(z):
            face, normal, u, v = 2, y, z, x
        else:
            face, normal, u, v = 4, z, x, y
        size = abs(normal)
        faces[j], first[j], second[j] = face + (1 if normal < 0.0 else 0), u / size, v / size
    for j in range(first.size):
        first[j] = arctangent(first[j]) + 0.25 * math.pi
    for j in range(first.size):
        second[j] = arctangent(second[j]) + 0.25 * math.pi
    for j in range(points.shape[0]):
        # rounding at an edge must not move a point to the neighbouring face
        out[j, 0] = faces[j] * (0.5 * math.pi) + min(max(first[j], _EDGE_RADIANS), 0.5 * math.pi - _EDGE_RADIANS)
        out[j, 1] = second[j]


@allocating_kernel
def sum_for_faces(left: Float, sources: Float, targets: Float, sums: Float) -> None:
    """sums = left E, `E[q, k] = e^{<sources_q, targets_k>}`, some rows of E at a time."""
    count = targets.shape[1]
    powers, part = np.empty((_SOURCES_PER_BLOCK, count)), np.empty(sums.shape)
    x, y, z = targets[0], targets[1], targets[2]
    for start in range(0, sources.shape[1], _SOURCES_PER_BLOCK):
        terms = min(_SOURCES_PER_BLOCK, sources.shape[1] - start)
        for i in range(terms):
            a, b, c, row = sources[0, start + i], sources[1, start + i], sources[2, start + i], powers[i]
            for k in range(count):
                row[k] = exponential(fused(a, x[k], fused(b, y[k], c * z[k])))
        multiply(left[:, start : start + terms], powers, part)
        for row_index in range(sums.shape[0]):
            total, here = sums[row_index], part[row_index]
            for k in range(count):
                total[k] += here[k]


@kernel
def gather(fields: Float, chosen: AnyArray, out: Float) -> None:
    """out[4 turn + part, q] = fields[part, chosen[turn, q]]."""
    for turn in range(chosen.shape[0]):
        for part in range(4):
            field, row = fields[part], out[4 * turn + part]
            for q in range(row.size):
                row[q] = field[chosen[turn, q]]


@kernel
def walsh(field: Float) -> None:
    """In place along the first axis, of four: sums with all signs of two reflections, even and odd in each."""
    for i in range(field.shape[1]):
        r0, r1, r2, r3 = field[0, i], field[1, i], field[2, i], field[3, i]
        for q in range(field.shape[2]):
            a, b, c, d = r0[q] + r1[q], r0[q] - r1[q], r2[q] + r3[q], r2[q] - r3[q]
            r0[q], r1[q], r2[q], r3[q] = a + c, b + d, a - c, b - d


@kernel
def gather_octant(fields: Float, places: AnyArray, out: Float) -> None:
    """out[2 reflection + side, 4 turn + part, q] = fields[part, places[2 reflection + side, turn, q]]."""
    for reflection in range(8):
        for turn in range(3):
            for part in range(4):
                field, row = fields[part], out[reflection // 2, (reflection % 2) * 12 + 4 * turn + part]
                for q in range(row.size):
                    row[q] = field[places[reflection, turn, q]]


@allocating_kernel
def sum_for_octant(left: Float, sources: Float, targets: Float, sums: Float) -> None:
    """sums[c] = left[c] K_c + (left[c] with its halves of rows exchanged) K'_c, `K_c[q, k] = e^{x} f(y) g(z)` with
    x, y, z the products of the components of sources and targets.

    f is sinh instead of cosh if bit 0 of the class c is set, g if bit 1 is; K' has `e^{-x}`. That is `e^<s, t>` for
    what is even or odd along y and z; along x what one face sees in front the opposite face sees behind.
    """
    count, half = targets.shape[1], sums.shape[1] // 2
    powers, part = np.empty((8, _SOURCES_PER_BLOCK, count)), np.empty((half, count))
    x, y, z = targets[0], targets[1], targets[2]
    for start in range(0, sources.shape[1], _SOURCES_PER_BLOCK):
        terms = min(_SOURCES_PER_BLOCK, sources.shape[1] - start)
        for i in range(terms):
            a, b, c = sources[0, start + i], sources[1, start + i], sources[2, start + i]
            p0, p1, p2, p3 = powers[0, i], powers[1, i], powers[2, i], powers[3, i]
            p4, p5, p6, p7 = powers[4, i], powers[5, i], powers[6, i], powers[7, i]
            for k in range(count):
                e1, e2, e3 = exponential(a * x[k]), 0.5 * exponential(b * y[k]), 0.5 * exponential(c * z[k])
                r1, r2, r3 = 1.0 / e1, 0.25 / e2, 0.25 / e3
                cosh2, sinh2, cosh3, sinh3 = e2 + r2, e2 - r2, e3 + r3, e3 - r3
                f0, f1, f2, f3 = cosh2 * cosh3, sinh2 * cosh3, cosh2 * sinh3, sinh2 * sinh3
                p0[k], p2[k], p4[k], p6[k] = e1 * f0, e1 * f1, e1 * f2, e1 * f3
                p1[k], p3[k], p5[k], p7[k] = r1 * f0, r1 * f1, r1 * f2, r1 * f3
        for number in range(16):
            parity, side, behind = number // 4, number // 2 % 2, number % 2
            rows = left[parity, side * half : (side + 1) * half, start : start + terms]
            multiply(rows, powers[2 * parity + behind, :terms], part)
            seen = (side + behind) % 2
            for row_index in range(half):
                total, here = sums[parity, seen * half + row_index], part[row_index]
                for k in range(count):
                    total[k] += here[k]
