"""Interactions of a density on a lattice, by convolution with what acts between its nodes.

Where W is smooth on the scale of the cells, `sum_j m_j F(x - y_j)` is as accurate as the nodes are. On the line a W
with kinks, or structure between the nodes, is integrated against the polynomials that interpolate the density,

    int F(x_i - y) rho(y) dy = sum_j m_j F_{i-j},      F_n = sum_k int_0^1 F(h (n + k - t)) l_k(t) dt,

with Gauss points on both sides of every kink: of order sixteen wherever the kinks are. In the plane that is done wave
by wave (`lattice_waves`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.attention.grid_sums import spacing_of
from mfpde.attention.lattice_waves import Torus, Window, convolved_by_waves, torus_of
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.attention.pair_tables import tables_of
from mfpde.geometry import Geometry, Lattice, Queries
from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform.lattice_kernels import act_on_differences, integrate_stencils
from mfpde.transform.piecewise import Piecewise
from mfpde.transform.regular_grid import (
    STENCIL,
    STENCIL_NODES,
    STENCIL_WEIGHTS,
    lagrange_basis,
)
from mfpde.typing import AnyArray, Float

__all__ = [
    "LATTICE_RULE",
    "LATTICE_STENCIL",
    "acting_between",
    "right_at_kinks",
    "sums_of_nodes",
    "sums_over_lattice",
    "widest_resolved",
]

_RESOLVED_SPACINGS = 2.0  # of those that interpolation needs: the plain sum over nodes is then right to rounding
_NODES_MAX = {1: 2**17, 2: 2**22}  # of both windows together, by dimension: 100 MB
_PLAIN_PAIRS_MAX = 2**18  # of nodes on the line: up to there a plain convolution is faster than transforms
_GAUSS_POINTS = 12  # between neighbouring nodes and kinks: l_k has degree 15, F is smooth


def sums_over_lattice(
    potential: PairPotential, space: Geometry, what: str, lattice: Lattice, masses: Float, queries: Queries
) -> Float | None:
    """`sum_j m_j F(x_i - y_j)`, `(parts, m)`: components of forces, values or Laplacians; None where tables, or
    windows, do not do."""
    steps, placed = lattice.steps, _placed(lattice, queries)
    window = _window(lattice, placed)
    found = _convolved(potential, space, what, steps, lattice.shape, masses, window)
    if found is None:
        return None
    if placed is None:
        return found.reshape(found.shape[0], -1)
    return placed.interpolated(found, np.array([low for low, _ in window], dtype=float))


def right_at_kinks(potential: PairPotential, space: Geometry, lattice: Lattice, queries: Queries) -> bool:
    """Whether sums over a lattice of the plane are as right as its nodes, wherever W has kinks."""
    torus, rough = _of_plane(potential, space, lattice, queries)
    return rough and _holds(torus) and tables_of(potential, space, torus.reach, "values") is not None


def sums_of_nodes(potential: PairPotential, space: Geometry, lattice: Lattice, queries: Queries) -> bool:
    """Whether sums over a lattice are those of tokens in its nodes: W has no kinks, and no structure between them."""
    if lattice.dimension == 2:
        torus, rough = _of_plane(potential, space, lattice, queries)
        return not (rough and _holds(torus))
    steps = lattice.steps
    reach = _reach(steps, lattice.shape, _window(lattice, _placed(lattice, queries)))
    return abs(float(steps[0, 0])) <= widest_resolved(potential, space, "slopes", reach)


def _of_plane(potential: PairPotential, space: Geometry, lattice: Lattice, queries: Queries) -> tuple[Torus, bool]:
    """The torus, and whether forces have kinks, or structure between the nodes."""
    steps, window = lattice.steps, _window(lattice, _placed(lattice, queries))
    torus = torus_of(potential, space, steps, lattice.shape, window)
    return torus, _is_rough(potential, space, "slopes", steps, torus)


def _padded(size: int) -> int:
    """The next size that transforms are fast for."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(size, real=True))


def _transformed(values: Float, sizes: tuple[int, ...]) -> AnyArray:
    """Along the last axes, one after the other: rows of zeros are never looked at."""
    from scipy.fft import fft, rfft

    found: AnyArray = rfft(values, sizes[-1])
    return found if len(sizes) == 1 else fft(found, sizes[0], axis=-2, overwrite_x=True)


def _restored(spectra: AnyArray, sizes: tuple[int, ...], kept: tuple[slice, ...]) -> Float:
    """What they are transforms of, as far as it is kept; spectra are overwritten."""
    from scipy.fft import ifft, irfft

    if len(sizes) == 2:
        spectra = ifft(spectra, axis=-2, overwrite_x=True)[..., kept[0], :]
    found: Float = irfft(spectra, sizes[-1])[..., kept[-1]]
    return found


def _placed(lattice: Lattice, queries: Queries) -> Queries | None:
    """Queries counted in nodes; none of the nodes themselves."""
    if queries is lattice:
        return None
    corner = lattice.origin + lattice.matrix @ np.array([axis[0] for axis in lattice.axes])
    return queries.mapped(_inverse(lattice.steps), about=corner)


def _inverse(steps: Float) -> Float:
    """Of the steps along one axis or two; a general one takes ten times as long."""
    if steps.size == 1:
        return np.asarray(1.0 / steps)
    (a, b), (c, d) = steps.tolist()
    return np.array([[d, -b], [-c, a]]) / (a * d - b * c)


def _window(lattice: Lattice, placed: Queries | None) -> Window:
    """All nodes that queries are interpolated from, or of the lattice."""
    if placed is None:
        return tuple((0, count) for count in lattice.shape)
    around = STENCIL // 2
    return tuple((math.floor(low) - around, math.ceil(high) + around + 1) for low, high in placed.ends())


def _convolved(
    potential: PairPotential,
    space: Geometry,
    what: str,
    steps: Float,
    shape: tuple[int, ...],
    masses: Float,
    window: Window,
) -> Float | None:
    """At the nodes of the window, `(parts, *window)`, which are counted from the first of the lattice."""
    if len(shape) == 2:
        torus = torus_of(potential, space, steps, shape, window)
        if _holds(torus) and (torus.ends or _is_rough(potential, space, what, steps, torus)):
            return convolved_by_waves(potential, space, what, steps, masses.reshape(shape), window, torus)
    sizes = tuple(count + stop - start - 1 for count, (start, stop) in zip(shape, window, strict=True))
    if math.prod(sizes) > _NODES_MAX[len(shape)]:
        return None
    stretch = potential, space, what, steps.tobytes(), shape, window
    if len(shape) == 1 and shape[0] * (sizes[0] + 1 - shape[0]) <= _PLAIN_PAIRS_MAX:
        acting = acting_between(*stretch)
        return None if acting is None else np.convolve(masses, acting[0], "valid")[None]
    spectra = _spectra(*stretch)
    if spectra is None:
        return None
    lengths = tuple(map(_padded, sizes))
    moved = spectra * _transformed(masses.reshape(shape), lengths)
    kept = tuple(slice(count - 1, size) for count, size in zip(shape, sizes, strict=True))
    return np.ascontiguousarray(_restored(moved, lengths, kept))


@lru_cache(maxsize=16)
def _spectra(
    potential: PairPotential, space: Geometry, what: str, steps: bytes, shape: tuple[int, ...], window: Window
) -> AnyArray | None:
    """Of what acts."""
    acting = acting_between(potential, space, what, steps, shape, window)
    if acting is None:
        return None
    lengths = tuple(map(_padded, acting.shape[1:]))
    return _transformed(acting, lengths)


@lru_cache(maxsize=16)
def acting_between(
    potential: PairPotential, space: Geometry, what: str, steps: bytes, shape: tuple[int, ...], window: Window
) -> Float | None:
    """Between nodes of the lattice and of the window, from the farthest before to the farthest after,
    `(parts, *sizes)`."""
    matrix = np.frombuffer(steps).reshape(len(shape), len(shape))
    reach, first = _reach(matrix, shape, window), _first(shape, window)
    sizes = tuple(stop - begin for begin, (_, stop) in zip(first, window, strict=True))
    tables = tables_of(potential, space, reach, what)
    if tables is None:
        return None
    acting, odd = np.empty((len(shape) if what == "slopes" else 1, *sizes)), what == "slopes"
    radial = all(2 * begin == 1 - size for begin, size in zip(first, sizes, strict=True))
    if len(shape) == 1 and abs(matrix[0, 0]) > widest_resolved(potential, space, what, reach):
        begun = sizes[0] // 2 if radial else 0  # half of them are mirrored
        width = float(matrix[0, 0])
        _integrate(tables[0], kinks_of(potential, reach), width, first[0] + begun, odd, acting[0, begun:])
        acting[0, :begun] = (-1.0 if odd else 1.0) * acting[0, : sizes[0] - begun - 1 : -1]
    else:
        starts, out = np.array(first, dtype=float), acting
        if len(shape) == 1:  # a plane with one row
            matrix, starts, out = np.diag([0.0, matrix[0, 0]]), np.array([0.0, starts[0]]), acting[:, None]
        act_on_differences(tables[0], matrix, starts, radial, odd, out)
    return acting


def _first(shape: tuple[int, ...], window: Window) -> list[int]:
    """The farthest before, counted in nodes."""
    return [start - count + 1 for count, (start, _) in zip(shape, window, strict=True)]


def _reach(steps: Float, shape: tuple[int, ...], window: Window) -> float:
    """A power of two beyond all distances."""
    after = np.array([stop for _, stop in window])
    farthest = np.maximum(np.abs(_first(shape, window)), after) + STENCIL
    return float(2.0 ** math.ceil(math.log2(float(np.linalg.norm(np.abs(steps) @ farthest)))))


def _holds(torus: Torus) -> bool:
    """Whether it is not too large."""
    return math.prod(torus.sizes) <= _NODES_MAX[2]


def _is_rough(potential: PairPotential, space: Geometry, what: str, steps: Float, torus: Torus) -> bool:
    """Whether W has kinks, or structure between the nodes of the plane."""
    return float(np.linalg.norm(steps, 2)) > widest_resolved(potential, space, what, torus.reach)


def widest_resolved(potential: PairPotential, space: Geometry, what: str, reach: float) -> float:
    """Distance of nodes up to which the sum over them is right to rounding; 0 where W has kinks."""
    spacing = spacing_of(potential, space, what, reach)
    return 0.0 if spacing is None else _RESOLVED_SPACINGS * spacing


def _integrate(table: Piecewise, kinks: Float, width: float, first: int, odd: bool, out: Float) -> None:
    """out = `F_n` for consecutive n from the first."""
    cells = kinks / abs(width)
    both = np.concatenate([-cells[::-1], cells])
    room = np.empty(2 * STENCIL)
    integrate_stencils(table, width, first, both, odd, LATTICE_RULE, LATTICE_STENCIL, room, out)


_POINTS, _SHARES = gauss_legendre(_GAUSS_POINTS)
LATTICE_RULE = _POINTS, _SHARES, np.ascontiguousarray((lagrange_basis(0.5 * (1 + _POINTS)) * _SHARES).T)
LATTICE_STENCIL = STENCIL_NODES, STENCIL_WEIGHTS
