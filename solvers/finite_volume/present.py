"""A solution by finite volumes at the present time: what is found of it, once, and what is seen of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mfpde.contracts import Accuracy, Integration, Progress
from mfpde.geometry import Layout
from mfpde.measure import GridDensity
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.finite_volume.between_steps import BetweenSteps
from mfpde.solvers.finite_volume.control import StepControl
from mfpde.solvers.finite_volume.diagnostics import (
    MAX_CELLS_CROSSED,
    Faults,
    Missed,
    inverse_growth,
    moments_apart,
    pace,
    pace_of_frames,
    race,
)
from mfpde.solvers.finite_volume.first_instants import FirstInstants
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.layouts import fields_of, layout_of
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps
from mfpde.solvers.finite_volume.open_ends import OpenEnds
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.solution import Solution, measure_of
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.stepping.pole import PoleLine
from mfpde.solvers.stepping.steady_state import Rest
from mfpde.typing import Float

__all__ = ["PresentSolution", "StandAt"]


class StandAt(NamedTuple):
    """A time, the solution then, and what is known of it."""

    time: float
    solution: Solution
    rates: Rates | None
    faults: Faults | None


class PresentSolution(Integration):
    """Densities on panels at the present time, which is the end of a step, or within the last one."""

    def __init__(
        self,
        system: CellSystem,
        solution: Solution,
        control: StepControl,
        missed: Missed,
        amplification: Amplification,
        first: FirstInstants | None = None,
    ) -> None:
        self._system, self._solution, self._control = system, solution, control
        self._noise_steps, self._ends = NoiseSteps(system), OpenEnds(system)
        self._growth, self._missed, self._amplification = PoleLine(), missed, amplification
        self._rest = Rest(control.tolerance, max(control.breaks, default=0.0))
        self._first, self._time, self._evaluations = first, 0.0, 1
        self._rates: Rates | None = (rates := system.rhs(0.0, solution))  # compiles before anybody measures a rate
        self._faults: Faults | None = None
        self._between_steps = BetweenSteps()
        self._ahead: StandAt | None = None  # where steps have come to, when the present time is within the last one
        self._kept: dict[str, tuple[object, Any]] = {}
        control.begin(control.first_step(pace_of_frames(solution, rates)))

    @property
    def time(self) -> float:
        return self._time

    @property
    def solution(self) -> Solution:
        return self._solution

    def race(self, most: float = MAX_CELLS_CROSSED) -> Progress | None:
        """How the run ends where tokens in tails cross more cells than that."""
        return race(self._present_rates().outflow, lambda: self.pace, self._control.until, most)

    @property
    def missed(self) -> float:
        """The most that cells have left out so far, with what they leave out between them now, relative to the peak."""
        return replace(self._with_tails(), between=self._between()).at_most

    @property
    def grid(self) -> Grid:
        return self._system.grid

    @property
    def finite(self) -> bool:
        """Whether rates are numbers."""
        rates = self._present_rates()
        return all(np.isfinite(part).all() for part in (rates.speeds, rates.mean, rates.matrix))

    @property
    def pace(self) -> float:
        """How fast the whole moves or changes, per unit time, relative to how wide it is."""
        return pace(self.grid, self._solution, self._present_rates())

    # -- what is found
    # ---------------------------------------------------------------------------------------------------------

    def _with_tails(self) -> Missed:
        """What has been missed, tails until now included: near a blow-up their last few steps are all that matters."""
        missed, length = self._missed, self._time - self._missed.looked
        if length <= 0.0 or self._rest.found:
            return replace(missed)
        before, solution, rates = float(np.nextafter(self._time, -np.inf)), self._solution, self._present_rates()
        doubts = self._once("doubts", solution, lambda: self._system.doubts(before, solution, rates, length))
        return missed.seen(self._time, *doubts)

    def _between(self) -> float:
        """Error of interpolation between the cells; not before the first instants, when cells hold edges."""
        if self._first is not None and self._time == 0.0:
            return 0.0
        return float(self._once("between", self._solution, lambda: self._system.between_cells(self._solution)))

    def _once(self, name: str, of: object, find: Callable[[], Any]) -> Any:
        """What is found of an object, once for each."""
        if name not in self._kept or self._kept[name][0] is not of:
            self._kept[name] = of, find()
        return self._kept[name][1]

    def _present_rates(self) -> Rates:
        return self._see(self._system.rhs(self._time, self._solution)) if self._rates is None else self._rates

    def _present_faults(self) -> Faults:
        solution, rates = self._solution, self._present_rates()
        if self._faults is None:
            system, rough = self._system, self._noise_steps.roughness(solution, rates)
            misled, widening = system.misled(self._time, solution, rates), system.widening(self._time, solution)
            self._faults = Faults(rough, misled, widening)
        return self._faults

    def _see(self, rates: Rates) -> Rates:
        """Those at the present time, found just now."""
        self._rates = rates
        if self._ahead is None:  # what is asked within a step belongs to whoever looks
            self._evaluations += 1
            self._growth.add(self._time, inverse_growth(self._solution, rates))
        return rates

    def fastest_rate(self) -> float:
        """The share of a cell that leaves it per unit time."""
        return self._present_rates().emptying

    def distance(self, other: Integration) -> float:
        """Of mean and covariance, relative to the widths along the axes."""
        return moments_apart(self.measure(), other.measure())

    # -- what is seen
    # ---------------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        layout: Layout = self._once("layout", self.grid, lambda: layout_of(self._system, len(self._solution.mean)))
        return layout

    def measure(self) -> GridDensity:
        system = self._system
        return measure_of(self._solution, system.grid, system.scheme.positions, closed=False, edges=system.edges)

    def fields(self) -> dict[str, Float]:
        return fields_of(self._system, self._solution, self.layout)

    def residual(self) -> float:
        rates, find = self._present_rates(), self._noise_steps.residual
        return float(self._once("residual", rates, lambda: find(self._time, self._solution, rates)))

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(replace(self._with_tails(), between=self._between()).accuracy())

    def facts(self) -> dict[str, float]:
        at_ends = 0.0 if self._system.edges else float(self.grid.edge_mass(self._solution.density).max())
        return {"leak": max(self._ends.leak, at_ends)}

    def counts(self) -> dict[str, float]:
        return {
            "panels": float(len(self._solution.mean)),
            "cells": float(np.prod(self._system.grid.cells)),
            **{name: float(count) for name, count in self._control.counts.items()},
            "evaluations": float(self._evaluations),
            "step": self._control.step,
        }

    def statistics(self) -> dict[str, float]:
        return {**self.counts(), "cell-error": self._with_tails().so_far}
