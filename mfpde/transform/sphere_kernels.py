"""Faces of the cube: where a unit vector lies, and the sums of six faces by one matrix of exponentials."""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.products import multiply
from mfpde.typing import AnyArray, Float

__all__ = ["gather", "sum_folded", "sum_for_faces", "unfold"]

_EDGE = 4e-15
_TERMS = 64  # points whose exponentials lie in the second cache together


@kernel
def unfold(points: Float, out: Float) -> None:
    """Angles on the face of the largest component, both from 0 to pi/2, faces side by side along the first."""
    for j in range(points.shape[0]):
        x, y, z = points[j, 0], points[j, 1], points[j, 2]
        if abs(x) >= abs(y) and abs(x) >= abs(z):
            face, normal, first, second = 0, x, y, z
        elif abs(y) >= abs(z):
            face, normal, first, second = 2, y, z, x
        else:
            face, normal, first, second = 4, z, x, y
        if normal < 0.0:
            face += 1
        size = abs(normal)
        angle = math.atan(first / size) + 0.25 * math.pi
        # an edge must not round onto the face beside it, which is another face altogether
        out[j, 0] = face * (0.5 * math.pi) + min(max(angle, _EDGE), 0.5 * math.pi - _EDGE)
        out[j, 1] = math.atan(second / size) + 0.25 * math.pi


@allocating_kernel
def sum_for_faces(left: Float, sources: Float, targets: Float, sums: Float) -> None:
    """sums = left E, `E[q, k] = e^{<sources_q, targets_k>}`, some rows of E at a time."""
    count = targets.shape[1]
    powers, part = np.empty((_TERMS, count)), np.empty(sums.shape)
    x, y, z = targets[0], targets[1], targets[2]
    for start in range(0, sources.shape[1], _TERMS):
        terms = min(_TERMS, sources.shape[1] - start)
        for i in range(terms):
            a, b, c, row = sources[0, start + i], sources[1, start + i], sources[2, start + i], powers[i]
            for k in range(count):
                row[k] = exponential(a * x[k] + (b * y[k] + c * z[k]))
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
def fold(left: Float) -> None:
    """In place: the four mirror images (as it is, v, u, both) of each row to sums even and odd in u and v."""
    for face in range(6):
        for part in range(4):
            r0, r1 = left[16 * face + part], left[16 * face + 4 + part]
            r2, r3 = left[16 * face + 8 + part], left[16 * face + 12 + part]
            for q in range(left.shape[1]):
                a, b, c, d = r0[q] + r1[q], r0[q] - r1[q], r2[q] + r3[q], r2[q] - r3[q]
                r0[q], r1[q], r2[q], r3[q] = a + c, b + d, a - c, b - d


@allocating_kernel
def sum_folded(left: Float, sources: Float, targets: Float, sums: Float) -> None:
    """The same for sources in one quarter: left `(4, 24, q)` and sums `(4, 24, k)` even and odd in u and v."""
    count = targets.shape[1]
    powers, part = np.empty((4, _TERMS, count)), np.empty((sums.shape[1], count))
    n, u, v = targets[0], targets[1], targets[2]
    for start in range(0, sources.shape[1], _TERMS):
        terms = min(_TERMS, sources.shape[1] - start)
        for i in range(terms):
            a, b, c = sources[0, start + i], sources[1, start + i], sources[2, start + i]
            p0, p1, p2, p3 = powers[0, i], powers[1, i], powers[2, i], powers[3, i]
            for k in range(count):
                first, second = (
                    exponential(a * n[k] + (b * u[k] + c * v[k])),
                    exponential(a * n[k] + (b * u[k] - c * v[k])),
                )
                third, fourth = (
                    exponential(a * n[k] - (b * u[k] - c * v[k])),
                    exponential(a * n[k] - (b * u[k] + c * v[k])),
                )
                p0[k] = 0.25 * ((first + second) + (third + fourth))
                p1[k] = 0.25 * ((first - second) + (third - fourth))
                p2[k] = 0.25 * ((first + second) - (third + fourth))
                p3[k] = 0.25 * ((first - second) - (third - fourth))
        for parity in range(4):
            multiply(left[parity, :, start : start + terms], powers[parity, :terms], part)
            for row_index in range(part.shape[0]):
                total, here = sums[parity, row_index], part[row_index]
                for k in range(count):
                    total[k] += here[k]
