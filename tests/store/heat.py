"""A stand-in for a solver: the heat equation, exact, as slow as wanted, with a memory that a wrong resume betrays.

As a program it solves into a file: `python -m store.heat OUTPUT [--resume] [--force] [KEY=VALUE ...]`.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from store.plain_solver import PlainSolver

import mfpde
from mfpde import prepare, run_loop
from mfpde.contracts.solver import Integration, Progress, State
from mfpde.equation import InitialValueProblem
from mfpde.geometry import Circle, Layout
from mfpde.measure import CircleDensity


@dataclass(frozen=True)
class Heat(PlainSolver):
    """Settings. The grid doubles at each time of `finer`; at `lost`, `broken` things go wrong."""

    points: int = 32
    step: float = 0.03
    seconds: float = 0.0  # what a step costs
    steps_per_call: int = 5
    finer: tuple[float, ...] = ()
    lost: float = np.inf
    broken: float = np.inf
    kind: str = "heat"
    state_version: int = 1
    shows: str = "density"
    counts: tuple[str, ...] = ("steps", "modes")
    facts: frozenset[str] = frozenset()

    def start(self, task: InitialValueProblem) -> "Heating":
        return Heating(self, task)


class Heating(Integration):
    def __init__(self, settings: Heat, task: InitialValueProblem) -> None:
        self.settings = settings
        self.diffusion = task.equation.noise.diffusion
        self.modes = task.initial.harmonics(settings.points // 2 - 1).coefficients
        self.now = 0.0
        self.steps = 0
        self.memory = np.zeros(3)

    @property
    def time(self) -> float:
        return self.now

    @property
    def layout(self) -> Layout:
        return Circle().layout(2 * self.modes.size)

    def advance(self, target: float, budget: int) -> Progress:
        for _ in range(self.settings.steps_per_call):
            time.sleep(self.settings.seconds)
            self._step(min(self.now + self.settings.step, target))
            if self.now >= self.settings.lost:
                return Progress(State.RESOLUTION_LOST, "the tail is too large", "raise max_modes")
            if self.now >= target:
                return Progress(State.REACHED)
        return Progress(State.UNDER_WAY)

    def _step(self, stop: float) -> None:
        length = stop - self.now
        self.modes = self.modes * np.exp(-(np.arange(self.modes.size) ** 2) * self.diffusion * length)
        self.memory = np.array([self.memory[1], self.memory[2], np.sin(self.memory.sum() + length)])
        self.modes[1:] *= 1 + 1e-9 * self.memory[0]  # the history matters, as in an adaptive scheme
        self.now, self.steps = stop, self.steps + 1
        wanted = (self.settings.points // 2) * 2 ** sum(self.now >= time for time in self.settings.finer)
        self.modes = np.concatenate([self.modes, np.zeros(wanted - self.modes.size)])
        if self.now >= self.settings.broken:
            self.modes = self.modes * np.nan

    def measure(self) -> CircleDensity:
        return CircleDensity.of(self.modes)

    def fields(self) -> dict[str, Any]:
        return {"density": self.measure().on_grid(2 * self.modes.size)}

    def residual(self) -> float:
        return float(2 * self.diffusion * np.abs(self.modes[1]))

    def state(self) -> dict[str, Any]:
        return {
            "modes": self.modes,
            "memory": self.memory,
            "time": np.array(self.now),
            "steps": np.array(self.steps),
            "none": np.zeros(0),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        assert state["none"].shape == (0,)
        self.modes, self.memory = state["modes"], state["memory"]
        self.now, self.steps = float(state["time"]), int(state["steps"])

    def statistics(self) -> dict[str, float]:
        return {"steps": self.steps, "modes": self.modes.size}


def problem(**time_block: Any) -> mfpde.Problem:
    """The heat equation on the circle."""
    observe = time_block.pop("observe", ["mass", {"kind": "modes", "count": 3}])
    title = time_block.pop("title", "heat")
    return mfpde.Problem.from_dict(
        {
            "title": title,
            "geometry": {"kind": "circle"},
            "noise": {"kappa": time_block.pop("kappa", 10)},
            "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(3*theta)"},
            "time": {"until": 2.0, "save_every": 0.1, **time_block},
            "observe": observe,
        }
    )


def solve(task: mfpde.Problem, output: Any = None, settings: Heat | None = None, **options: Any) -> mfpde.Run:
    """`mfpde.solve` with this solver instead of the problem's."""
    chosen = prepare.chosen_solver
    prepare.chosen_solver = lambda _: settings or Heat()
    try:
        return run_loop.solve(task, output, **options)
    finally:
        prepare.chosen_solver = chosen


def _main() -> None:
    output, *rest = sys.argv[1:]
    options = {word[2:]: True for word in rest if word.startswith("--")}
    values = {key: float(value) for key, _, value in (word.partition("=") for word in rest if "=" in word)}
    finer = tuple(values.pop(key) for key in sorted(values) if key.startswith("finer"))
    own = {key: values.pop(key) for key in list(values) if key in ("step", "seconds")}
    whole = {key: int(values.pop(key)) for key in list(values) if key in ("points", "steps_per_call")}
    run = solve(problem(**values), output, Heat(finer=finer, **own, **whole), **options)
    print(run.outcome.kind, run.outcome.time, len(run.times), run.outcome, sep="|")


if __name__ == "__main__":
    _main()
