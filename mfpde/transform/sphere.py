"""Queries and nodes on the sphere S^2, `e^{beta <x, y>}`.

The six faces of a cube, in equal angles, carry panels of Chebyshev points. Point masses move to those points, the sum
over pairs of points is direct, queries interpolate. A symmetry of the cube takes any quarter of a face to any other, so
one matrix of exponentials, a quarter of the first face against all points, serves all twenty-four.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.ranks import shared
from mfpde.transform.chebyshev import Panels, interpolation_matrix
from mfpde.transform.cube import face_points, frames, octant, rotated_to_first
from mfpde.transform.direct import counts_of, log_masses_of, over_largest, plain, tilted_mean_directly
from mfpde.transform.plane import collect_in_plane, interpolate_in_plane
from mfpde.transform.products import multiply
from mfpde.transform.sphere_kernels import gather, gather_octant, sum_for_faces, sum_for_octant, unfold, walsh
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_mean_on_sphere"]

# Chebyshev points along a panel's side, and the largest beta times its half-width; a whole face needs 24 in any case
_WHOLE_FACE_ORDERS = ((24, 2.2), (28, 3.9), (32, 4.8), (36, 5.5))
_DIVIDED_FACE_ORDERS = ((16, 1.5), (20, 2.4), (24, 3.2), (28, 3.9))  # of faces cut into panels
_FINE_ORDER, _FINE_MAX_EXPONENT = 16, 1.6  # the same for the small panels, between which points and queries interpolate
_MAX_BETA_BY_PARITY = 4.8  # sums by even and odd parts, a quarter of the work, multiply roundoff by e^{1.6 beta}
_TARGETS_PER_PIECE = 112  # columns of a matrix product
_MAX_BETA = 300.0  # e^{2 beta} must not overflow
_POINTS_PER_PIECE = 1 << 14  # whose numbers stay in the cache


def tilted_mean_on_sphere(
    beta: float, queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`int e^{beta <x,y>} y dmu / int e^{beta <x,y>} dmu` in R^3, `(m, 3)`, and the logarithm of the denominator.

    Queries and nodes are unit vectors, `(m, 3)` and `(n, 3)`; mu has `m_j e^{f_j}` at node j (log_factors f, 0 if
    None). Time is linear in points, and like beta^4 beyond them.
    """
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    count, order = _layout(abs(beta))
    size = 6 * (order * count) ** 2
    asked, summed = counts_of(queries, nodes)
    work = 0.35 * float(size) ** 2 + 80.0 * summed + 200.0 * asked + 1e6
    if abs(beta) > _MAX_BETA or work > 0.8 * asked * summed:
        return tilted_mean_directly(beta * queries, nodes, masses, log_factors)
    parts = max(math.ceil(3 / count), math.ceil(0.25 * math.pi * abs(beta) / (_FINE_MAX_EXPONENT * count)))
    half = 0.25 * math.pi / (count * parts)
    along, across = Panels(0.0, half, 6 * count * parts), Panels(0.0, half, count * parts)
    refine = _refinement(order, parts)
    scaled, common = _over_the_largest(masses, log_factors)
    places = _unfolded(nodes)
    moved = collect_in_plane(places, scaled, np.zeros(2), along, across, _FINE_ORDER)
    fine = moved.reshape(6, count, parts * _FINE_ORDER, count, parts * _FINE_ORDER)
    coarse = _along(refine.T, _along(refine.T, fine, 2), 4)
    sums = _sum_over_points(coarse, beta, count, order)
    values = _by_panels(_along(refine, _along(refine, sums, 3), 5), count, parts)
    places = places if queries is nodes else _unfolded(queries)
    out = interpolate_in_plane(places, along, across, values, np.zeros(values.shape[:2]), 4, _FINE_ORDER)
    return np.ascontiguousarray(out[1:].T), out[0] + common


def _over_the_largest(masses: Float, log_factors: Float | None) -> tuple[Float, float]:
    """Masses over the largest, and its logarithm: exponents differ by 2 beta at most, so that masses that underflow
    here are negligible for every query."""
    if log_factors is None:
        largest = shared().most(float(masses.max(initial=0.0)))
        return masses / largest, math.log(largest)
    log_factors, common = over_largest(log_factors)
    log_masses = log_masses_of(masses, log_factors)
    largest = shared().most(float(log_masses.max(initial=-np.inf)))
    return np.exp(log_masses - largest), largest + common


def _layout(beta: float) -> tuple[int, int]:
    """Panels along a side of a face and points along a panel: the fewest points in all."""
    reach = 0.25 * math.pi * beta
    layouts = [(1, order) for order, most in _WHOLE_FACE_ORDERS if reach <= most]
    layouts += [(max(2, math.ceil(reach / most)), order) for order, most in _DIVIDED_FACE_ORDERS]
    return min(layouts, key=lambda layout: layout[0] * layout[1])


def _unfolded(points: Float) -> Float:
    """Faces side by side: `(n, 2)` in [0, 3 pi] x [0, pi / 2]."""
    out, blocks = np.empty((points.shape[0], 2)), pieces(points.shape[0], _POINTS_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        unfold(points[here], out[here])

    run_pieces(work, len(blocks))
    return out


def _sum_over_points(moved: Float, beta: float, count: int, order: int) -> Float:
    """`(6, 4, count, order, count, order)`: M and M times the mean at the points of all panels."""
    side = order * count
    positions, quarter = _points(count, order)
    fields = np.empty((4, 6 * side * side))
    fields[0] = moved.ravel()
    np.multiply(fields[0], positions, out=fields[1:])
    whole = _by_reflections if abs(beta) <= _MAX_BETA_BY_PARITY else _by_faces
    return whole(fields, beta, positions, quarter, side).reshape(6, 4, count, order, count, order)


@lru_cache(maxsize=4)
def _points(count: int, order: int) -> tuple[Float, Float]:
    """All points `(3, 6 side^2)`, and the first quarter of a face's along its n, u, v: `(3, side^2 / 4)`."""
    local, half = face_points(count, order), order * count // 2
    positions = np.einsum("fab,ijb->afij", frames(), local).reshape(3, -1)
    return positions, np.ascontiguousarray(local[:half, :half].reshape(-1, 3).T)


def _by_faces(fields: Float, beta: float, positions: Float, quarter: Float, side: int) -> Float:
    """A quarter of the first face against all points, for each way to turn the cube: `(6, 4, side, side)`."""
    left, half = np.empty((96, positions.shape[1])), side // 2
    gather(fields, rotated_to_first(side), left)
    targets, sources, out = frames()[0] @ quarter, beta * positions, np.empty((96, half * half))
    blocks = pieces(half * half, _TARGETS_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        columns = np.ascontiguousarray(targets[:, here])
        sums = np.zeros((96, columns.shape[1]))
        sum_for_faces(left, sources, columns, sums)
        out[:, here] = sums

    run_pieces(work, len(blocks))
    parts = out.reshape(6, 2, 2, 4, half, half)
    whole = np.empty((6, 4, side, side))
    for u, v in np.ndindex(2, 2):
        _mirrored(whole, u, v)[:] = parts[:, u, v]
    return whole


def _by_reflections(fields: Float, beta: float, positions: Float, quarter: Float, side: int) -> Float:
    """A quarter of a face against an octant, for what is even or odd in each axis: `(6, 4, side, side)`."""
    half = side // 2
    places = octant(side)
    left = np.empty((4, 24, places.shape[2]))
    gather_octant(fields, places, left)
    walsh(left)
    sources, out = beta * positions[:, places[0, 0]], np.empty((4, 24, half * half))
    blocks = pieces(half * half, _TARGETS_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        sums = np.zeros((4, 24, here.stop - here.start))
        sum_for_octant(left, sources, np.ascontiguousarray(quarter[:, here]), sums)
        walsh(sums)
        out[:, :, here] = sums

    run_pieces(work, len(blocks))
    parts = out.reshape(2, 2, 2, 3, 4, half, half)  # reflected along z and y; the opposite face
    whole = np.empty((3, 2, 4, side, side))
    for v, u, n in np.ndindex(2, 2, 2):
        _mirrored(whole[:, n], u, v)[:] = parts[v, u, n]
    return whole.reshape(6, 4, side, side)


def _mirrored(whole: Float, u: int, v: int) -> Float:
    """A quarter of each face, seen from the face's middle as the first quarter is."""
    half = whole.shape[-1] // 2
    rows, columns = (slice(None, half - 1, -1) if mirror else slice(0, half) for mirror in (u, v))
    return whole[..., rows, columns]


def _refinement(order: int, parts: int) -> Float:
    """From a panel's points to the points of its `parts` equal parts: interpolation, and transposed anterpolation.

    Points and queries meet small panels of few points, the sum over pairs large panels with the fewest points in all.
    """
    fine = Panels(-1.0, 1.0 / parts, parts).points(_FINE_ORDER)
    return interpolation_matrix(order, fine)


def _along(matrix: Float, field: Float, axis: int) -> Float:
    moved = np.moveaxis(field, axis, 0)
    out = np.empty((matrix.shape[0], moved[0].size))
    multiply(np.ascontiguousarray(matrix), np.ascontiguousarray(moved).reshape(matrix.shape[1], -1), out)
    return np.moveaxis(out.reshape(matrix.shape[0], *moved.shape[1:]), 0, axis)


def _by_panels(sums: Float, count: int, parts: int) -> Float:
    """`(6, 4, count, parts * points, count, parts * points)` to one row of values for each small panel."""
    split = sums.reshape(6, 4, count * parts, _FINE_ORDER, count * parts, _FINE_ORDER).transpose(0, 2, 4, 1, 3, 5)
    return np.ascontiguousarray(split).reshape(6 * count * parts, count * parts, 4 * _FINE_ORDER**2)
