"""Interactions with kinks of a density on a lattice of the plane, by Fourier transforms of W itself.

A density that its nodes resolve is the sum of waves through its values, on a torus so wide that W does not reach around
it. A convolution with W multiplies each wave by

    W^(k) = 2 pi int_0^R (W(r) - W(R)) r J_0(|k| r) dr,

and is as accurate as the waves are, wherever W has kinks. R: where W ends, or beyond all distances.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.attention.pair_tables import tables_of
from mfpde.geometry import Geometry
from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform.chebyshev import chebyshev_points
from mfpde.transform.regular_grid import STENCIL, RegularGrid, interpolated
from mfpde.transform.wave_kernels import multiply_waves, wave_factors
from mfpde.typing import AnyArray, Float

__all__ = ["Torus", "Window", "convolved_by_waves", "padded", "restored", "torus_of", "transformed"]

_REACHES_PER_OCTAVE = 8  # of W that does not end: tables last while frames move
_SPACING = 0.34  # of |k| R between nodes of W^: interpolation of degree 15 leaves 1e-13 of W^(0)
_COEFFICIENTS = 8  # of a polynomial on each interval between them: 1e-13 of W^(0) as well
_TO_POWERS = np.linalg.inv(np.vander(chebyshev_points(_COEFFICIENTS), increasing=True))  # from its values
_PANEL_PHASE, _PANEL_POINTS = 40.0, 48  # |k| times the length of the longest panel, which so many Gauss points do
_WAVES_PER_BLOCK = 256  # of W^, at once
_DERIVATIVES = {"values": 0, "slopes": 1, "laplacians": 2}  # of W, by what is asked
_END_SAMPLES = 64  # of the slope of W beyond its last kink

#: a first node and one after the last, along each axis
Window = tuple[tuple[int, int], ...]
#: nodes of the torus along both axes, and R
Torus = tuple[tuple[int, int], float]


def padded(size: int) -> int:
    """The next size that transforms are fast for."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(size, real=True))


def transformed(values: Float, sizes: tuple[int, ...]) -> AnyArray:
    """Along the last axes, one after the other: rows of zeros are never looked at."""
    from scipy.fft import fft, rfft

    found: AnyArray = rfft(values, sizes[-1])
    return found if len(sizes) == 1 else fft(found, sizes[0], axis=-2, overwrite_x=True)


def restored(spectra: AnyArray, sizes: tuple[int, ...], kept: tuple[slice, ...]) -> Float:
    """What they are transforms of, as far as it is kept; spectra are overwritten."""
    from scipy.fft import ifft, irfft

    if len(sizes) == 2:
        spectra = ifft(spectra, axis=-2, overwrite_x=True)[..., kept[0], :]
    found: Float = irfft(spectra, sizes[-1])[..., kept[-1]]
    return found


def torus_of(potential: PairPotential, steps: Float, shape: tuple[int, ...], window: Window) -> Torus:
    """On which masses on a lattice of that shape, whose nodes lie those steps apart, act on the nodes of a window."""
    far = np.array([max(stop - 1, count - 1 - start) for count, (start, stop) in zip(shape, window, strict=True)])
    longest = float(np.linalg.norm(np.abs(steps) @ far))
    octaves = math.ceil(_REACHES_PER_OCTAVE * math.log2(longest))
    reach = _end_of(potential, 2.0 ** (octaves / _REACHES_PER_OCTAVE))
    around = reach * np.linalg.norm(np.linalg.inv(steps), axis=1)
    first, second = (padded(math.ceil(float(size)) + 1) for size in far + around)
    return (first, second), reach


@lru_cache(maxsize=64)
def _end_of(potential: PairPotential, reach: float) -> float:
    """Where W ends: its last kink if it is constant from there on, or the reach."""
    kinks = kinks_of(potential, reach)
    if kinks.size == 0:
        return reach
    beyond = np.linspace(kinks[-1], reach, _END_SAMPLES + 2)[1:-1]
    slopes = potential.jets(beyond, np.zeros(beyond.shape, dtype=bool))[1]
    return reach if slopes.any() else float(kinks[-1])


def convolved_by_waves(
    potential: PairPotential, space: Geometry, what: str, steps: Float, masses: Float, window: Window, torus: Torus
) -> Float | None:
    """At the nodes of the window, `(parts, *window)`; masses `(rows, columns)`. None where W is too rough for
    tables."""
    sizes, reach = torus
    factors = _factors(potential, space, steps.tobytes(), torus)
    if factors is None:
        return None
    spectrum = transformed(masses, sizes)
    ahead = _ahead(window, sizes)
    if ahead is not None:
        spectrum *= ahead
    derivatives = _DERIVATIVES[what]
    moved = np.empty((2 if derivatives == 1 else 1, *spectrum.shape), dtype=complex)
    multiply_waves(factors, np.linalg.inv(steps).astype(float), sizes[1], derivatives, spectrum, moved)
    kept = tuple(slice(0, stop - start) for start, stop in window)
    found = np.ascontiguousarray(restored(moved, sizes, kept))
    if what == "values":
        found += _value(potential, reach) * float(masses.sum())
    return found


@lru_cache(maxsize=64)
def _ahead(window: Window, sizes: tuple[int, ...]) -> AnyArray | None:
    """What makes the first node of a window that of the torus; None where it is."""
    if not any(start for start, _ in window):
        return None
    turns = np.fft.fftfreq(sizes[0]), np.fft.rfftfreq(sizes[1])
    phases = [np.exp(2j * np.pi * start * each) for (start, _), each in zip(window, turns, strict=True)]
    return np.asarray(np.multiply.outer(*phases))


@lru_cache(maxsize=16)
def _factors(potential: PairPotential, space: Geometry, steps: bytes, torus: Torus) -> Float | None:
    """`W^(k)` over the area of a cell, for the waves of masses."""
    sizes, reach = torus
    matrix = np.frombuffer(steps).reshape(2, 2)
    inverse = np.linalg.inv(matrix).astype(float)
    highest = 2.0 ** math.ceil(math.log2(np.pi * float(np.linalg.norm(np.abs(inverse).sum(axis=0)))))
    table = _transform_of(potential, space, reach, highest)
    if table is None:
        return None
    out = np.empty((sizes[0], sizes[1] // 2 + 1))
    wave_factors(table, _SPACING / reach, inverse, sizes[1], out)
    out /= abs(float(np.linalg.det(matrix)))
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
