"""Two runs held against each other at the times that both have saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arguments import instance
from mfpde.contracts import Result
from mfpde.distances import distance
from mfpde.errors import MfpdeError
from mfpde.geometry import Geometry
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["RunDistances", "compare_runs"]

_SAME_TIME = 1e-9  # relative to the length of the runs; steps of a tenth are not those of a double


@dataclass(frozen=True)
class RunDistances:
    """How far two runs are apart, at the `times` of both; `counts` says how many times each of them has."""

    kind: str
    times: Float
    distances: Float
    counts: tuple[int, int]

    @property
    def worst(self) -> tuple[float, float]:
        """The largest distance, and when that was; one that is not a number counts as infinite."""
        told = np.where(np.isnan(self.distances), np.inf, self.distances)
        return float(told.max()), float(self.times[int(told.argmax())])


def compare_runs(first: Result, second: Result, kind: str | None = None) -> RunDistances:
    """The distances between the measures of two runs at their common times; nothing is interpolated. Without a `kind`
    it is the Wasserstein distance of order 2, sliced where the space has more than one dimension.

    Fails: no time in common, runs on different spaces, a distance that these measures do not have.
    """
    one, other = _run("first", first), _run("second", second)
    spaces = one.problem.geometry, other.problem.geometry
    if spaces[0] != spaces[1]:
        raise MfpdeError(f"the first run is on {_named(spaces[0])}, the second on {_named(spaces[1])}: no distance")
    pairs = _common(one.times, other.times)
    if not pairs:
        raise MfpdeError(
            f"the runs have no time in common: {_span(one.times)} and {_span(other.times)} (nothing is interpolated)"
        )
    kind = kind or _usual(spaces[0])
    apart = [distance(one.measure(i), other.measure(j), kind) for i, j in pairs]
    times = np.array([float(one.times[i]) for i, _ in pairs])
    return RunDistances(kind, times, np.array(apart), (len(one.times), len(other.times)))


def _run(name: str, result: Result) -> Run:
    """The result, if it has measures over time."""
    instance(name, result, Run, "a run such as mfpde.load('run.h5')")
    assert isinstance(result, Run)  # noqa: S101 - for the type checker
    return result


def _usual(space: Geometry) -> str:
    if space.angular or (space.flat and space.ambient_dimension == 1):
        return "wasserstein-2"
    return "sliced-wasserstein-2" if space.flat else "spherical-sliced"


def _common(first: Float, second: Float) -> list[tuple[int, int]]:
    """Numbers of the snapshots that were made at the same times."""
    near = np.clip(np.searchsorted(second, first), 1, max(len(second) - 1, 1))
    near = np.minimum(near, len(second) - 1)
    before = np.maximum(near - 1, 0)
    near = np.where(np.abs(second[before] - first) <= np.abs(second[near] - first), before, near)
    close = np.abs(second[near] - first) <= _SAME_TIME * max(abs(float(first[-1])), abs(float(second[-1])))
    return [(int(i), int(near[i])) for i in np.flatnonzero(close)]


def _span(times: Float) -> str:
    return f"{len(times)} from t = {times[0]:.6g} to {times[-1]:.6g}" if len(times) > 1 else f"t = {times[0]:.6g}"


def _named(space: Geometry) -> str:
    named = {"line": "the line", "plane": "the plane", "circle": "the circle"}
    return named.get(space.name, f"the {space.name} in R^{space.ambient_dimension}")
