"""Interactions with kinks of a density on a lattice of the plane, by Fourier transforms of W itself.

A density that its nodes resolve is the sum of waves through its values, on a torus so wide that W does not reach around
it. A convolution with W multiplies each wave by

    W^(k) = 2 pi int_0^R (W(r) - W(R)) r J_0(|k| r) dr,

and is as accurate as the waves are, wherever W has kinks. R: where W ends, or beyond all distances.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_tables import tables_of
from mfpde.compilation import quick
from mfpde.geometry import Geometry
from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform import wave_kernels as kernels
from mfpde.transform.chebyshev import chebyshev_points
from mfpde.transform.regular_grid import STENCIL, RegularGrid, interpolated
from mfpde.transform.ring_fourier import ring_length, ring_roots
from mfpde.transform.threads import pieces, run_pieces, thread_count
from mfpde.transform.wave_kernels import Waves
from mfpde.typing import Float

__all__ = ["Torus", "Window", "convolved_by_waves", "torus_of"]

_REACHES_PER_OCTAVE = 8  # of W that does not end: tables last while frames move
_SLOPE_AT_END = 1e-16  # of the largest slope of W: where all are smaller, W ends
_SPACING = 0.34  # of |k| R between nodes of W^: interpolation of degree 15 leaves 1e-13 of W^(0)
_COEFFICIENTS = 8  # of a polynomial on each interval between them: 1e-13 of W^(0) as well
_TO_POWERS = np.linalg.inv(np.vander(chebyshev_points(_COEFFICIENTS), increasing=True))  # from its values
_PANEL_PHASE, _PANEL_POINTS = 40.0, 48  # |k| times the length of the longest panel, which so many Gauss points do
_WAVES_PER_BLOCK = 256  # of W^, at once
_LINES_AT_ONCE = 48  # that are transformed, so that they stay in the cache
_SHARED_NODES = 20000  # of a lattice, from which threads share the lines
_PIECES_PER_THREAD = 2  # of lines: they take the same time
_convolve, _wave_factors = quick(kernels.convolve), quick(kernels.wave_factors)

#: a first node and one after the last, along each axis
Window = tuple[tuple[int, int], ...]


class Torus(NamedTuple):
    """Nodes along both axes, R, and whether W ends there, as far as rounding shows."""

    sizes: tuple[int, int]
    reach: float
    ends: bool


def torus_of(potential: PairPotential, space: Geometry, steps: Float, shape: tuple[int, ...], window: Window) -> Torus:
    """On which masses on a lattice of that shape, whose nodes lie those steps apart, act on the nodes of a window."""
    (a, b), (c, d) = steps.tolist()
    far = [max(stop - 1, count - 1 - start) for count, (start, stop) in zip(shape, window, strict=True)]
    longest = math.hypot(abs(a) * far[0] + abs(b) * far[1], abs(c) * far[0] + abs(d) * far[1])
    octaves = math.ceil(_REACHES_PER_OCTAVE * math.log2(longest))
    reach, ends = _end_of(potential, space, 2.0 ** (octaves / _REACHES_PER_OCTAVE))
    around = reach / abs(a * d - b * c)
    first, second = far[0] + around * math.hypot(b, d), far[1] + around * math.hypot(a, c)
    return Torus((ring_length(math.ceil(first) + 1), ring_length(math.ceil(second) + 1)), reach, ends)


@lru_cache(maxsize=64)
def _end_of(potential: PairPotential, space: Geometry, reach: float) -> tuple[float, bool]:
    """Where W ends: its last kink if it is constant from there on, or where its slopes are none but for rounding; or
    the reach."""
    tables = tables_of(potential, space, reach, "slopes")
    if tables is None:
        return reach, False
    sizes, ends = np.abs(tables[0].coefficients).sum(axis=1), tables[0].ends
    seen = sizes > _SLOPE_AT_END * sizes.max()
    last = float(ends[np.flatnonzero(seen)[-1]]) if seen.any() else reach
    if not last < reach:
        return reach, False
    if not sizes[ends > last].any():
        return last, True
    octaves = math.ceil(_REACHES_PER_OCTAVE * math.log2(last))
    return min(reach, 2.0 ** (octaves / _REACHES_PER_OCTAVE)), True


def convolved_by_waves(
    potential: PairPotential, space: Geometry, what: str, steps: Float, masses: Float, window: Window, torus: Torus
) -> Float | None:
    """At the nodes of the window, `(parts, *window)`; masses `(rows, columns)`. None where W is too rough for
    tables."""
    (a, b), (c, d) = steps.tolist()
    slopes, area = what == "slopes", a * d - b * c
    inverse = d / area, -b / area, -c / area, a / area
    factors = _factors(potential, space, inverse, torus, what == "laplacians")
    if factors is None:
        return None
    rows, columns = torus.sizes
    waves = Waves(_roots(rows), _roots(columns), np.array(inverse).reshape(2, 2), factors, slopes)
    found = np.empty((2 if slopes else 1, *(stop - start for start, stop in window)))
    _convolved(np.ascontiguousarray(masses), (-window[0][0], -window[1][0]), waves, found)
    if what == "values":
        found += _value(potential, torus.reach) * float(masses.sum())
    return found


_roots = lru_cache(maxsize=64)(ring_roots)


def _convolved(masses: Float, begins: tuple[int, int], waves: Waves, out: Float) -> None:
    """out = the convolution of masses that begin there, threads sharing the lines of large lattices."""
    columns, kept, count = masses.shape[1], out.shape[2], waves.factors.shape[1]
    between = np.empty((2, columns, count)), np.empty((len(out), 2, kept, count))
    numbers = 4 * _LINES_AT_ONCE * max(waves.row_roots.shape[1], waves.column_roots.shape[1])

    def call(kind: int, first: int = 0, stop: int = 0) -> None:
        rooms = *between, np.empty((2, numbers))
        _convolve(kind, first, stop, _LINES_AT_ONCE, masses, begins, waves, rooms, out)

    def share(kind: int, stretches: list[tuple[int, int]]) -> None:
        run_pieces(lambda piece: call(kind, *stretches[piece]), len(stretches))

    if masses.size < _SHARED_NODES or thread_count() == 1:
        call(kernels.ALL)
        return
    for kind in (kernels.ANALYSE, kernels.ACT, kernels.RESTORE):
        lines = kernels.lines_of(kind, columns, kept, count)
        share(kind, pieces(lines, -(-lines // (_PIECES_PER_THREAD * thread_count()))))


@lru_cache(maxsize=16)
def _factors(
    potential: PairPotential, space: Geometry, inverse: tuple[float, ...], torus: Torus, laplacian: bool
) -> Float | None:
    """`W^(k)`, or that of its Laplacian, over the area of a cell, for the waves of masses."""
    a, b, c, d = inverse
    octaves = math.ceil(math.log2(math.pi * math.hypot(abs(a) + abs(c), abs(b) + abs(d))))
    table = _transform_of(potential, space, torus.reach, 2.0**octaves)
    if table is None:
        return None
    out, rows = np.empty((torus.sizes[1], torus.sizes[0] // 2 + 1)), torus.sizes[0]
    matrix, scale = np.array(inverse).reshape(2, 2), abs(a * d - b * c)
    _wave_factors(table, _SPACING / torus.reach, matrix, rows, scale, laplacian, out)
    return out


@lru_cache(maxsize=16)
def _transform_of(potential: PairPotential, space: Geometry, reach: float, highest: float) -> Float | None:
    """W^ in intervals of |k| from 0 to beyond the highest, by coefficients of powers (`wave_factors`)."""
    tables = tables_of(potential, space, reach, "values")
    if tables is None:
        return None
    from scipy.special import j0

    ends, longest = np.append(0.0, tables[0].ends), _PANEL_PHASE / highest
    parts = np.maximum(np.ceil(np.diff(ends) / longest), 1).astype(int)
    cuts = [np.linspace(a, b, count + 1)[:-1] for a, b, count in zip(ends[:-1], ends[1:], parts, strict=True)]
    low = np.concatenate(cuts)
    lengths = np.diff(np.append(low, ends[-1]))[:, None]
    points, shares = gauss_legendre(_PANEL_POINTS)
    r = (low[:, None] + 0.5 * lengths * (1 + points)).ravel()
    values = potential.jets(r, np.zeros(r.shape, dtype=bool))[0] - _value(potential, reach)
    measured = 2 * np.pi * r * (lengths * shares).ravel() * values
    spacing = _SPACING / reach
    count = math.ceil(highest / spacing)
    k = spacing * (np.arange(count + STENCIL + 1) - STENCIL // 2)
    blocks = [k[start : start + _WAVES_PER_BLOCK] for start in range(0, k.size, _WAVES_PER_BLOCK)]
    # by einsum, not BLAS, whose bits depend on the number of threads
    found = np.concatenate([np.einsum("kr,r->k", j0(np.multiply.outer(block, r)), measured) for block in blocks])
    within = spacing * (np.arange(count)[:, None] + 0.5 + 0.5 * chebyshev_points(_COEFFICIENTS))
    grid = RegularGrid(np.array(k[0]), spacing, found.shape)
    values = interpolated(within.reshape(-1, 1), found[None], grid).reshape(within.shape)
    return np.ascontiguousarray(np.einsum("iv,cv->ic", values, _TO_POWERS))


def _value(potential: PairPotential, r: float) -> float:
    """W at a distance."""
    return float(potential.jets(np.array([r]), np.zeros(1, dtype=bool))[0][0])
