"""Integrals over time of an observed series, by Gauss-Legendre quadrature on time intervals."""

from __future__ import annotations

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.geometry.gauss import gauss_legendre, last_coefficients
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["TimeIntervals"]

_MAX_PIECES = 8  # that an interval is cut into at once


class TimeIntervals:
    """`count` Gauss nodes between every two edges: a smooth series is integrated with order `2 count`.

    >>> intervals = TimeIntervals([0, 1, 3])
    >>> intervals.integrals(intervals.nodes**2).round(12).tolist()
    [0.333333333333, 8.666666666667]
    """

    def __init__(self, edges: Float | list[float], count: int = 10) -> None:
        self.edges = np.asarray(edges, dtype=float)
        points, self._weights = gauss_legendre(count)
        self._half = 0.5 * np.diff(self.edges)
        self.nodes: Float = (self.edges[:-1] + self._half)[:, None] + self._half[:, None] * points

    def times(self) -> list[float]:
        """Edges and nodes, sorted: when to observe."""
        return sorted({*self.edges.tolist(), *self.nodes.ravel().tolist()})

    def integrals(self, values: Float) -> Float:
        """The integral over each interval of a series given at its nodes, `(interval, node)`."""
        result: Float = 2 * self._half * (values @ self._weights)
        return result

    def uncertainty(self, values: Float) -> Float:
        """A safe guess of the error of each interval's integral, from the last Legendre coefficients of the series.

        >>> intervals = TimeIntervals([0, 1])
        >>> smooth, kinked = np.exp(intervals.nodes), abs(intervals.nodes - 0.3)
        >>> bool(intervals.uncertainty(smooth).max() < 1e-7), bool(intervals.uncertainty(kinked).max() > 1e-3)
        (True, True)
        """
        error: Float = 2 * self._half * last_coefficients(values).sum(axis=1)
        return error

    def cut(self, excess: Float) -> TimeIntervals:
        """The same intervals, cut in as many pieces as it takes to make errors smaller by the factors `excess`."""
        order = self._weights.size - 1
        pieces = np.clip(np.ceil(np.maximum(excess, 1.0) ** (1 / order)), 1, _MAX_PIECES).astype(int)
        spans = zip(self.edges[:-1], self.edges[1:], pieces, strict=True)
        starts = np.concatenate([np.linspace(a, b, count + 1)[:-1] for a, b, count in spans])
        return TimeIntervals(np.append(starts, self.edges[-1]), self._weights.size)

    def until(self, time: float) -> TimeIntervals:
        """Those that end by that time; a single edge where there are none."""
        return TimeIntervals(self.edges[self.edges <= time * (1 + 1e-12)], self._weights.size)

    def at_edges(self, run: Run, name: str) -> Float:
        """An observed series at the edges."""
        return _at(run, name, self.edges)

    def at_nodes(self, run: Run, name: str) -> Float:
        """An observed series at the nodes, `(interval, node)`."""
        return _at(run, name, self.nodes)


def _at(run: Run, name: str, times: Float) -> Float:
    index = np.searchsorted(run.series_times, times - 1e-12 * run.series_times[-1])
    index = np.minimum(index, run.series_times.size - 1)
    if np.abs(run.series_times[index] - times).max() > 1e-9 * run.series_times[-1]:
        raise MfpdeError(f"{name} was not observed at all the times it is needed at")
    series: Float = run[name][index]
    return series
