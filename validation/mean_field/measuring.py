"""One measurement: independent tokens, and how far they are from the limit at a few times. Made by worker processes."""

from __future__ import annotations

from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

from mfpde.contracts import FINISHED
from mfpde.distances import distance
from mfpde.errors import MfpdeError
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.mean_field.limit import Limit, limit_in, on_line_or_circle
from mfpde.validation.solving import solved_so_far
from mfpde.validation.waves import Complex

__all__ = ["MEASURE", "as_complex", "measure", "snapshots_measured", "solved_tokens"]

#: the task of a worker
MEASURE = "mfpde.validation.mean_field.measuring:measure"
_DEGREES = 3  # of the circle, whose fluctuations are kept
_MOST_PAIRED = 1000  # tokens between which exact transport is solved: a second
_MOST_IN_PAIRS = 10_000  # tokens whose energy distance is a sum over all pairs
_TIMES_OF_DISTANCES = 4  # the last ones: waves are looked at at all times
_EARLY_INDICES = 1, 2  # two more: where chance grows fast no other is left


def measure(problem: dict[str, Any], path: str, count: int, repeat: int) -> dict[str, Any]:
    """Solve for `count` independent tokens by the seed that belongs to the repeat, and hold them against the limit."""
    began = process_time()
    run = solved_tokens(problem, count, repeat)
    solved, limit = process_time(), limit_in(path)
    tokens = [run.measure(index) for index in range(run.times.size)]
    apart = np.array([limit.waves.means(each) for each in tokens]) - _means(path)
    found: dict[str, Any] = {
        "count": count,
        "repeat": repeat,
        "waves": _pairs(apart),
        "distances": _distances(tokens, limit, count, repeat),
    }
    if limit.problem.geometry.angular:
        modes = [each.harmonics(_DEGREES).coefficients[1:] for each in tokens]
        found["harmonics"] = _pairs(np.array(modes))
    return found | {"solving": solved - began, "measuring": process_time() - solved}


def solved_tokens(problem: dict[str, Any], count: int, repeat: int) -> Run:
    """The run of so many independent tokens."""
    solver = {**problem["solver"], "count": count, "seed": repeat}
    run = solved_so_far(Problem.from_dict({**problem, "solver": solver}))
    if run.outcome.kind != FINISHED:
        raise MfpdeError(f"{count:,} tokens by seed {repeat}: {run.outcome}")
    return run


def snapshots_measured(times: int) -> list[int]:
    """Of so many times those at which distances are measured."""
    return sorted({*_EARLY_INDICES, *range(max(times - _TIMES_OF_DISTANCES, 1), times)})


def as_complex(pairs: Any) -> Complex:
    """Real and imaginary parts, last, as complex numbers."""
    parts: Float = np.asarray(pairs, dtype=float)
    whole: Complex = parts[..., 0] + 1j * parts[..., 1]
    return whole


def _pairs(numbers: Complex) -> Any:
    return np.stack([numbers.real, numbers.imag], axis=-1).tolist()


def _kinds(space: Geometry, count: int) -> tuple[str, ...]:
    """The distances that are measured for so many tokens."""
    if on_line_or_circle(space):
        return "wasserstein-1", "wasserstein-2", "energy"
    sliced = "sliced-wasserstein-2" if space.flat else "spherical-sliced"
    exact = ("wasserstein-1",) if count <= _MOST_PAIRED else ()
    return (*exact, sliced, *(("energy",) if count <= _MOST_IN_PAIRS else ()))


def _distances(tokens: list[Measure], limit: Limit, count: int, repeat: int) -> dict[str, list[float]]:
    """At the last times, by kind; none where tokens have positions, each of which holds a few of them."""
    found: dict[str, list[float]] = {}
    for index in snapshots_measured(len(tokens)) if tokens[0].positions is None else ():
        known, space = limit.beside(index, count, repeat), tokens[index].space
        for kind in _kinds(space, count):
            found.setdefault(kind, []).append(distance(tokens[index], known, kind))
    return found


@lru_cache(maxsize=1)
def _means(path: str) -> Complex:
    return limit_in(path).means()
