"""The sphere as a cube: six faces in equal angles, and the rotations that carry one face to another."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.transform.chebyshev import Panels
from mfpde.typing import AnyArray, Float

__all__ = ["face_points", "frames", "octant", "rotated_to_first"]


def frames() -> Float:
    """`(6, 3, 3)`: columns n, u, v of each face."""
    identity = np.eye(3)
    return np.stack(
        [
            np.stack([sign * identity[axis], identity[(axis + 1) % 3], identity[(axis + 2) % 3]], axis=1)
            for axis in range(3)
            for sign in (1.0, -1.0)
        ]
    )


def face_points(count: int, order: int) -> Float:
    """`(side, side, 3)`: components along n, u, v of a face's points."""
    side = Panels(-0.25 * math.pi, 0.25 * math.pi / count, count).points(order)
    tangent = np.tan(side)
    first, second = np.broadcast_arrays(tangent[:, None], tangent[None, :])
    points = np.stack([np.ones_like(first), first, second], axis=-1)
    return points / np.sqrt((points**2).sum(axis=-1, keepdims=True))


def _carry(turn: Float, axes: Float, field: AnyArray) -> AnyArray:
    """The field `(6, side, side)` carried along by an orthogonal map of the cube.

    Panels and their points lie symmetrically about a face's middle, so that is a permutation.
    """
    out = np.empty_like(field)
    for face, own in enumerate(axes):
        normal, first, second = (turn @ own).T
        target = int(np.argmax(axes[:, :, 0] @ normal))
        here = field[face]
        if abs(first @ axes[target, :, 1]) < 0.5:
            here, first, second = here.T, second, first
        if first @ axes[target, :, 1] < 0.0:
            here = here[::-1]
        if second @ axes[target, :, 2] < 0.0:
            here = here[:, ::-1]
        out[target] = here
    return out


@lru_cache(maxsize=4)
def rotated_to_first(side: int) -> AnyArray:
    """`(24, points)`: where each point's value comes from when a face is turned onto the first, as it is, or with v, u
    or both reflected."""
    axes, numbers = frames(), np.arange(6 * side * side).reshape(6, side, side)
    mirrors = [np.diag([1.0, u, v]) for u in (1.0, -1.0) for v in (1.0, -1.0)]
    turns = [axes[0] @ mirror @ frame.T for frame in axes for mirror in mirrors]
    return np.stack([_carry(turn, axes, numbers).ravel() for turn in turns]).reshape(24, -1)


@lru_cache(maxsize=4)
def octant(side: int) -> AnyArray:
    """`(8, 3, 3 (side / 2)^2)`: where the points of the octant of positive components come from on the cube's faces,
    under the reflections (bit i: of axis i) and with the axes turned so that the first, second or third comes first."""
    half, numbers = side // 2, np.arange(6 * side * side).reshape(3, 2, side, side)
    places = np.empty((8, 3, 3, half, half), dtype=np.int64)
    for reflection in range(8):
        for turn in range(3):
            for face in range(3):  # counted from the axis that comes first, as the bits are
                axis = (turn + face) % 3
                own, first, second = (reflection >> ((face + step) % 3) & 1 for step in range(3))
                here = numbers[axis, own]
                here = here[::-1] if first else here
                here = here[:, ::-1] if second else here
                places[reflection, turn, face] = here[:half, :half]
    return places.reshape(8, 3, -1)
