"""Distances against POT: the table of their targets.

    python benchmarks/distances.py [--quick]

Ratios are of two calls in one process, one thread, warm, best of several; seconds are those of the processor. Both
start from arrays of points and weights; values are held against each other. Where POT is not installed (`pip install
POT`, in an environment of its own) the published algorithms are transcribed in NumPy, as one would write them: sorted
quantile functions on the line, a median of F - G on the circle for W_1 [cabrelli1995], a golden section over the shift
for W_2 [delon2010].
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from baselines.timing import best
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]
_TURN = 2 * np.pi
_REPEATS = 7  # the least time of so many counts
_SLICES = 50  # directions of the sliced distance
_GOLDEN = (np.sqrt(5) - 1) / 2  # what a golden section keeps of its bracket
_AGREE = 1e-8  # relative: what POT's search on the circle leaves
HEADER = f"{'case':36}{'n':>9}{'mfpde':>12}{'baseline':>14}{'ratio':>9}{'at least':>10}{'apart':>10}"


def line_in_numpy(x: Array, y: Array, a: Array, b: Array, power: float) -> float:
    """W_p by sorting and cumulative weights."""
    i, j = np.argsort(x), np.argsort(y)
    ends, others = np.cumsum(a[i]), np.cumsum(b[j])
    u = np.sort(np.concatenate([ends, others]))
    first = x[i][np.minimum(np.searchsorted(ends, u), x.size - 1)]
    second = y[j][np.minimum(np.searchsorted(others, u), y.size - 1)]
    return float(np.diff(u, prepend=0.0) @ np.abs(first - second) ** power) ** (1 / power)


def circle_in_numpy(x: Array, y: Array, a: Array, b: Array, power: float) -> float:
    """W_1 by a median of F - G, W_2 by the best shift of one quantile function."""
    i, j = np.argsort(x), np.argsort(y)
    x, y, ends, others = x[i], y[j], np.cumsum(a[i]), np.cumsum(b[j])
    if power == 1:
        places = np.sort(np.concatenate([x, y]))
        level = _cumulative(x, ends, places) - _cumulative(y, others, places)
        lengths = np.diff(places, append=places[0] + _TURN)
        order = np.argsort(level)
        middle = level[order][np.searchsorted(np.cumsum(lengths[order]), np.pi)]
        return float(lengths @ np.abs(level - middle))
    low, high = -1.0, 1.0
    while high - low > 1e-9:
        inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _shifted_cost(x, ends, y, others, inner) < _shifted_cost(x, ends, y, others, outer):
            high = outer
        else:
            low = inner
    return float(np.sqrt(_shifted_cost(x, ends, y, others, 0.5 * (low + high))))


def _cumulative(x: Array, ends: Array, places: Array) -> Array:
    return np.concatenate([[0.0], ends])[np.searchsorted(x, places, side="right")]


def _shifted_cost(x: Array, ends: Array, y: Array, others: Array, shift: float) -> float:
    breaks = np.mod(others + shift, 1.0)
    u = np.sort(np.concatenate([ends, breaks]))
    middle = u - 0.5 * np.diff(u, prepend=0.0)
    v = middle - shift
    turn = np.floor(v)
    first = x[np.minimum(np.searchsorted(ends, middle), x.size - 1)]
    second = y[np.minimum(np.searchsorted(others, v - turn), y.size - 1)] + _TURN * turn
    return float(np.diff(u, prepend=0.0) @ (first - second) ** 2)


class InNumpy:
    """The baselines without POT."""

    name = "NumPy"

    def line(self, x: Array, y: Array, a: Array, b: Array, power: float) -> float:
        return line_in_numpy(x, y, a, b, power)

    def circle(self, x: Array, y: Array, a: Array, b: Array, power: float) -> float:
        return circle_in_numpy(x, y, a, b, power)

    def sliced(self, x: Array, y: Array, directions: Array) -> float:
        even = np.full(len(x), 1 / len(x))
        squares = [line_in_numpy(x @ e, y @ e, even, even, 2) ** 2 for e in directions]
        return float(np.sqrt(np.mean(squares)))


class OfPot:
    """POT's functions; angles are parts of a turn there."""

    def __init__(self) -> None:
        self._ot = importlib.import_module("ot")
        self.name = f"POT {self._ot.__version__}"

    def line(self, x: Array, y: Array, a: Array, b: Array, power: float) -> float:
        return float(self._ot.wasserstein_1d(x, y, a, b, p=power)) ** (1 / power)

    def circle(self, x: Array, y: Array, a: Array, b: Array, power: float) -> float:
        found = self._ot.wasserstein_circle(x / _TURN, y / _TURN, a, b, p=power)
        return _TURN * float(np.squeeze(found)) ** (1 / power)

    def sliced(self, x: Array, y: Array, directions: Array) -> float:
        return float(self._ot.sliced_wasserstein_distance(x, y, projections=directions.T))


def show(case: str, ours: Callable[[], float], theirs: Callable[[], float], count: int, least: float) -> bool:
    """One row of the table; whether it has what is wanted."""
    value, other = ours(), theirs()
    fast, slow = best(ours, _REPEATS), best(theirs, _REPEATS)
    apart = abs(value - other) / other
    good = slow / fast >= least and apart < _AGREE
    mark = "" if good else "  MISSED"
    wanted = f"{least:9.0f}x" if least else f"{'-':>10}"
    print(
        f"{case:36}{count:9}{fast * 1e3:9.2f} ms{slow * 1e3:11.2f} ms{slow / fast:8.1f}x{wanted}{apart:10.0e}{mark}",
        flush=True,
    )
    return good


def table(baseline: InNumpy | OfPot, count: int) -> list[bool]:
    """All rows for so many points."""
    random = np.random.default_rng(3)
    x, y = random.normal(size=count), random.normal(size=count) + 0.3
    angles, others = _TURN * random.random(count), _TURN * random.random(count) ** 2
    even, a, b = np.full(count, 1 / count), *(_shares(random, count) for _ in range(2))
    circle = mfpde.Circle()

    def ours(kind: str, points: Array, weights: Array | None, more: Array, its: Array | None) -> Callable[[], float]:
        space = None if points is x else circle
        return lambda: mfpde.distance(
            mfpde.Particles(points, weights, space), mfpde.Particles(more, its, space), kind=kind
        )

    found = []
    for words, weights, its, wanted in (("", None, None, (5, 10, 30)), (", weighted", a, b, (0, 0, 0))):
        p, q = (even, even) if weights is None else (a, b)
        for kind, power in (("wasserstein-1", 1), ("wasserstein-2", 2)):
            call = ours(kind, x, weights, y, its)
            found.append(
                show(
                    f"line, {kind}{words}",
                    call,
                    lambda power=power, p=p, q=q: baseline.line(x, y, p, q, power),
                    count,
                    wanted[0],
                )
            )
        for kind, power in (("wasserstein-1", 1), ("wasserstein-2", 2)):
            call = ours(kind, angles, weights, others, its)
            theirs = lambda power=power, p=p, q=q: baseline.circle(angles, others, p, q, power)  # noqa: E731
            found.append(show(f"circle, {kind}{words}", call, theirs, count, wanted[power]))
    cloud, shifted = random.normal(size=(count, 2)), random.normal(size=(count, 2)) + 0.3
    turns = np.pi * (np.arange(_SLICES) + 0.5) / _SLICES
    directions = np.column_stack([np.cos(turns), np.sin(turns)])
    found.append(
        show(
            f"plane, sliced, {_SLICES} directions",
            lambda: mfpde.distance(mfpde.Particles(cloud), mfpde.Particles(shifted), kind="sliced-wasserstein-2"),
            lambda: baseline.sliced(cloud, shifted, directions),
            count,
            10,
        )
    )
    return found


def _shares(random: np.random.Generator, count: int) -> Array:
    drawn = random.random(count)
    return drawn / drawn.sum()


def main() -> int:
    """The table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="n = 1e4 only")
    quick = parser.parse_args().quick
    try:
        baseline: InNumpy | OfPot = OfPot()
    except ImportError:
        baseline = InNumpy()
    print(f"baseline: {baseline.name}")
    print(HEADER)
    found = [good for count in ((10_000,) if quick else (10_000, 100_000)) for good in table(baseline, count)]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
