"""What an evaluation of the rates costs finite volumes, what of a run is compiled, and what a second thread saves."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from baselines.timing import best
from finite_volume_tasks import BUMPS, COVARIANCE, MEAN, QUERY, SPOTS, VALUE, law, posed, started, steps

import mfpde
from mfpde.attention import lattice_sums, lattice_waves
from mfpde.compilation import kernel
from mfpde.solvers.finite_volume import (
    exact_stages,
    line_system,
    plane_forces,
    plane_system,
    weighted_modes,
)
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.transform import plane_grid, plane_rows, regular_grid
from mfpde.transform.exponential import exponential

__all__ = ["evaluation_rows", "share_rows", "snapshot_rows", "thread_row"]

_PLANE = {"query": QUERY, "value": VALUE}
_PULL = "exp(-r**2) - 0.6*exp(-r**2/4)"  # attraction of short range, repulsion of long range


@kernel
def _raise_all(x: Any, out: Any) -> None:
    for index in range(x.size):
        out[index] = exponential(x[index])


def _unit() -> float:
    """Seconds of one exponential in a compiled loop: figures in it hardly depend on the machine."""
    x, out = -10.0 * np.random.default_rng(0).random(4096), np.empty(4096)
    rounds = 200

    def loop() -> None:
        for _ in range(rounds):
            _raise_all(x, out)

    return best(loop, 5) / (rounds * x.size)


@contextmanager
def _timed(places: list[tuple[Any, str]]) -> Iterator[list[float]]:
    """Seconds of the processor that threads spend in these functions, by timers around them."""
    spent, plain = [0.0], [getattr(*place) for place in places]

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            start = time.thread_time()
            answer = function(*arguments, **named)
            spent[0] += time.thread_time() - start
            return answer

        return call

    for (module, name), function in zip(places, plain, strict=True):
        call = watched(function)
        setattr(module, name, staticmethod(call) if isinstance(module, type) else call)
    try:
        yield spent
    finally:
        for (module, name), function in zip(places, plain, strict=True):
            setattr(module, name, function)


def _evaluations(task: mfpde.Problem) -> int:
    """How often a run asks for the drift."""
    solution = started(task)
    steps(solution, task.time.until)
    return int(solution.statistics()["evaluations"])


def _sums_alone(task: mfpde.Problem, repeats: int) -> tuple[float, float, float]:
    """Seconds of the rates, of the NumPy form, and of the kernels of its sums."""
    solution = started(task)
    solution.advance(task.time.until, 1)
    system, state, now = solution._system, solution.solution, solution.time
    form = CellSystem(task.equation, system.grid, system.frame, system.scheme)
    whole, plain = (best(lambda f=f: f.rhs(now, state), repeats) for f in (system, form))
    least = np.inf
    with _timed([(plane_grid, "transform_panel"), (plane_rows, "transform_rows")]) as spent:
        for _ in range(repeats):
            spent[0] = 0.0
            form.rhs(now, state)
            least = min(least, spent[0])
    return whole, plain, least


def evaluation_rows(repeats: int) -> None:
    """On the line whole runs, their start included, over evaluations; on the plane one evaluation."""
    numba.set_num_threads(1)
    one = _unit()
    print(f"an exponential in a compiled loop takes {one * 1e9:.2f} ns")
    lines = {
        "line, N = 1024 at rest, to T = 2": (posed([law(0.5, 1.0)], 2.0, cells=1024, frame="static"), "120 thousand"),
        "line, two bumps on 32 moving cells": (posed(BUMPS, 2.0, cells=32, tolerance=1e-5), "80 us"),
    }
    for case, (task, most) in lines.items():
        each = best(lambda t=task: mfpde.solve(t), repeats) / _evaluations(task)
        print(f"{case:44}{each * 1e6:9.1f} us{each / one / 1e3:9.1f} thousand exponentials (at most {most})")
    planes = {
        "plane, 64^2 moving, two panels": (posed(SPOTS, 1.0, **_PLANE, cells=64, tolerance=1e-6), "1.3"),
        "plane, 64^2 moving, noise": (posed([law(MEAN, COVARIANCE)], 1.0, **_PLANE, kappa=20.0, cells=64), ""),
        "plane, 256^2 at rest": (posed([law(MEAN, COVARIANCE)], 1.0, **_PLANE, cells=256, box=[[-9, 9]] * 2), ""),
    }
    for case, (task, most) in planes.items():
        whole, form, sums = _sums_alone(task, 3 * repeats)
        told = f" (at most {most})" if most else ""
        print(
            f"{case:44}{whole * 1e6:9.0f} us, {whole / sums:.2f} times its sums{told}; NumPy form {form * 1e6:.0f} us"
        )


def snapshot_rows(repeats: int) -> None:
    """What a hundred snapshots cost beside a run without them."""
    tasks = {
        "plane, 64^2 moving, two panels": posed(SPOTS, 2.0, **_PLANE, cells=64),
        "plane, 128^2 moving, noise": posed([law(MEAN, COVARIANCE)], 2.0, **_PLANE, kappa=10.0, cells=128),
        "line, an interval": posed([{"kind": "uniform", "box": [[-1, 1]]}], 2.0),
    }
    for case, task in tasks.items():
        shown = task.model_copy(update={"time": type(task.time)(until=task.time.until)})
        bare, whole = (best(lambda t=each: mfpde.solve(t), repeats) for each in (task, shown))
        counts = (int(mfpde.solve(each).provenance["statistics"]["steps"]) for each in (task, shown))
        told = "{} and {} steps".format(*counts)
        print(f"{case:44}{bare * 1e3:9.1f} ms, {whole * 1e3:.1f} ms with 100 snapshots: {whole / bare:.1f}x ({told})")


def share_rows() -> None:
    """How much of runs is spent in compiled calls, those of the modes of exact steps included; Fourier transforms of
    interactions on the plane are SciPy's, and counted apart."""
    tasks = {
        "line, N = 2048 at rest, to T = 20": posed([law(0.5, 1.0)], 20.0, cells=2048, frame="static"),
        "plane, 64^2 moving, two panels, to T = 4": posed(SPOTS, 4.0, **_PLANE, cells=64),
        "plane, 64^2 moving, noise, to T = 16": posed(
            [law(MEAN, COVARIANCE)], 16.0, **_PLANE, kappa=20.0, cells=64, tolerance=1e-8
        ),
        "plane, 128^2 moving, two panels, noise": posed(SPOTS, 1.0, **_PLANE, kappa=10.0, cells=128),
        "line, 64 moving, in a quartic well, noise": posed(
            [law(0.3, 0.2)], 16.0, kappa=5.0, moved_by={"expression": _PULL, "external": "-x**4/4 + x**2/2"}, cells=64
        ),
        "line, 512 at rest, interaction and well": posed(
            [law(0.3, 1.0)], 4.0, moved_by={"expression": _PULL, "external": "-x**4/4"}, cells=512, box=[[-7, 7]]
        ),
        "plane, 64^2 moving, interaction": posed(
            [law(MEAN, COVARIANCE)], 4.0, moved_by={"expression": _PULL}, cells=64
        ),
        "plane, 128^2 moving, interaction": posed(
            [law(MEAN, COVARIANCE)], 2.0, moved_by={"expression": _PULL}, cells=128
        ),
        "plane, 64^2 moving, two panels, interaction": posed(SPOTS, 3.0, moved_by={"expression": _PULL}, cells=64),
    }
    kernels = [(exact_stages, name) for name in ("carry_modes", "take_change", "gain", "conduct", "clear")]
    kernels += [(weighted_modes, "multiply"), (plane_system, "_plane_step")]
    kernels += [(line_system, f"_line_{name}") for name in ("steps", "force_steps", "exact_step", "force_exact_step")]
    kernels += [(plane_system.PlaneSystem, "part_kernel"), (plane_forces, "add_outer_forces")]
    kernels += [
        (lattice_sums, "act_on_differences"),
        (lattice_waves, "_wave_factors"),
        (lattice_waves, "_convolve"),
        (regular_grid, "_interpolate_lattice"),
    ]
    transforms = [(lattice_sums, name) for name in ("_transformed", "_restored")]
    for case, task in tasks.items():
        mfpde.solve(task)
        with _timed(transforms) as transformed, _timed(kernels) as compiled:
            start = time.process_time()
            mfpde.solve(task)
            whole = time.process_time() - start
        told = f", with SciPy's transforms {(compiled[0] + transformed[0]) / whole:.0%}" if transformed[0] > 0 else ""
        print(f"{case:44}{whole:9.2f} s, {compiled[0] / whole:.0%} in compiled calls{told} (of a second or more: 90%)")


def thread_row(repeats: int) -> None:
    """A step at 256^2 on one thread and on two, in turn, so that a busy spell hits both."""
    task = posed([law(MEAN, COVARIANCE)], 10.0, **_PLANE, cells=256, box=[[-9, 9]] * 2)
    solution, times = started(task), {1: [], 2: []}
    solution.advance(10.0, 1)
    for _ in range(repeats):
        for threads, found in times.items():
            numba.set_num_threads(threads)
            begun = time.perf_counter()
            solution.advance(10.0, 1)
            found.append(time.perf_counter() - begun)
    ratio = np.median(times[1]) / np.median(times[2])
    print(
        f"plane, 256^2: two threads {ratio:.2f}x (at least 1.6x); {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
