"""Search for the numerical support of a density on R or R^2: a box, and panels with a small share of the mass each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure.adaptive_quadrature import Items, OfItems, split
from mfpde.measure.edge_search import crossings
from mfpde.measure.rules import tensor
from mfpde.measure.written_density import WrittenDensity
from mfpde.typing import Float, Truths

__all__ = ["Support", "beside", "find_support"]


#: densities below this share of the peak count as zero; it is tiny because factors e^{<w, y>} amplify tails
FLOOR = {1: 1e-280, 2: 1e-62}
_OCTAVES = {1: 26, 2: 16}  # beyond |x| = 16
_SAMPLES_PER_OCTAVE = {1: 256, 2: 24}  # beyond |x| = 16
_CENTRAL_SAMPLES = {1: 4097, 2: 129}  # from -16 to 16
_ZOOM_SAMPLES = {1: 4097, 2: 385}  # along a side, of a smaller box
_MIN_SAMPLES_INSIDE = 48  # along a side, with a positive density, that suffice
_MAX_ZOOMS = 60  # more than doubles can distinguish
_MAX_OUTER_MASS = 1e-14  # share of the mass in the outermost octave, above which the mass counts as infinite
_MAX_PANEL_MASS = {1: 1 / 16, 2: 1 / 8}  # share
_MAX_PANEL_WIDTH = {1: 1.0, 2: 8.0}  # in standard deviations
_MIN_PANELS = 8  # along an axis
_MAX_PANELS = {1: 256, 2: 64}  # along an axis
_MARGIN_SHARE = 1e-3  # of the box, added at each end so that edges lie inside
_EDGE_DENSITY = 1e-60  # of the peak: a density that ends above it has an edge there
_BORDER_SAMPLES = 1024  # along a side of the box, between which what crosses it is looked for
_WIDENING = 1 / 32  # of the box, at an end that is crossed
_MAX_WIDENINGS = 500  # from 1 to 1e6


@dataclass(frozen=True)
class Support:
    """The box `low`, `high` `(d,)`; standard deviations; the peak; for each axis the ends of panels; whether there is
    nothing beyond the box; whether the density sinks slower there than any exponential."""

    low: Float
    high: Float
    deviation: Float
    peak: float
    breaks: tuple[Float, ...]
    compact: bool
    heavy: bool

    @property
    def floor(self) -> float:
        """Absolute error of values; tails have a relative one."""
        return float(np.finfo(float).eps) * self.peak if self.compact else 0.0

    @property
    def panel(self) -> Float:
        """Widest panels, `(d,)`."""
        return np.array([np.diff(ends).max() for ends in self.breaks])


def find_support(density: WrittenDensity, dimension: int) -> Support:
    """By samples that are refined around positive values. Peaks narrower than 0.01 (0.3 in the plane) and than 1/300
    (1/30) of their distance to the origin may be missed."""
    axes = [_everywhere(dimension)] * dimension
    values = _sampled(density, axes)
    heavy = _reaches_out(values, FLOOR[dimension])
    if heavy:
        _need_finite_mass(values, axes)
    for _ in range(_MAX_ZOOMS):
        spans = _trimmed(values, axes) if heavy else _spans(values, FLOOR[dimension])
        if heavy or min(last - first for first, last in spans) >= _MIN_SAMPLES_INSIDE:
            break
        axes = [
            np.linspace(axis[max(first - 1, 0)], axis[min(last + 1, axis.size - 1)], _ZOOM_SAMPLES[dimension])
            for axis, (first, last) in zip(axes, spans, strict=True)
        ]
        values = _sampled(density, axes)
    ends = [(max(first - 1, 0), min(last + 1, axis.size - 1)) for axis, (first, last) in zip(axes, spans, strict=True)]
    inside = values[tuple(slice(first, last + 1) for first, last in ends)]
    axes = [axis[first : last + 1] for axis, (first, last) in zip(axes, ends, strict=True)]
    peak = float(values.max())
    sharp = not heavy and float(values[values > 0].min()) > _EDGE_DENSITY * peak
    low, high = (np.array([axis[k] for axis in axes]) for k in (0, -1))
    if sharp and dimension == 2:
        low, high, crossed = _around(density, low, high)
        if crossed:
            axes = [np.linspace(*ends, _ZOOM_SAMPLES[dimension]) for ends in zip(low, high, strict=True)]
            inside = _sampled(density, axes)
    margin = _MARGIN_SHARE * (high - low)
    low, high = low - margin, high + margin
    marginals = _marginals(inside, axes)
    deviation = np.array([_deviation(mass, axis) for mass, axis in zip(marginals, axes, strict=True)])
    breaks = tuple(
        _breaks(mass, axis, (low[k], high[k]), dimension, _MAX_PANEL_WIDTH[dimension] * deviation[k])
        for k, (mass, axis) in enumerate(zip(marginals, axes, strict=True))
    )
    return Support(low, high, deviation, peak, breaks, compact=sharp, heavy=heavy)


def _around(density: WrittenDensity, low: Float, high: Float) -> tuple[Float, Float, bool]:
    """The box, widened until nothing crosses its border, and whether something did: corners reach between samples."""
    widened = False
    for _ in range(_MAX_WIDENINGS):
        crossed = np.array([_crossed(density, axis, low, high) for axis in range(2)])
        if not crossed.any():
            break
        widened, step = True, _WIDENING * (high - low)
        low, high = low - step * crossed[:, 0], high + step * crossed[:, 1]
    return low, high, widened


def _crossed(density: WrittenDensity, axis: int, low: Float, high: Float) -> Truths:
    """Whether there is anything on the two sides of a box across an axis."""
    ends, from_, to = np.array([low[axis], high[axis]]), low[1 - axis].repeat(2), high[1 - axis].repeat(2)

    def on_border(function: Callable[[Float], Float]) -> OfItems:
        def values(side: Items, t: Float) -> Float:
            points = np.empty((t.size, 2))
            points[:, axis], points[:, 1 - axis] = ends[side], t
            return function(points)

        return values

    everyone = np.arange(2)
    side, cuts, _, _ = crossings([on_border(kink) for kink in density.kinks], from_, to, _BORDER_SAMPLES)
    panels = split(from_, to, np.concatenate([side, everyone]), np.concatenate([cuts, 0.5 * (from_ + to)]))
    there = on_border(density.unchecked)(panels.item, 0.5 * (panels.low + panels.high)) > 0
    return np.bincount(panels.item, there, 2) > 0


def _everywhere(dimension: int) -> Float:
    octaves = 16 * 2.0 ** (
        np.arange(1, _OCTAVES[dimension] * _SAMPLES_PER_OCTAVE[dimension] + 1) / _SAMPLES_PER_OCTAVE[dimension]
    )
    return np.concatenate([-octaves[::-1], np.linspace(-16, 16, _CENTRAL_SAMPLES[dimension]), octaves])


def _sampled(density: WrittenDensity, axes: list[Float]) -> Float:
    points, shape = tensor(axes), [axis.size for axis in axes]
    values = density.unchecked(points).reshape(shape)
    bad = ~np.isfinite(values)
    if bad.any():
        # 0 * inf and inf / inf far out, next to negligible values, count as 0
        values = np.where(bad, 0.0, values)
        bad &= beside(values > FLOOR[len(axes)] * values.max())
        density(points[bad.ravel()])
    if values.min() < 0:
        density(points[[values.argmin()]])
    if not values.max() > 0:
        raise ProblemError.at("initial.expression", "has mass 0 as far as can be seen; a density needs positive mass")
    return values


def beside(cells: Truths) -> Truths:
    """Cells and their neighbours."""
    wide = np.pad(cells, 1)
    for axis in range(cells.ndim):
        here = np.moveaxis(wide, axis, 0)
        here[1:-1] |= here[:-2] | here[2:]
    return wide[(slice(1, -1),) * cells.ndim]


def _reaches_out(values: Float, floor: float) -> bool:
    faces = [np.take(values, [0, -1], axis=axis).max() for axis in range(values.ndim)]
    return bool(max(faces) > floor * values.max())


def _spans(values: Float, floor: float) -> list[tuple[int, int]]:
    there = values > floor * values.max()
    spans = []
    for axis in range(values.ndim):
        seen = np.flatnonzero(there.any(axis=tuple(k for k in range(values.ndim) if k != axis)))
        spans.append((int(seen[0]), int(seen[-1])))
    return spans


def _marginals(values: Float, axes: list[Float]) -> list[Float]:
    """Masses about the samples of each axis, by the trapezoidal rule."""
    masses = values
    for axis, points in enumerate(axes):
        widths = np.gradient(points)
        masses = masses * widths.reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    return [masses.sum(axis=tuple(k for k in range(values.ndim) if k != axis)) for axis in range(values.ndim)]


def _need_finite_mass(values: Float, axes: list[Float]) -> None:
    for mass, axis in zip(_marginals(values, axes), axes, strict=True):
        share = mass[np.abs(axis) > 0.5 * axis[-1]].sum() / mass.sum()
        if share > _MAX_OUTER_MASS:
            raise ProblemError.at(
                "initial.expression",
                f"has infinite mass, or tails too heavy to tell: between {0.5 * axis[-1]:.2g} and {axis[-1]:.2g} there "
                f"is the share {share:.2g} of what lies below; a density must be integrable",
            )


def _trimmed(values: Float, axes: list[Float]) -> list[tuple[int, int]]:
    """Heavy tails are cut where their mass is below rounding."""
    spans = []
    for mass in _marginals(values, axes):
        least = 1e-17 * mass.sum()
        below, above = np.cumsum(mass), np.cumsum(mass[::-1])
        spans.append((int(np.argmax(below > least)), mass.size - 1 - int(np.argmax(above > least))))
    return spans


def _deviation(mass: Float, axis: Float) -> float:
    share = mass / mass.sum()
    return float(np.sqrt(share @ (axis - share @ axis) ** 2))


def _breaks(mass: Float, axis: Float, ends: tuple[float, float], dimension: int, widest: float) -> Float:
    """Panels of the axis by repeated halving: of little mass each, and narrow, unless that takes too many."""
    total = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    length = ends[1] - ends[0]
    widest = max(min(widest, length / _MIN_PANELS), length / _MAX_PANELS[dimension])
    panels, done = [ends], []
    while panels:
        low, high = panels.pop()
        first, last = np.searchsorted(axis, [low, high])
        if high - low <= widest and (total[last] - total[first] <= _MAX_PANEL_MASS[dimension] or last - first < 8):
            done.append(low)
            continue
        middle = 0.5 * (low + high)
        panels += [(low, middle), (middle, high)]
    return np.append(np.sort(done), ends[1])
