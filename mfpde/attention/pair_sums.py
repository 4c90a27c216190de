"""Sums over pairs of tokens of a potential of the angle between them, on flat spaces of their distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfpde.attention.pair_potential import PairPotential
from mfpde.geometry import Geometry
from mfpde.typing import Float, Truths

__all__ = ["energy_of_pairs", "forces", "laplacian_of_pair", "laplacians", "sine_forces"]

_ENTRIES_PER_BLOCK = 2**16  # pairs that are looked at together: bounds memory, and stays in the cache
_SMALLEST_SINE = 1e-60  # of angles between tokens that coincide


def forces(
    potential: PairPotential, space: Geometry, points: Float, keys: Float, weights: Float, signed: bool = False
) -> Float:
    """`grad (W * mu)` at native points, `(m, c)`. Tokens in one place, and at opposite ones, do not move each other:
    there is no direction that they could; on the circle there is one where angles are `signed`."""
    found = np.empty(points.shape)
    for here, pairs in _blocks(space, points, keys):
        if signed:
            assert isinstance(pairs, _OnCircle)  # noqa: S101 - angles have signs nowhere else
            found[here] = pairs.signed_slopes(potential) @ weights[:, None]
        else:
            found[here] = pairs.along(potential.jets(pairs.near, pairs.opposite)[1] * weights)
    return found


def sine_forces(coefficients: Float, points: Float, keys: Float, weights: Float) -> Float:
    """`sum_k k s_k cos(k (theta - phi))` over tokens, at angles `(m, 1)`."""
    found, apart = np.zeros(points.shape), points - keys[:, 0]
    for k, strength in enumerate(coefficients, start=1):
        found += k * strength * np.cos(k * apart) @ weights[:, None]
    return found


def laplacians(potential: PairPotential, space: Geometry, points: Float, keys: Float, weights: Float) -> Float:
    """`Lap (W * mu)`: `W'' + (d - 2) cot(angle) W'`, in R^d `W'' + (d - 1) W' / r`; without what a kink has at
    coincident tokens."""
    found = np.empty(points.shape[0])
    for here, pairs in _blocks(space, points, keys):
        found[here] = laplacian_of_pair(potential, space, pairs.near, pairs.opposite) @ weights
    return found


def laplacian_of_pair(potential: PairPotential, space: Geometry, near: Float, opposite: Truths) -> Float:
    """The Laplacian of W at angles, or distances, from one token."""
    more = space.ambient_dimension - (1 if space.flat else 2)
    _, slopes, bends = potential.jets(near, opposite)
    away = np.maximum(near, _SMALLEST_SINE)
    kinked = (near < _SMALLEST_SINE) & (np.abs(slopes) > np.sqrt(_SMALLEST_SINE))
    curvature = 1 / away if space.flat else np.where(opposite, -1.0, 1.0) * np.cos(away) / np.sin(away)
    return np.asarray(bends + more * np.where(kinked, 0.0, slopes) * curvature)


def energy_of_pairs(potential: PairPotential, space: Geometry, points: Float, weights: Float) -> float:
    """`iint W dmu dmu / 2`."""
    total = 0.0
    for here, pairs in _blocks(space, points, points):
        values = potential.jets(pairs.near, pairs.opposite)[0]
        total += 0.5 * float(np.einsum("m,mn,n->", weights[here], values, weights))
    return total


class _OnCircle:
    """Angles from keys to points of the circle."""

    def __init__(self, points: Float, keys: Float) -> None:
        apart = np.mod(points - keys[:, 0] + np.pi, 2 * np.pi) - np.pi
        size = np.abs(apart)
        self._side = np.where(size < np.pi, np.sign(apart), 0.0)
        self.opposite: Truths = size > 0.5 * np.pi
        self.near: Float = np.where(self.opposite, np.pi - size, size)

    def signed_slopes(self, potential: PairPotential) -> Float:
        """W' at the angles from keys to points, `(m, n)`."""
        ahead, behind = (potential.jets(self.near, self.opposite, sign)[1] for sign in (1.0, -1.0))
        return np.where(self._side < 0, behind, ahead)

    def along(self, slopes: Float) -> Float:
        """Slopes by the angle as velocities of the points, summed over keys."""
        return (slopes * self._side).sum(axis=1, keepdims=True)


class _OnSphere:
    """Angles between points and keys of a sphere, and the directions along which they grow."""

    def __init__(self, points: Float, keys: Float) -> None:
        self.opposite: Truths = np.einsum("mc,nc->mn", points, keys) < 0
        signs = np.where(self.opposite, -1.0, 1.0)
        self._points: Float = points
        self._keys: Float = keys
        self._signs: Float = signs
        # the chord between neighbours, or to the antipode: angles of any size to their last digits
        chords = np.zeros(signs.shape)
        for axis in range(points.shape[1]):
            chords += (points[:, axis, None] - signs * keys[:, axis]) ** 2
        self.near: Float = 2 * np.arcsin(np.minimum(0.5 * np.sqrt(chords), 1.0))

    def along(self, slopes: Float) -> Float:
        """Slopes by the angle as tangent vectors at the points, summed over keys: `-W' (y - <x, y> x) / sin`."""
        sines = np.sin(self.near)
        strengths = np.where(sines > _SMALLEST_SINE, -slopes / np.maximum(sines, _SMALLEST_SINE), 0.0)
        # y - <x, y> x from differences, which keep their digits where tokens are near
        pulls = np.empty(self._points.shape)
        signed = strengths * self._signs
        for axis in range(self._points.shape[-1]):
            apart = self._signs * self._keys[:, axis] - self._points[:, axis, None]
            pulls[:, axis] = (signed * apart).sum(axis=1)
        return pulls - np.einsum("nc,nc->n", pulls, self._points)[:, None] * self._points


class _InSpace:
    """Distances between points and keys of R^d, in place of angles."""

    def __init__(self, points: Float, keys: Float) -> None:
        self._apart: Float = points[:, None] - keys
        self.near: Float = np.sqrt(np.einsum("mnc,mnc->mn", self._apart, self._apart))
        self.opposite: Truths = np.zeros(self.near.shape, dtype=bool)

    def along(self, slopes: Float) -> Float:
        """`W'(r) (x - y) / r`, summed over keys."""
        strengths = np.where(self.near > 0, slopes / np.maximum(self.near, _SMALLEST_SINE), 0.0)
        return np.einsum("mn,mnc->mc", strengths, self._apart)


def _blocks(space: Geometry, points: Float, keys: Float) -> Iterator[tuple[slice, _OnCircle | _OnSphere | _InSpace]]:
    kind = _OnCircle if space.angular else _InSpace if space.flat else _OnSphere
    length = max(1, _ENTRIES_PER_BLOCK // keys.shape[0])
    for start in range(0, points.shape[0], length):
        here = slice(start, start + length)
        yield here, kind(points[here], keys)
