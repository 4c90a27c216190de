"""A stand-in for solvers of every form: tokens of a Gaussian under x' = a x + b, written down as the form wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from store.plain_solver import PlainSolver

import mfpde
from mfpde import prepare, run_loop
from mfpde.contracts.solver import Integration, Progress, State
from mfpde.equation import InitialValueProblem
from mfpde.geometry import Axis, Field, Lattice, Layout
from mfpde.measure import GridDensity, Measure, Normal, Panel
from mfpde.solvers.forms import (
    gaussian_fields,
    gaussian_layout,
    grid_layout,
    panels_fields,
    panels_layout,
    particles_fields,
    particles_layout,
)

CELL = 0.25
START = {1: ([0.5], [[0.64]]), 2: ([0.5, -0.25], [[0.64, 0.2], [0.2, 0.36]])}
RATE, PUSH = 0.5, 0.75
FORMS = ("grid", "panels", "gaussian", "particles", "trail")


@dataclass(frozen=True)
class Drift(PlainSolver):
    """Settings: which form; `lost` and `blown` are when things go wrong."""

    form: str = "grid"
    step: float = 0.03
    lost: float = np.inf
    blown: float = np.inf
    kind: str = "drift"
    counts: tuple[str, ...] = ("steps",)
    facts: frozenset[str] = frozenset({"leak"})

    @property
    def shows(self) -> str:
        return {"gaussian": "gaussian", "particles": "particles", "trail": "particles"}.get(self.form, "density")

    def start(self, task: InitialValueProblem) -> "Drifting":
        return Drifting(self, task)


class Drifting(Integration):
    """The grid's box grows by whole cells as the Gaussian widens; two frames share it in halves."""

    def __init__(self, settings: Drift, task: InitialValueProblem) -> None:
        self.settings = settings
        self.geometry = task.equation.geometry
        mean, covariance = START[self.geometry.ambient_dimension]
        self.law = Normal(mean, covariance, self.geometry)
        self.points = self.law.sample(7, seed=3)
        self.weights = np.arange(1.0, 8) / 28
        self.now, self.steps, self.memory = 0.0, 0, 0.0
        self.path = [(0.0, self.points)]
        self.edges = [np.array([0, 1]) for _ in mean]
        self._fit()

    @property
    def time(self) -> float:
        return self.now

    @property
    def dimension(self) -> int:
        return self.geometry.ambient_dimension

    def advance(self, target: float, budget: int) -> Progress:
        for _ in range(5):
            self._step(min(self.now + self.settings.step, target))
            if self.now >= self.settings.lost:
                return Progress(State.RESOLUTION_LOST, "too narrow", "take more cells")
            if self.now >= self.settings.blown:
                return Progress(State.BLOW_UP, "it grows for ever", time=self.now + 0.5, uncertainty=1e-3)
            if self.now >= target:
                return Progress(State.REACHED, "tends to infinity")
        return Progress(State.UNDER_WAY)

    def _step(self, stop: float) -> None:
        length = stop - self.now
        self.memory = np.sin(self.memory + length)  # the history matters, as in an adaptive scheme
        growth = np.exp(RATE * length) * (1 + 1e-9 * self.memory)
        shift = PUSH / RATE * (growth - 1)
        self.law = Normal(growth * self.law.mean + shift, growth**2 * self.law.covariance, self.geometry)
        self.points = growth * self.points + shift
        self.now, self.steps = stop, self.steps + 1
        self.path.append((stop, self.points))
        self._fit()

    def _fit(self) -> None:
        widths = 6 * np.sqrt(np.diag(self.law.covariance))
        low, high = self.law.mean - widths, self.law.mean + widths
        for index, old in enumerate(self.edges):
            first = min(old[0], int(np.floor(low[index] / CELL)))
            last = max(old[-1], int(np.ceil(high[index] / CELL)))
            self.edges[index] = np.arange(first, last + 1)

    def _axes(self) -> list[Axis]:
        if self.settings.form == "panels":
            return [Axis.of_cells(name, np.linspace(-6, 6, 41 + 2 * index)) for index, name in enumerate(self.names)]
        return [Axis.of_cells(name, CELL * edges) for name, edges in zip(self.names, self.edges, strict=True)]

    @property
    def names(self) -> str:
        return "xy"[: self.dimension]

    @property
    def layout(self) -> Layout:
        form = self.settings.form
        if form == "grid":
            return grid_layout(self._axes(), averages=False)
        if form == "panels":
            return panels_layout(self._axes(), panels=2)
        if form == "gaussian":
            return gaussian_layout(self.dimension)
        layout = particles_layout(self.weights, self.dimension)
        if form == "trail":
            layout.trail.update(path_time=Field((), "time"), path_position=Field(("particle", "component"), "places"))
        return layout

    def measure(self) -> Measure:
        form = self.settings.form
        if form == "gaussian":
            return self.law
        if form not in ("grid", "panels"):
            return mfpde.Particles(self.points, self.weights, self.geometry)
        axes = [axis.values for axis in self._axes()]
        if form == "grid":
            lattice = Lattice.of(axes)
            values = self.law.evaluate(lattice.points()).reshape(lattice.shape)
            return GridDensity([Panel(lattice, values, averages=False)])
        return GridDensity([self._frame(axes, 0.25), self._frame(axes, 0.75)])

    def _frame(self, axes: list[Any], share: float) -> Panel:
        lattice = Lattice.of(axes, self.law.mean + share, np.linalg.cholesky(self.law.covariance) / (1 + share))
        return Panel(lattice, share * self.law.evaluate(lattice.points()).reshape(lattice.shape))

    def fields(self) -> dict[str, Any]:
        form, measure = self.settings.form, self.measure()
        if form == "grid":
            return {"density": measure.panels[0].values}
        if form == "panels":
            frames = [(panel.lattice.origin, panel.lattice.matrix) for panel in measure.panels]
            mean, matrix = (np.stack(each) for each in zip(*frames, strict=True))
            volumes = np.abs(np.linalg.det(matrix))
            density = np.stack([volume * panel.values for volume, panel in zip(volumes, measure.panels, strict=True)])
            return panels_fields(self.layout, density, mean, matrix)
        if form == "gaussian":
            return gaussian_fields(self.law.mean, self.law.factor)
        return particles_fields(self.points)

    def trail(self, since: int) -> dict[str, Any]:
        new = self.path[since:]
        places = np.array([points for _, points in new]).reshape(len(new), *self.points.shape)
        return {"path_time": np.array([time for time, _ in new]), "path_position": places}

    def facts(self) -> dict[str, float]:
        return {"leak": 1e-3 * self.now}

    def residual(self) -> float:
        return 1.0

    def state(self) -> dict[str, Any]:
        numbers = np.array([self.now, self.steps, self.memory])
        ends = np.array([[edges[0], edges[-1]] for edges in self.edges])
        law = {"mean": self.law.mean, "covariance": self.law.covariance}
        return {"numbers": numbers, "ends": ends, "points": self.points, **law}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.now, self.memory = (float(state["numbers"][place]) for place in (0, 2))
        self.steps = int(state["numbers"][1])
        self.edges = [np.arange(first, last + 1) for first, last in state["ends"]]
        self.points = state["points"]
        self.law = Normal(state["mean"], state["covariance"], self.geometry)
        if self.settings.form == "trail":
            self.path = list(zip(state["path_time"].tolist(), state["path_position"], strict=True))
            assert self.path[-1][0] == self.now

    def statistics(self) -> dict[str, float]:
        return {"steps": self.steps}


def problem(dimension: int = 1, observe: tuple[Any, ...] = (), **time_block: Any) -> mfpde.Problem:
    """Something on the line or the plane; only its geometry and times matter here."""
    mean, covariance = START[dimension]
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": ("line", "plane")[dimension - 1]},
            "initial": {"kind": "gaussian", "mean": mean, "covariance": covariance},
            "time": {"until": 1.0, "save_every": 0.1, **time_block},
            "observe": list(observe),
        }
    )


def solve(task: mfpde.Problem, output: Any = None, settings: Drift | None = None, **options: Any) -> mfpde.Run:
    """`mfpde.solve` with this solver instead of the problem's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "chosen_solver", lambda _: settings or Drift())
        return run_loop.solve(task, output, **options)
