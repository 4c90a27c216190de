"""A function of one variable as polynomials on panels, to thirteen digits on each, for kernels that ask it pair by
pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.chebyshev import chebyshev_points, chebyshev_transform
from mfpde.transform.fused import fused
from mfpde.typing import AnyArray, Float

__all__ = ["DEGREE", "PANELS_FIRST", "Piecewise", "piecewise_value", "tabulated", "value_beside", "values_of"]

DEGREE = 11  # of the polynomials: with more, panels are few, but each value takes longer
_PANEL_TOLERANCE = 1e-13  # relative to the largest value on the panel
_NOISE_TOLERANCE = 1e-12  # relative to the largest value of all, of what halving a panel does not reduce: rounding
_CONVERGENCE_FACTOR = 0.1  # at most, from a panel to its halves; polynomials of degree 11 gain 2^-12
_HALVINGS_MAX = 50  # towards a singularity: to the last digits of the variable
_PANELS_MAX = 4096  # rougher functions are no shorter as polynomials
PANELS_FIRST = 4  # of each stretch between cuts, which all are halved where they need to be
_DEGREE_FLOOR = 2e-15  # of the largest coefficient of a panel: smaller ones are rounding of its values
_CELLS = 4096  # of the index that finds a panel: a 32 KB table, which stays in the cache

_CHECKED = np.linspace(-1.0, 1.0, 10)[1:-1]  # between the interpolation points


class Piecewise(NamedTuple):
    """Polynomials on panels that end at `ends`, in `t = (r - middle) scale`; the value at 0 for itself.

    `first`: the panel at the left edge of each of many equal cells of the range, and at the end.
    """

    ends: Float
    middles: Float
    scales: Float
    coefficients: Float
    first: AnyArray
    cells_per_length: float
    centre: float


@kernel
def _panel_value(table: Piecewise, panel: int, r: float) -> float:
    t, row = (r - table.middles[panel]) * table.scales[panel], table.coefficients[panel]
    value = row[DEGREE]
    for k in range(DEGREE - 1, -1, -1):
        value = fused(value, t, row[k])
    return value


@kernel
def piecewise_value(table: Piecewise, r: float) -> float:
    """The value at r > 0 within the range."""
    cell = min(int(r * table.cells_per_length), table.first.size - 2)
    low, high = table.first[cell], table.first[cell + 1]
    while low < high:
        middle = (low + high) // 2
        if r < table.ends[middle]:
            high = middle
        else:
            low = middle + 1
    return _panel_value(table, low, r)


@kernel
def value_beside(table: Piecewise, panel: int, r: float) -> tuple[float, int]:
    """The same where r is in a panel, or not far from it; and the panel that it is in."""
    while r >= table.ends[panel] and panel < table.ends.size - 1:
        panel += 1
    while panel > 0 and r < table.ends[panel - 1]:
        panel -= 1
    return _panel_value(table, panel, r), panel


@kernel
def values_of(table: Piecewise, distances: Float, out: Float) -> None:
    """out = the values at distances, `centre` at 0."""
    for j in range(distances.size):
        out[j] = piecewise_value(table, distances[j]) if distances[j] > 0.0 else table.centre


def tabulated(
    function: Callable[[Float], Float], high: float, cuts: Float, first: int = PANELS_FIRST
) -> Piecewise | None:
    """The function on (0, high], with panels that begin and end at cuts, at `first` so many between them; None where it
    is too rough, or not finite."""
    corners = np.unique(np.concatenate([[0.0, high], cuts[(cuts > 0) & (cuts < high)]]))
    shares = np.arange(first) / first
    low = (corners[:-1, None] + np.diff(corners)[:, None] * shares).ravel()
    panels = _refined(function, low, np.append(low[1:], high))
    if panels is None:
        return None
    left, right, values = panels
    order = np.argsort(left)
    left, right = left[order], right[order]
    cells = np.arange(_CELLS + 1) * (high / _CELLS)
    return Piecewise(
        ends=right,
        middles=0.5 * (left + right),
        scales=2.0 / (right - left),
        coefficients=_powers(values[order]),
        first=np.minimum(np.searchsorted(right, cells, side="right"), right.size - 1),
        cells_per_length=_CELLS / high,
        centre=float(function(np.zeros(1))[0]),
    )


def _refined(function: Callable[[Float], Float], low: Float, high: Float) -> tuple[Float, Float, Float] | None:
    """Ends of panels, and values at their Chebyshev points: halved until polynomials are as good as the function."""
    within = np.concatenate([chebyshev_points(DEGREE + 1), _CHECKED])
    error_before, largest, count, kept = np.full(low.size, np.inf), 0.0, 0, []
    for depth in range(_HALVINGS_MAX + 1):
        half = 0.5 * (high - low)
        places = 0.5 * (low + high)[:, None] + half[:, None] * within
        values = function(places.ravel()).reshape(places.shape)
        if not np.isfinite(values).all():
            return None
        points, checked = values[:, : DEGREE + 1], values[:, DEGREE + 1 :]
        error = np.abs(points @ _TO_CHECKED.T - checked).max(axis=1)
        size = np.abs(values).max(axis=1)
        largest = max(largest, float(size.max()) if depth == 0 else 0.0)
        stalled = (error > _CONVERGENCE_FACTOR * error_before) & (error <= _NOISE_TOLERANCE * largest)
        done = (error <= _PANEL_TOLERANCE * size) | stalled | (depth == _HALVINGS_MAX)
        kept.append((low[done], high[done], points[done]))
        count += int(done.sum())
        low, high, error_before = (np.repeat(each[~done], 2) for each in (low, high, error))
        if low.size == 0:
            break
        if count + low.size > _PANELS_MAX:
            return None
        middle = 0.5 * (low + high)[::2]
        high[::2], low[1::2] = middle, middle
    parts = list(zip(*kept, strict=True))
    return np.concatenate(parts[0]), np.concatenate(parts[1]), np.concatenate(parts[2])


def _powers(values: Float) -> Float:
    """Coefficients of powers of t from values at the Chebyshev points, `(panels, points)`; polynomials keep their
    degree."""
    found = values @ chebyshev_transform(DEGREE + 1).T
    found[np.abs(found) < _DEGREE_FLOOR * np.abs(found).max(axis=1, keepdims=True)] = 0.0
    return np.ascontiguousarray(found @ _CHEBYSHEV.T)


def _chebyshev() -> Float:
    """From coefficients of Chebyshev polynomials to those of powers."""
    powers = np.zeros((DEGREE + 1, DEGREE + 1))
    for degree, unit in enumerate(np.eye(DEGREE + 1)):
        listed = np.polynomial.chebyshev.cheb2poly(unit)
        powers[: listed.size, degree] = listed
    return powers


_CHEBYSHEV = _chebyshev()
_TO_CHECKED = np.vander(_CHECKED, DEGREE + 1, increasing=True) @ _CHEBYSHEV @ chebyshev_transform(DEGREE + 1)
