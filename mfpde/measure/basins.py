"""Clusters of densities on grids of line, plane and sphere: peaks with the basins around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfpde.measure.panel import Panel
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.measure.grid_density import GridDensity

__all__ = ["Basin", "Cluster", "basins_about_axis", "clusters_on_grid", "clusters_on_sphere"]

Pairs = list[tuple[Any, Any]]  # of indices that hold places and their neighbours, each pair once

_PEAK_FLOOR = 1e-12  # of the largest density: lower peaks do not count
_NEAREST_PROBE, _PROBES = 1e-10, 64  # the density between two peaks is sampled geometrically towards both


class Cluster(NamedTuple):
    """Where it is (an angle, or a mean), its mass and its width."""

    position: float | Float
    mass: float
    width: float


@dataclass(frozen=True, eq=False)
class Basin:
    """A cluster: its peak, and mass, mean and covariance of the tokens in its basin."""

    peak: Float
    height: float
    mass: float
    mean: Float
    covariance: Float

    @property
    def width(self) -> float:
        """Standard deviation, the same in all directions."""
        return float(np.sqrt(max(np.trace(self.covariance), 0.0) / self.mean.size))

    def joined(self, other: Basin) -> Basin:
        """Both as one."""
        higher = self if self.height >= other.height else other
        mass = self.mass + other.mass
        shares = np.array([self.mass, other.mass]) / mass if mass > 0 else np.array([1.0, 0.0])
        mean = shares @ np.array([self.mean, other.mean])
        apart = [part.mean - mean for part in (self, other)]
        spreads = [part.covariance + np.outer(away, away) for part, away in zip((self, other), apart, strict=True)]
        return Basin(higher.peak, higher.height, mass, mean, np.tensordot(shares, np.array(spreads), axes=1))


def clusters_on_grid(measure: GridDensity, dip: float) -> list[Basin]:
    """The peaks between which the density falls below `dip` times the lower one, each with all mass around it.

    Panels are looked at one by one, each on its own grid with the density of all; their clusters are one where the
    density between the peaks does not dip.
    """
    found: list[list[Basin]] = [_of_panel(panel, measure.density_on(panel), dip) for panel in measure.panels]
    known = found[0]
    for more in found[1:]:
        known = _merged(measure, known, more, dip)
    return known


def clusters_on_sphere(density: Float, points: Float, masses: Float, prominence: float) -> list[Basin]:
    """Of densities `(colatitudes, longitudes)` on S^2: the peaks from which the density falls by `prominence` uniform
    densities before it rises above them again."""
    depth = prominence / (4 * np.pi)
    if density.max() - density.min() < depth:
        return []
    high, pairs = density.ravel(), _neighbours_on_sphere(*density.shape)
    labels = _merge_low(high, _ascended(high, pairs), lambda level, height: level > height - depth, pairs)
    return _basins(labels, high, points, masses)


def basins_about_axis(relative: Float, prominence: float) -> list[AnyArray]:
    """Of densities along colatitudes about an axis, relative to the uniform one: which places belong to each peak that
    stands out like that, a pole or a ring."""
    if np.ptp(relative) < prominence:
        return []
    pairs = _neighbours(1)
    labels = _merge_low(relative, _ascended(relative, pairs), lambda level, top: level > top - prominence, pairs)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _of_panel(panel: Panel, density: Float, dip: float) -> list[Basin]:
    pairs = _neighbours(density.ndim)
    labels = _merge_low(density, _ascended(density, pairs), lambda level, height: level >= dip * height, pairs).ravel()
    return _basins(labels, density.ravel(), panel.lattice.points(), panel.node_masses.ravel())


def _basins(labels: AnyArray, high: Float, points: Float, masses: Float) -> list[Basin]:
    """Of every peak, from the label, density and mass of every place."""
    basins = []
    for label in np.unique(labels[high > _PEAK_FLOOR * high.max()]):
        here = labels == label
        top = int(np.flatnonzero(here)[high[here].argmax()])
        mass = float(masses[here].sum())
        weights = masses[here] / mass if mass > 0 else np.full(here.sum(), 1 / here.sum())
        mean = weights @ points[here]
        away = points[here] - mean
        basins.append(Basin(points[top], float(high[top]), mass, mean, (weights[:, None] * away).T @ away))
    return basins


def _ascended(density: Float, pairs: Pairs) -> AnyArray:
    """For every cell the number of the peak that the steepest way upwards leads to."""
    best, higher = density.copy(), np.arange(density.size).reshape(density.shape)
    number = higher.copy()
    for here, there in pairs:
        for one, two in ((here, there), (there, here)):
            # equal heights: the earlier cell counts as the higher one
            better = (density[two] > best[one]) | ((density[two] == best[one]) & (number[two] < higher[one]))
            best[one] = np.where(better, density[two], best[one])
            higher[one] = np.where(better, number[two], higher[one])
    way = higher.ravel()
    while True:
        farther = way[way]
        if np.array_equal(farther, way):
            return way.reshape(density.shape)
        way = farther


def _merge_low(density: Float, peaks: AnyArray, joins: Callable[[float, float], bool], pairs: Pairs) -> AnyArray:
    """Basins whose peaks do not stand out, as `joins` tells from a pass and the lower peak, made part of the neighbour
    over the highest pass."""
    passes: dict[tuple[int, int], float] = {}
    for here, there in pairs:
        border = peaks[here] != peaks[there]
        level = np.minimum(density[here], density[there])[border]
        both = np.sort(np.stack([peaks[here][border], peaks[there][border]], axis=1), axis=1)
        order = np.argsort(level)
        passes |= {  # the highest level of a pair comes last and stays
            pair: max(height, passes.get(pair, -np.inf))
            for pair, height in zip(map(tuple, both[order].tolist()), level[order].tolist(), strict=True)
        }
    heights = density.ravel()
    leader = {int(peak): int(peak) for peak in np.unique(peaks)}

    def leading(peak: int) -> int:
        while leader[peak] != peak:
            peak = leader[peak]
        return peak

    for (one, two), level in sorted(passes.items(), key=lambda item: -item[1]):
        low, high = sorted((leading(one), leading(two)), key=lambda peak: heights[peak])
        if low != high and joins(level, heights[low]):
            leader[low] = high
    lead = np.arange(density.size)
    for peak in leader:
        lead[peak] = leading(peak)
    merged: AnyArray = lead[peaks]
    return merged


def _neighbours_on_sphere(colatitudes: int, longitudes: int) -> Pairs:
    """Of places in rows: eastwards, southwards, in between, and across the poles."""
    place = np.arange(colatitudes * longitudes).reshape(colatitudes, longitudes)
    east, half = np.roll(place, -1, axis=1), longitudes // 2
    pairs = [(place, east), (place[:-1], place[1:]), (place[:-1], east[1:]), (east[:-1], place[1:])]
    across = [(place[row, :half], place[row, half : 2 * half]) for row in (0, -1)]
    return [(one.ravel(), two.ravel()) for one, two in (*pairs, *across)]


def _neighbours(dimension: int) -> Pairs:
    """Of views of cells."""
    whole, early, late = slice(None), slice(None, -1), slice(1, None)
    if dimension == 1:
        return [((early,), (late,))]
    along = [((early, whole), (late, whole)), ((whole, early), (whole, late))]
    return [*along, ((early, early), (late, late)), ((early, late), (late, early))]


def _merged(measure: GridDensity, known: Sequence[Basin], more: Sequence[Basin], dip: float) -> list[Basin]:
    """Clusters of two panels: those between whose peaks the density does not dip are one."""
    every = [*known, *more]
    group = list(range(len(every)))
    pairs = [(i, j) for i, j in combinations(range(len(every)), 2) if i < len(known) <= j]
    near = np.geomspace(_NEAREST_PROBE, 0.5, _PROBES)
    places = np.concatenate([near, 1 - near[::-1]])[:, None]
    if pairs:
        ways = [every[i].peak * (1 - places) + every[j].peak * places for i, j in pairs]
        least = measure.evaluate(np.concatenate(ways)).reshape(len(pairs), -1).min(axis=1)
        for (i, j), level in zip(pairs, least, strict=True):
            if level >= dip * min(every[i].height, every[j].height):
                group = [group[i] if number == group[j] else number for number in group]
    merged = []
    for number in dict.fromkeys(group):
        parts = [basin for basin, its in zip(every, group, strict=True) if its == number]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.joined(part)
        merged.append(whole)
    return merged
