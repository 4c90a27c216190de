"""The sphere as a cube: six faces in equal angles, and the rotations that carry one face to another."""

from __future__ import annotations

import math

import numpy as np

from mfpde.transform.chebyshev import Panels
from mfpde.typing import Float

__all__ = ["carry", "face_points", "frames"]


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


def carry(frame: Float, axes: Float, field: Float) -> Float:
    """The field `(6, side, side)` carried along by the rotation that takes `frame` to the first face's frame.

    Panels and their points lie symmetrically about a face's middle, so turning a face permutes them.
    """
    turn = axes[0] @ frame.T
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
