"""Mass, positivity, and what else no solution may lose (physics sections 1 and 8)."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float
from mfpde.validation.case import worst
from mfpde.validation.examined import Examined
from mfpde.validation.report import Check

__all__ = ["checks"]

_SOURCE = "the continuity equation [rigollet2025]"
#: rounding of sums over all cells and steps
_ROUNDING = 1e-12


def checks(examined: Examined) -> list[Check]:
    """Of any solution."""
    return [*_mass(examined), *_slices(examined), *_positive(examined), *_on_sphere(examined)]


def _mass(examined: Examined) -> list[Check]:
    if "mass" not in examined.series:
        return []
    mass = worst(abs(value - 1) for value in examined.run["mass"].ravel())
    return [Check.equal("mass is conserved", _SOURCE, expected=1.0, measured=1 + mass, tolerance=_ROUNDING)]


def _slices(examined: Examined) -> list[Check]:
    """Mass of each panel is conserved: no token changes its position or its component."""
    run = examined.run
    if run.layout.form != "panels":
        return []
    panels = [np.array([panel.mass for panel in run.measure(index).panels]) for index in examined.looks]  # type: ignore[attr-defined]
    moved = worst(float(np.abs(masses - panels[0]).max()) for masses in panels)
    masked = "panel_position" in run.layout.constants
    claim = f"mass of each {'position' if masked else 'panel'} is conserved"
    source = "masked attention keeps positions [castin2025]" if masked else _SOURCE
    return [Check.equal(claim, source, expected=0.0, measured=moved, tolerance=_ROUNDING)]


def _positive(examined: Examined) -> list[Check]:
    run = examined.run
    if examined.shows == "gaussian":
        spreads = np.linalg.eigvalsh(np.asarray(run.stored["gaussian_covariance"]))
        lowest = float((spreads[:, 0] / np.maximum(spreads[:, -1], 1e-300)).min())
        return [_positivity("the covariance is positive, relative to its largest eigenvalue", lowest, _ROUNDING)]
    if "minimum" not in examined.series or "density" not in run.stored:
        return []
    top = np.abs(run.density).reshape(run.times.size, -1).max(axis=1)
    lowest = float((run["minimum"] / np.interp(run.series_times, run.times, top)).min())
    return [_positivity("the density is positive, relative to its maximum", lowest, examined.promise)]


def _positivity(claim: str, lowest: float, tolerance: float) -> Check:
    return Check.at_least(claim, _SOURCE, bound=0.0, measured=lowest, tolerance=tolerance)


def _on_sphere(examined: Examined) -> list[Check]:
    run = examined.run
    space = run.problem.geometry
    if not space.counts_as("sphere") or "position" not in run.stored or run.problem.normalization is not None:
        return []  # with a normalization tokens have norms, and their directions are on the sphere by definition
    lengths: Float = np.linalg.norm(run.positions, axis=-1)
    off = float(np.abs(lengths - 1).max())
    return [Check.equal("tokens stay on the sphere", _SOURCE, expected=0.0, measured=off, tolerance=_ROUNDING)]
