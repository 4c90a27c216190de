"""The box that holds a solution at all times, from a coarse run in moving frames."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.activity import doing
from mfpde.contracts.solver import State
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.typing import Float

__all__ = ["box_of_run"]

_MAX_BOX_GROWTH = 30.0  # times the box at the start; beyond it only a moving frame has the resolution
_MAX_STEPS = 1000  # of the coarse run


def box_of_run(
    run: FiniteVolumeIntegration, until: float, deviations: float | None, rescaling: Callable[[float], Float] | None
) -> tuple[Float, Float]:
    """Corners `(d,)` of the smallest box that holds that many standard deviations of every panel at all times, or all
    cells if `deviations` is None.

    With `rescaling` V(t) in the coordinates `E^{-1} x`, `E' = V E`.
    """
    from scipy.linalg import expm

    scale = np.eye(run.solution.mean.shape[1])
    low, high = _ends(run.solution, run.grid, deviations, scale)
    widest = _MAX_BOX_GROWTH * (high - low)
    for _ in range(_MAX_STEPS):
        before = run.time
        doing(f"coarse run for the box, t = {before:.4g} of {until:.4g}")
        if run.advance(until, 1).state is not State.UNDER_WAY and run.time == before:
            break
        if rescaling is not None:
            scale = expm((run.time - before) * rescaling(0.5 * (before + run.time))) @ scale
        ends = _ends(run.solution, run.grid, deviations, scale)
        if not (ends[1] - ends[0] < widest).all():
            break
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    return low, high


def _ends(solution: Solution, grid: Grid, deviations: float | None, scale: Float) -> tuple[Float, Float]:
    middle, half = 0.5 * (grid.high + grid.low), 0.5 * (grid.high - grid.low)
    lows, highs = [], []
    for mean, matrix in zip(solution.mean, solution.matrix, strict=True):
        frame = np.linalg.solve(scale, matrix)
        centre = np.linalg.solve(scale, mean) + (frame @ middle if deviations is None else 0.0)
        reach = np.abs(frame) @ half if deviations is None else deviations * np.sqrt((frame**2).sum(axis=1))
        lows.append(centre - reach)
        highs.append(centre + reach)
    return np.min(lows, axis=0), np.max(highs, axis=0)
