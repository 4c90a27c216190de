"""Shares of cells that lie in an interval, a box or a disc: exact areas, and exactly 1 where all of a cell does."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Lattice
from mfpde.typing import Float, Truths

__all__ = ["faces_of", "shares_in_box", "shares_in_disc", "shares_in_interval"]


def shares_in_interval(faces: Float, low: float, high: float) -> Float:
    """Shares of the cells between consecutive faces."""
    left, right = faces[:-1], faces[1:]
    length = np.minimum(right, high) - np.maximum(left, low)
    inside = (left >= low) & (right <= high)
    return np.where(inside, 1.0, np.maximum(length, 0.0) / (right - left))


def shares_in_box(lattice: Lattice, low: Float, high: Float) -> Float:
    """Of a lattice's cells, in the box between two corners; the lattice's axes may lie askew in it."""
    frame = lattice.matrix
    faces = [faces_of(axis) for axis in lattice.axes]
    if np.array_equal(frame, np.diag(np.diag(frame))):
        ends = (np.array([low, high]) - lattice.origin) / np.diag(frame)
        parts = [shares_in_interval(f, min(end), max(end)) for f, end in zip(faces, ends.T, strict=True)]
        return parts[0] if len(parts) == 1 else np.outer(*parts)
    normals = np.concatenate([frame, -frame])  # inside is normals z <= offsets
    offsets = np.concatenate([high - lattice.origin, lattice.origin - low])
    corners = np.stack(np.meshgrid(*faces, indexing="ij"), axis=-1)
    beyond = corners @ normals.T > offsets
    outside, cut = _any_all(beyond)
    shares = np.where(outside | cut, 0.0, 1.0)
    for i, j in np.argwhere(cut & ~outside):
        cell = corners[[i, i + 1, i + 1, i], [j, j, j + 1, j + 1]]
        middle = cell.mean(axis=0)  # areas of small cells far from the origin would cancel
        shares[i, j] = _clipped_area(cell - middle, normals, offsets - normals @ middle) / _area(cell - middle)
    return shares


def faces_of(axis: Float) -> Float:
    """Ends of the cells about its points."""
    half = 0.5 * (axis[-1] - axis[0]) / (axis.size - 1)
    return np.append(axis - half, axis[-1] + half)


def _any_all(beyond: Truths) -> tuple[Truths, Truths]:
    """Cells with all corners beyond one half-plane, and with some corner beyond some."""
    four = np.stack([beyond[:-1, :-1], beyond[1:, :-1], beyond[:-1, 1:], beyond[1:, 1:]])
    return np.asarray(four.all(axis=0).any(axis=-1)), np.asarray(four.any(axis=(0, -1)))


def _clipped_area(polygon: Float, normals: Float, offsets: Float) -> float:
    """Of a convex polygon within half-planes (Sutherland and Hodgman)."""
    for normal, offset in zip(normals, offsets, strict=True):
        depth = polygon @ normal - offset
        kept = []
        for k in range(len(polygon)):
            p, q, a, b = polygon[k - 1], polygon[k], depth[k - 1], depth[k]
            if (a > 0) != (b > 0):
                kept.append(p + (q - p) * (a / (a - b)))
            if b <= 0:
                kept.append(q)
        if len(kept) < 3:
            return 0.0
        polygon = np.array(kept)
    return _area(polygon)


def _area(polygon: Float) -> float:
    following = np.roll(polygon, -1, axis=0)
    return 0.5 * abs(float(np.sum(_cross(polygon, following))))


def _cross(p: Float, q: Float) -> Float:
    return p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]


def shares_in_disc(lattice: Lattice, centre: Float, radius: float) -> Float:
    """Of a lattice's cells, in a disc."""
    frame = lattice.matrix / radius
    faces = [faces_of(axis) for axis in lattice.axes]
    corners = np.stack(np.meshgrid(*faces, indexing="ij"), axis=-1) @ frame.T + (lattice.origin - centre) / radius
    four = np.stack([corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]])
    within = (np.sum(four**2, axis=-1) <= 1).all(axis=0)
    area = float(np.linalg.det(frame)) * (faces[0][1] - faces[0][0]) * (faces[1][1] - faces[1][0])
    size = np.sqrt(np.max(np.sum((four[0] - four[2]) ** 2, axis=-1) + np.sum((four[1] - four[3]) ** 2, axis=-1)))
    away = np.sqrt(np.sum(four**2, axis=-1)).min(axis=0) > 1 + size
    shares = np.where(within, 1.0, 0.0)
    cut = ~within & ~away
    p, q = four[:, cut], np.roll(four[:, cut], -1, axis=0)
    inside = np.sum(_under_arc(p, q), axis=0) / area
    around = np.sum(_sector(p, q), axis=0) / np.copysign(np.pi, area) > 0.5  # the centre lies in the cell
    touched = around | (_distance(p, q) < 1).any(axis=0)
    shares[cut] = np.where(touched, np.clip(inside, 0.0, 1.0), 0.0)
    return shares


def _distance(p: Float, q: Float) -> Float:
    """Of the segments from p to q to the origin."""
    step = q - p
    nearest = np.clip(-np.sum(p * step, axis=-1) / np.sum(step * step, axis=-1), 0.0, 1.0)
    return np.linalg.norm(p + nearest[..., None] * step, axis=-1)


def _under_arc(p: Float, q: Float) -> Float:
    """Signed area of the triangle (0, p, q) within the unit disc."""
    step = q - p
    a, b, c = (np.sum(u * v, axis=-1) for u, v in ((step, step), (p, step), (p, p)))
    root = np.sqrt(np.maximum(b * b - a * (c - 1), 0.0))
    first, last = np.clip((-b - root) / a, 0.0, 1.0), np.clip((-b + root) / a, 0.0, 1.0)
    enter, leave = p + first[..., None] * step, p + last[..., None] * step
    crossing = root > 0
    chord = 0.5 * _cross(enter, leave) + _sector(p, enter) + _sector(leave, q)
    return np.where(crossing & (last > first), chord, _sector(p, q))


def _sector(p: Float, q: Float) -> Float:
    return 0.5 * np.arctan2(_cross(p, q), np.sum(p * q, axis=-1))
