"""Measures of the line and the circle by their cumulative distributions."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mfpde.measure import Measure
from mfpde.typing import Float, Truths

if TYPE_CHECKING:
    from mfpde.transform.quantile_kernels import Pieces

__all__ = ["Law", "law_of", "leaves_of"]

_NODES = 16  # Chebyshev nodes on a piece of a density
_ACCURACY = 1e-14  # of the cumulative distribution, per piece
_TAIL = 1e-18  # mass beyond which a density is not followed
_NOISE = 1e-8  # smaller last coefficients, relative to the density, that halving does not shrink are rounding
_UNSEEN = 1e-9  # of the values: interpolants continue a density so well where it has no edge
_MOST_PIECES = 1 << 14  # of all densities of a law: more are rounding
_HALVINGS = 50  # halvings: a jump is then known to the last digit
_ARCS = 16  # pieces of a circle to begin with
#: shares of the mass between whose quantiles pieces begin, so that no narrow peak is overlooked
_SHARES = np.array([0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0])


class Law:
    """A law on the line, or on the circle cut open at angle 0: `points` in their order with `weights` (None where all
    are equal), and in addition the densities of measures, each with its share.
    """

    def __init__(self, points: Float, weights: Float | None, densities: list[tuple[float, Measure]] | None = None):
        self.densities = densities or []
        equal = weights is None or weights.size < 2 or weights.min() == weights.max()
        self.points: Float = np.sort(points) if equal else points
        self.equal = equal
        if weights is not None and not equal:
            self.points, self.ends = _in_order(points, weights)
        self._mass = 1.0 - sum(share for share, _ in self.densities)

    @property
    def pointlike(self) -> bool:
        """Whether there are points alone."""
        return not self.densities

    @property
    def extent(self) -> tuple[float, float]:
        """Where its mass begins and ends."""
        return float(self.pieces.low[0]), float(self.pieces.high.max())

    @property
    def highest(self) -> float:
        """About the largest density."""
        return float(np.abs(self.pieces.density).sum(axis=1).max(initial=0.0))

    @property
    def sharp(self) -> bool:
        """Whether it is known where its mass ends: on a grid there are cells with next to nothing."""
        return not any(measure.lattices for _, measure in self.densities)

    @cached_property
    def ends(self) -> Float:
        """Cumulative weights of the points, the last of them 1."""
        count = self.points.size
        return np.arange(1, count + 1) / count

    @cached_property
    def pieces(self) -> Pieces:
        """The cumulative distribution as a whole."""
        from mfpde.transform.quantile_kernels import Pieces

        count = self.points.size
        weights = self._mass * np.diff(self.ends, prepend=0.0) if count else np.zeros(0)
        low, high, grown, density = self._panels() if self.densities else _no_panels()
        rows = np.concatenate([np.full(count, -1), np.arange(low.size)])
        masses = np.concatenate([weights, grown @ np.ones(grown.shape[1])])
        lows, highs = np.concatenate([self.points, low]), np.concatenate([self.points, high])
        order = np.lexsort((highs, lows))
        order = order[masses[order] > 0]
        total = masses[order].sum()
        mass = masses[order] / total
        start = np.concatenate([[0.0], np.cumsum(mass)])
        arrays = (lows[order], highs[order], start[:-1] / start[-1], mass / start[-1])
        return Pieces(*arrays, rows[order].astype(np.int64), grown / total, density / total)

    def cumulative(self, x: Float) -> tuple[Float, Float]:
        """Masses below places, and up to them."""
        from mfpde.transform.quantile_kernels import cumulative_at

        below, upto = np.empty(x.size), np.empty(x.size)
        cumulative_at(self.pieces, np.ascontiguousarray(x), below, upto)
        return below, upto

    def quantile_and_mean(self, u: Float) -> tuple[Float, Float]:
        """Quantiles at masses from 0 to 1, and the integrals of the quantile function up to there."""
        from mfpde.geometry.gauss import gauss_legendre
        from mfpde.transform.quantile_kernels import quantile_and_mean

        quantiles, moments = np.empty(u.size), np.empty(u.size)
        quantile_and_mean(
            self.pieces, np.ascontiguousarray(u), *gauss_legendre(_NODES), self._moments, quantiles, moments
        )
        return quantiles, moments

    @cached_property
    def _moments(self) -> Float:
        """`int x dmu` over all that lies below each piece."""
        from mfpde.geometry.gauss import gauss_legendre

        t, weights = gauss_legendre(_NODES)
        pieces = self.pieces
        moments = pieces.mass * pieces.low
        dense = pieces.row >= 0
        low, high = pieces.low[dense], pieces.high[dense]
        x = low[:, None] + 0.5 * (high - low)[:, None] * (1 + t)
        density = pieces.density[pieces.row[dense]] @ np.polynomial.chebyshev.chebvander(t, _NODES - 1).T
        moments[dense] = (high - low) * ((x * density) @ weights)
        return np.concatenate([[0.0], np.cumsum(moments)])[:-1]

    def _panels(self) -> tuple[Float, Float, Float, Float]:
        """Ends of the intervals, and the coefficients of the mass and of the density there."""
        ends = self._seams()
        low, high = ends[:-1], ends[1:]
        on_grid = any(measure.lattices for _, measure in self.densities)
        before, largest = np.full(low.size, np.inf), 0.0
        done: list[tuple[Float, Float, Float]] = []
        for depth in range(_HALVINGS + 1):
            values = self._density(low, high)
            largest = max(largest, float(np.abs(values).max(initial=0.0)))
            coefficients = values[:, 1:-1] @ _from_values()[0].T
            last = np.abs(coefficients[:, -2:]).sum(axis=1) + _jumps(coefficients, values)
            noise = (last <= _NOISE * largest) & (last > 0.25 * before)
            good = (last * (high - low) <= _ACCURACY) | noise | on_grid | (depth == _HALVINGS)
            good |= sum(part[0].size for part in done) + 2 * int((~good).sum()) > _MOST_PIECES
            done.append((low[good], high[good], coefficients[good]))
            middle = 0.5 * (low + high)[~good]
            if not middle.size:
                break
            before = np.repeat(last[~good], 2)
            low, high = np.column_stack([low[~good], middle]).ravel(), np.column_stack([middle, high[~good]]).ravel()
        lows, highs, density = (np.concatenate(part) for part in zip(*done, strict=True))
        return lows, highs, 0.5 * (highs - lows)[:, None] * (density @ _from_values()[1].T), density

    def _density(self, low: Float, high: Float) -> Float:
        """At the nodes of intervals and just within their ends, `(intervals, nodes + 2)`; below 0 it is rounding."""
        x = low[:, None] + 0.5 * (high - low)[:, None] * (1 + _nodes())
        x = np.column_stack([np.nextafter(low, high), x, np.nextafter(high, low)])
        parts = [share * measure.evaluate(x.ravel()) for share, measure in self.densities]
        values: Float = np.sum(parts, axis=0).reshape(x.shape)
        return np.maximum(values, 0.0)

    def _seams(self) -> Float:
        """Where intervals begin and end at first."""
        found = [self.points] if self.points.size < _MOST_PIECES else []
        for _, measure in self.densities:
            if measure.space.angular:
                found.append(np.linspace(0.0, 2 * np.pi, _ARCS + 1))
                low, high = np.zeros(1), np.full(1, 2 * np.pi)
            else:
                low, high = measure.reach(_TAIL)
            for lattice in measure.lattices:
                points = lattice.points()[:, 0]
                half = 0.5 * abs(points[-1] - points[0]) / (points.size - 1)
                found += [points, points.min(keepdims=True) - half, points.max(keepdims=True) + half]
            if not measure.lattices:
                places, weights = measure.nodes()
                order = np.argsort(places[:, 0])
                chosen = np.searchsorted(np.cumsum(weights[order]), _SHARES * weights.sum())
                inside = places[order[np.minimum(chosen, order.size - 1)], 0]
                found += [low, high, inside[(inside > low) & (inside < high)]]
        ends: Float = np.unique(np.concatenate(found))
        return ends[np.append(True, _apart(ends))]


def _jumps(coefficients: Float, values: Float) -> Float:
    """How far interpolants miss the values at the ends, where a jump may hide from the nodes."""
    signs = (-1.0) ** np.arange(_NODES)
    missed: Float = np.abs(coefficients @ signs - values[:, 0]) + np.abs(coefficients.sum(axis=1) - values[:, -1])
    return np.where(missed > _UNSEEN * np.abs(values).max(axis=1), missed, 0.0)


def _apart(ends: Float) -> Truths:
    """Where one is farther from the one before than rounding."""
    return np.diff(ends) > 4 * np.finfo(float).eps * np.abs(ends[1:])


def _in_order(points: Float, weights: Float) -> tuple[Float, Float]:
    """Points in their order, and their cumulative weights up to 1. Numbers are sorted three times as fast as places: as
    long as few points agree in nearly all digits, the last ones carry where each came from."""
    from mfpde.transform.transport_kernels import arrange, number_points

    ordered, ends, keys = np.empty_like(points), np.empty_like(points), np.empty(points.size, dtype=np.int64)
    bits = int(points.size - 1).bit_length()
    given, masses = np.ascontiguousarray(points), np.ascontiguousarray(weights)
    number_points(given, bits, keys)
    keys.view(float).sort()
    if not arrange(keys, bits, given, masses, ordered, ends):
        order = np.argsort(points)
        ordered, ends = points[order], np.cumsum(weights[order])
        ends /= ends[-1]
        ends[-1] = 1.0
    return ordered, ends


def law_of(measure: Measure) -> Law:
    """Of a measure on the line or the circle."""
    points: list[Float] = []
    weights: list[Float] = []
    densities: list[tuple[float, Measure]] = []
    for share, part in leaves_of(measure):
        masses = part.point_masses()
        if masses is None:
            densities.append((share, part))
        else:
            points.append(masses[0][:, 0])
            weights.append(masses[1] if share == 1.0 else share * masses[1])
    return Law(_joined(points), _joined(weights), densities)


def _joined(parts: list[Float]) -> Float:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def leaves_of(measure: Measure) -> list[tuple[float, Measure]]:
    """Shares and measures that are no sums of others."""
    parts = measure.summands
    if len(parts) == 1 and parts[0][1] is measure:
        return [(1.0, measure)]
    return [(share * inner, leaf) for share, part in parts for inner, leaf in leaves_of(part)]


def _no_panels() -> tuple[Float, Float, Float, Float]:
    return np.zeros(0), np.zeros(0), np.zeros((0, _NODES + 1)), np.zeros((0, _NODES))


@lru_cache(maxsize=1)
def _nodes() -> Float:
    """Chebyshev's nodes in (-1, 1), ascending."""
    found: Float = -np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    return found


@lru_cache(maxsize=1)
def _from_values() -> tuple[Float, Float]:
    """Matrices from values at the nodes to the coefficients of the interpolant, and from these to those of its integral
    from -1 on."""
    table = np.polynomial.chebyshev.chebvander(_nodes(), _NODES - 1).T * (2.0 / _NODES)
    table[0] *= 0.5
    integral: Float = np.polynomial.chebyshev.chebint(np.eye(_NODES), lbnd=-1, axis=0).astype(float)
    return table.astype(float), integral
