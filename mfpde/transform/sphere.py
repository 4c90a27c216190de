"""Queries and nodes on the sphere S^2, `e^{beta <x, y>}`.

The six faces of a cube, in equal angles, carry panels of Chebyshev points. Point masses move to those points, the sum
over pairs of points is direct, queries interpolate. A symmetry of the cube takes any quarter of a face to any other, so
one matrix of exponentials, a quarter of the first face against all points, serves all twenty-four.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.transform.chebyshev import Panels, interpolation_matrix
from mfpde.transform.cube import face_points, frames, turned_to_first
from mfpde.transform.direct import log_masses_of, plain, tilted_mean_directly
from mfpde.transform.plane import collect_in_plane, interpolate_in_plane
from mfpde.transform.products import multiply
from mfpde.transform.sphere_kernels import fold, gather, sum_folded, sum_for_faces, unfold
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_mean_on_sphere"]

# points along a panel's side and the largest beta times half a side for them; a whole face needs 24 in any case
_WHOLE = ((24, 2.2), (28, 3.9), (32, 4.8), (36, 5.5))
_DIVIDED = ((16, 1.5), (20, 2.4), (24, 3.2), (28, 3.9))
_FINE, _FINE_EXTENT = 12, 0.65  # the same for the small panels that points and queries meet
_FOLDED = 4.2  # beta up to which even and odd parts are summed apart, a quarter of the work: it costs e^{1.6 beta}
_LARGEST = 300.0  # e^{2 beta} must be a number
_BATCH = 1 << 14


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
    work = 0.35 * float(size) ** 2 + 80.0 * nodes.shape[0] + 200.0 * queries.shape[0] + 1e6
    if abs(beta) > _LARGEST or work > 0.8 * queries.shape[0] * nodes.shape[0]:
        return tilted_mean_directly(beta * queries, nodes, masses, log_factors)
    parts = max(math.ceil(7 / count), math.ceil(0.25 * math.pi * abs(beta) / (_FINE_EXTENT * count)))
    half = 0.25 * math.pi / (count * parts)
    along, across = Panels(0.0, half, 6 * count * parts), Panels(0.0, half, count * parts)
    refine = _refinement(order, parts)
    scaled, common = _over_the_largest(masses, log_factors)
    moved = collect_in_plane(_unfolded(nodes), scaled, np.zeros(2), along, across, _FINE)
    fine = moved.reshape(6, count, parts * _FINE, count, parts * _FINE)
    coarse = _along(refine.T, _along(refine.T, fine, 2), 4)
    sums = _sum_over_points(coarse, beta, count, order)
    values = _by_panels(_along(refine, _along(refine, sums, 3), 5), count, parts)
    out = interpolate_in_plane(_unfolded(queries), along, across, values, np.zeros(values.shape[:2]), 4, _FINE)
    return np.ascontiguousarray(out[1:].T), out[0] + common


def _over_the_largest(masses: Float, log_factors: Float | None) -> tuple[Float, float]:
    """Masses over the largest, and its logarithm: exponents differ by 2 beta at most, so that what is nothing beside
    the largest mass is nothing for every query."""
    if log_factors is None:
        largest = float(masses.max())
        return masses / largest, math.log(largest)
    log_masses = log_masses_of(masses, log_factors)
    return np.exp(log_masses - log_masses.max()), float(log_masses.max())


def _layout(beta: float) -> tuple[int, int]:
    """Panels along a side of a face and points along a panel: the fewest points in all."""
    reach = 0.25 * math.pi * beta
    layouts = [(1, order) for order, most in _WHOLE if reach <= most]
    layouts += [(max(2, math.ceil(reach / most)), order) for order, most in _DIVIDED]
    return min(layouts, key=lambda layout: layout[0] * layout[1])


def _unfolded(points: Float) -> Float:
    """Faces side by side: `(n, 2)` in [0, 3 pi] x [0, pi / 2]."""
    out, blocks = np.empty((points.shape[0], 2)), pieces(points.shape[0], _BATCH)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        unfold(points[here], out[here])

    run_pieces(work, len(blocks))
    return out


def _sum_over_points(moved: Float, beta: float, count: int, order: int) -> Float:
    """`(6, 4, count, order, count, order)`: M and M times the mean at the points of all panels."""
    side, quarter = order * count, order * count // 2
    axes, local = frames(), face_points(count, order)
    positions = np.einsum("fab,ijb->afij", axes, local).reshape(3, -1)
    masses = moved.reshape(-1)
    left = np.empty((96, masses.size))
    gather(np.concatenate([masses[None], masses * positions]), turned_to_first(side), left)
    targets = axes[0] @ local[:quarter, :quarter].reshape(-1, 3).T
    folded = abs(beta) <= _FOLDED
    if folded:
        there = np.flatnonzero((positions[1] > 0.0) & (positions[2] > 0.0))
        fold(left)
        classes = left.reshape(6, 4, 4, -1)[..., there].transpose(1, 0, 2, 3).reshape(4, 24, -1)
        positions = positions[:, there]
    sources, out = beta * positions, np.empty((96, quarter * quarter))
    blocks = pieces(quarter * quarter, 112)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        columns = np.ascontiguousarray(targets[:, here])
        if folded:
            by_class = np.zeros((4, 24, columns.shape[1]))
            sum_folded(classes, sources, columns, by_class)
            sums = np.ascontiguousarray(by_class.reshape(4, 6, 4, -1).transpose(1, 0, 2, 3)).reshape(96, -1)
            fold(sums)
        else:
            sums = np.zeros((96, columns.shape[1]))
            sum_for_faces(left, sources, columns, sums)
        out[:, here] = sums

    run_pieces(work, len(blocks))
    parts = out.reshape(6, 2, 2, 4, quarter, quarter)
    whole = np.empty((6, 4, side, side))
    whole[:, :, :quarter, :quarter] = parts[:, 0, 0]
    whole[:, :, :quarter, quarter:] = parts[:, 0, 1, :, :, ::-1]
    whole[:, :, quarter:, :quarter] = parts[:, 1, 0, :, ::-1]
    whole[:, :, quarter:, quarter:] = parts[:, 1, 1, :, ::-1, ::-1]
    return whole.reshape(6, 4, count, order, count, order)


def _refinement(order: int, parts: int) -> Float:
    """From a panel's points to the points of its `parts` equal parts: interpolation, and transposed anterpolation.

    Points and queries meet small panels of few points, the sum over pairs large panels with the fewest points in all.
    """
    fine = Panels(-1.0, 1.0 / parts, parts).points(_FINE)
    return interpolation_matrix(order, fine)


def _along(matrix: Float, field: Float, axis: int) -> Float:
    moved = np.moveaxis(field, axis, 0)
    out = np.empty((matrix.shape[0], moved[0].size))
    multiply(np.ascontiguousarray(matrix), np.ascontiguousarray(moved).reshape(matrix.shape[1], -1), out)
    return np.moveaxis(out.reshape(matrix.shape[0], *moved.shape[1:]), 0, axis)


def _by_panels(sums: Float, count: int, parts: int) -> Float:
    """`(6, 4, count, parts * points, count, parts * points)` to one row of values for each small panel."""
    split = sums.reshape(6, 4, count * parts, _FINE, count * parts, _FINE).transpose(0, 2, 4, 1, 3, 5)
    return np.ascontiguousarray(split).reshape(6 * count * parts, count * parts, 4 * _FINE**2)
