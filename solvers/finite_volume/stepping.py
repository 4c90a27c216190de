"""One step of an explicit Runge-Kutta scheme that never makes a density negative.

Every stage, and the new solution, is `u_n - dt div(combined fluxes)`. Where that would be negative the combined fluxes
are moved towards first-order upwind fluxes of u_n, no further than needed [xu2014]: mass is conserved to rounding, and
nothing but rounding is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.rates import Fluxes, Rates
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.cell_steps import EULER_CFL
from mfpde.solvers.kernels.finite_volume_update import combine, limit, update
from mfpde.solvers.kernels.line_march import SHARE_OF_CELLS
from mfpde.solvers.steppers.base import combined_error
from mfpde.transform.threads import run_pieces
from mfpde.typing import Float

__all__ = ["SHARE_OF_CELLS", "Attempt", "Limited", "Start", "change_size", "sound", "take_step"]


@dataclass(frozen=True)
class Start:
    """Where a step begins: its rates, and the error that the cells make there per unit time."""

    time: float
    solution: Solution
    rates: Rates
    roughness: float


@dataclass(frozen=True)
class Attempt:
    """A step that was tried: where it leads (None when it was too long), and its error in units of what is allowed."""

    solution: Solution | None
    error: float
    limited: bool = False  # whether any density would have become negative
    rates: Rates | None = None  # at its end, where the step has found them


class Limited:
    """Moves a solution by combined rates."""

    def __init__(self, system: CellSystem, start: Start) -> None:
        self._system, self._start, self._first = system, start.solution, start.rates
        self.moved_by = 0.0  # what limiting has changed, relative to the peak

    def moved(self, stages: list[Rates], weights: Float, step: float, share: float) -> Solution:
        """`solution + step sum weights rates`, a solution at `share` of the step."""
        across, along = self._combined(stages, weights, step)
        density = np.empty_like(self._start.density)
        low: Fluxes | None = None
        for panel, before in enumerate(self._start.density):
            if self._updated(before, across[panel], along[panel], density[panel]) >= 0.0:
                continue
            low = low or self._low(share * step)
            unlimited, room = density[panel].copy(), np.empty_like(before)
            limit(before, across[panel], along[panel], low.across[panel], low.along[panel], room, density[panel])
            change = float(np.abs(density[panel] - unlimited).max() / before.max())
            self.moved_by = max(self.moved_by, change)
        mean, matrix = self._start.mean.copy(), self._start.matrix.copy()
        for weight, rates in zip(weights, stages, strict=False):
            mean += step * weight * rates.mean
            matrix += step * weight * rates.matrix
        return Solution(density, mean, matrix)

    def _updated(self, before: Float, across: Float, along: Float, new: Float) -> float:
        """The smallest of the new densities."""
        blocks = self._system.grid.blocks
        least = np.empty(len(blocks))

        def work(piece: int) -> None:
            start, stop = blocks[piece]
            rows = slice(start, stop)
            least[piece] = update(before[rows], across[start : stop + 1], along[rows], new[rows])

        run_pieces(work, len(blocks), before.size)
        return float(least.min())

    def _low(self, duration: float) -> Fluxes:
        """What first-order fluxes carry in that time at the velocity of the start, in steps that keep them positive."""
        first, density = self._first, self._start.density.copy()
        steps = max(1, math.ceil(duration * first.emptying / EULER_CFL))
        total = Fluxes(np.zeros_like(first.fluxes.across), np.zeros_like(first.fluxes.along))
        for _ in range(steps):
            fluxes = self._system.fluxes(1, density, first.speeds, first.conductivities)
            across, along = fluxes.across * (duration / steps), fluxes.along * (duration / steps)
            for panel, before in enumerate(density.copy()):
                self._updated(before, across[panel], along[panel], density[panel])
            total = Fluxes(total.across + across, total.along + along)
        return total

    def change(self, stages: list[Rates], weights: Float, step: float) -> tuple[Float, Float, Float]:
        """`step sum weights rates` of density, mean and matrix: what an error estimate is made of."""
        density = -Fluxes(*self._combined(stages, weights, step)).leaving
        mean = step * sum(weight * rates.mean for weight, rates in zip(weights, stages, strict=True))
        matrix = step * sum(weight * rates.matrix for weight, rates in zip(weights, stages, strict=True))
        return density, mean, matrix

    def _combined(self, stages: list[Rates], weights: Float, step: float) -> tuple[Float, Float]:
        fluxes = stages[0].fluxes
        total = Fluxes(np.zeros_like(fluxes.across), np.zeros_like(fluxes.along))
        tasks = [(name, panel) for name in ("across", "along") for panel in range(len(fluxes.across))]

        def work(piece: int) -> None:
            name, panel = tasks[piece]
            for weight, rates in zip(weights, stages, strict=False):
                if weight != 0.0:
                    combine(
                        getattr(rates.fluxes, name)[panel].ravel(), step * weight, getattr(total, name)[panel].ravel()
                    )

        run_pieces(work, len(tasks), fluxes.across.size)
        return total.across, total.along


def take_step(system: CellSystem, start: Start, plan: Plan, tolerance: float) -> Attempt:
    """One step as planned.

    The error of the frames may be `tolerance` of their size, that of the density as much of its peak, or a share of
    what keeping it positive and the cells leave in that time anyway.
    """
    limited, tableau, step = Limited(system, start), plan.stepper.tableau, plan.length
    stages = [start.rates]
    for node, weights in zip(tableau.nodes[1:], tableau.stages[1:], strict=True):
        stage = limited.moved(stages, weights, step, float(node))
        if not sound(stage):
            return Attempt(None, np.inf, limited.moved_by > 0)
        stages.append(system.rhs(min(start.time + float(node) * step, plan.latest), stage, stages[-1]))
    new = limited.moved(stages, tableau.weights, step, 1.0)
    if not sound(new):
        return Attempt(None, np.inf, limited.moved_by > 0)
    rough = max(tolerance, SHARE_OF_CELLS * step * start.roughness, limited.moved_by)
    errors = [
        change_size(start.solution, *limited.change(stages, row, step), rough, tolerance) for row in tableau.errors
    ]
    return Attempt(new, combined_error(errors), limited.moved_by > 0)


def sound(solution: Solution) -> bool:
    """Finite, and no frame turned inside out."""
    if not all(np.isfinite(part).all() for part in solution):
        return False
    sizes = solution.matrix if solution.matrix.shape[1] == 1 else np.linalg.det(solution.matrix)
    return bool(sizes.all())


def change_size(
    solution: Solution, density: Float, mean: Float, matrix: Float, rough: float, tolerance: float
) -> float:
    """Changes relative to the largest density, in units of `rough`, and to the frame, in units of `tolerance`."""
    size = 0.0
    for panel, frame in enumerate(solution.matrix):
        inverse = np.linalg.inv(frame)
        peak = float(solution.density[panel].max())
        moved = max(float(np.abs(inverse @ mean[panel]).max()), float(np.abs(inverse @ matrix[panel]).max()))
        size = max(size, float(np.abs(density[panel]).max()) / (peak * rough), moved / tolerance)
    return size
