"""Queries and nodes on the sphere S^2, `e^{beta <x, y>}`.

The six faces of a cube, in equal angles, carry panels of Chebyshev points. Point masses move to those points, the sum
over pairs of points is direct, queries interpolate. A rotation of the cube takes any face to the first, so one matrix
of exponentials, first face against all points, serves all six.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.transform.chebyshev import Panels
from mfpde.transform.direct import tilted_mean_directly
from mfpde.transform.plane import collect_in_plane, interpolate_in_plane
from mfpde.transform.sphere_kernels import sum_for_faces, unfold
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_mean_on_sphere"]

_EXTENT = 3.9  # beta times half a panel, at most
_MILD = 2.3  # up to here 24 points are enough for a panel, beyond it 28; a whole face needs them in any case
_LARGEST = 300.0  # e^{2 beta} must be a number
_BATCH = 1 << 14


def tilted_mean_on_sphere(beta: float, queries: Float, nodes: Float, masses: Float) -> tuple[Float, Float]:
    """`int e^{beta <x,y>} y dmu / int e^{beta <x,y>} dmu` in R^3, `(m, 3)`, and the logarithm of the denominator.

    Queries and nodes are unit vectors, `(m, 3)` and `(n, 3)`. Time is linear in points, and like beta^4 beyond them.
    """
    count = max(1, math.ceil(0.25 * math.pi * abs(beta) / _EXTENT))
    order = 24 if 0.25 * math.pi * abs(beta) <= _MILD * count else 28
    size = 6 * (order * count) ** 2
    work = 0.35 * float(size) ** 2 + 150.0 * nodes.shape[0] + 450.0 * queries.shape[0] + 3e5
    if abs(beta) > _LARGEST or work > 0.8 * queries.shape[0] * nodes.shape[0]:
        return tilted_mean_directly(beta * queries, nodes, masses)
    half = 0.25 * math.pi / count
    along, across = Panels(0.0, half, 6 * count), Panels(0.0, half, count)
    total = float(masses.sum())
    moved = collect_in_plane(_unfolded(nodes), masses, np.zeros(2), along, across, order) / total
    values = _sum_over_points(moved, beta, count, order)
    out = interpolate_in_plane(_unfolded(queries), along, across, values, np.zeros((6 * count, count)), 4, order)
    return np.ascontiguousarray(out[1:].T), out[0] + math.log(total)


def _unfolded(points: Float) -> Float:
    """Faces side by side: `(n, 2)` in [0, 3 pi] x [0, pi / 2]."""
    out, blocks = np.empty((points.shape[0], 2)), pieces(points.shape[0], _BATCH)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        unfold(points[here], out[here])

    run_pieces(work, len(blocks))
    return out


def _frames() -> Float:
    """`(6, 3, 3)`: columns n, u, v of each face."""
    identity = np.eye(3)
    return np.stack(
        [
            np.stack([sign * identity[axis], identity[(axis + 1) % 3], identity[(axis + 2) % 3]], axis=1)
            for axis in range(3)
            for sign in (1.0, -1.0)
        ]
    )


def _face_points(count: int, order: int) -> Float:
    """`(side, side, 3)`: components along n, u, v of a face's points."""
    side = Panels(-0.25 * math.pi, 0.25 * math.pi / count, count).points(order)
    tangent = np.tan(side)
    first, second = np.broadcast_arrays(tangent[:, None], tangent[None, :])
    points = np.stack([np.ones_like(first), first, second], axis=-1)
    return points / np.sqrt((points**2).sum(axis=-1, keepdims=True))


def _seen_from(frame: Float, frames: Float, field: Float) -> Float:
    """The field `(6, side, side)` carried along by the rotation that takes `frame` to the first face's frame.

    Panels and their points lie symmetrically about a face's middle, so turning a face permutes them.
    """
    turn = frames[0] @ frame.T
    out = np.empty_like(field)
    for face, axes in enumerate(frames):
        normal, first, second = (turn @ axes).T
        target = int(np.argmax(frames[:, :, 0] @ normal))
        here = field[face]
        if abs(first @ frames[target, :, 1]) < 0.5:
            here, first, second = here.T, second, first
        if first @ frames[target, :, 1] < 0.0:
            here = here[::-1]
        if second @ frames[target, :, 2] < 0.0:
            here = here[:, ::-1]
        out[target] = here
    return out


def _sum_over_points(moved: Float, beta: float, count: int, order: int) -> Float:
    """`(6 * count, count, 4 * order^2)`: M and M times the mean at the points of all panels."""
    side = order * count
    frames, local = _frames(), _face_points(count, order)
    masses = moved.reshape(6, side, side)
    positions = np.einsum("fab,ijb->afij", frames, local)
    left = np.empty((24, 6 * side * side))
    for face in range(6):
        for part in range(4):
            field = masses if part == 0 else masses * positions[part - 1]
            left[4 * face + part] = _seen_from(frames[face], frames, field).ravel()
    sources = np.ascontiguousarray(positions.reshape(3, -1))
    targets = np.ascontiguousarray(frames[0] @ local.reshape(-1, 3).T)
    out, blocks = np.empty((24, side * side)), pieces(side * side, 288)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        sums = np.zeros((24, blocks[piece][1] - blocks[piece][0]))
        sum_for_faces(left, beta * sources, targets[:, here].copy(), sums)
        out[:, here] = sums

    run_pieces(work, len(blocks))
    split = out.reshape(6, 4, count, order, count, order).transpose(0, 2, 4, 1, 3, 5)
    return np.ascontiguousarray(split).reshape(6 * count, count, 4 * order**2)
