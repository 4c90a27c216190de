"""Moving points along a space: sums in R^d and of angles, geodesics on spheres."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Geometry
from mfpde.typing import Float

__all__ = ["carried", "dragged", "jolted", "moved", "tangents"]


def moved(geometry: Geometry, points: Float, tangents: Float) -> Float:
    """Native points `(n, c)` a way along geodesics that start with these tangents."""
    if geometry.flat or geometry.angular:
        return points + tangents
    length = np.sqrt(np.einsum("nc,nc->n", tangents, tangents))[:, None]
    there = np.cos(length) * points + np.sinc(length / np.pi) * tangents
    return there / np.sqrt(np.einsum("nc,nc->n", there, there))[:, None]


def carried(geometry: Geometry, tangents: Float, points: Float, others: Float) -> Float:
    """Tangents at points, carried along geodesics to other ones that are not far."""
    if geometry.flat or geometry.angular:
        return tangents
    across = np.einsum("nc,nc->n", tangents, others) / (1 + np.einsum("nc,nc->n", points, others))
    return tangents - across[:, None] * (points + others)


def tangents(geometry: Geometry, points: Float, vectors: Float) -> Float:
    """Native vectors, on spheres without their part along the points."""
    if geometry.flat or geometry.angular:
        return vectors
    return vectors - np.einsum("nc,nc->n", points, vectors)[:, None] * points


def jolted(geometry: Geometry, points: Float, noise: Float, variance: float) -> Float:
    """Points after Brownian motion of that variance in each direction, from standard normal numbers.

    On S^{d-1} a geodesic of a normal tangent has a local error of second order in the variance; shortened so that its
    squared length loses the share `(d - 2) variance / 6`, of third order (physics section 13).
    """
    if variance == 0:
        return points
    scale = np.sqrt(variance)
    if not (geometry.flat or geometry.angular):
        scale *= np.sqrt(1 - (geometry.ambient_dimension - 2) * variance / 6)
    return moved(geometry, points, scale * tangents(geometry, points, noise))


def dragged(geometry: Geometry, points: Float, noise: Float, step: int) -> Float:
    """Points `(copies, n, c)` after the noise `(copies, c)` that those of a copy share: a translation of R^d, a
    rotation of the circle, the flow of `P_x o dB` on spheres.

    There the fields `P_x e_1, .., P_x e_d` are followed one after the other, in this order and in the opposite one by
    turns, each along its own circles: a symmetric splitting of two steps, of weak order two.
    """
    if geometry.flat or geometry.angular:
        return points + noise[:, None, :]
    places, axes = points, range(noise.shape[1])
    for axis in axes if step % 2 == 0 else reversed(axes):
        height, way = places[:, :, axis], np.tanh(noise[:, axis, None])
        there = places * (np.sqrt(1 - way**2) / (1 + height * way))[:, :, None]
        there[:, :, axis] = (height + way) / (1 + height * way)
        places = there
    return places / np.sqrt(np.einsum("mnc,mnc->mn", places, places))[:, :, None]
