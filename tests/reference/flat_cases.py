"""A problem of the line or the plane solved twice: what flat.json and hard.json keep of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from reference.flat import Moved, moments, slices, solve_by_nodes
from reference.flat_waves import solve_by_waves

SHOWN = 12  # densities of each problem


def parts_of(task: dict[str, Any], now: Moved, count: int) -> list[list[float]]:
    """Moments of each slice."""
    ends = np.cumsum([len(part[0]) for part in slices(task, count)])
    cuts = [slice(a, b) for a, b in pairwise([0, *ends])]
    return [moments(now.nodes[cut], now.weights[cut] / now.weights[cut].sum()) for cut in cuts]


def moved_case(name: str, task: dict[str, Any], times: list[float], counts: tuple[int, int]) -> dict[str, Any]:
    coarse, fine = (solve_by_nodes(task, times, count) for count in counts)
    expected, twice = ([moments(now.nodes, now.weights) for now in found] for found in (fine, coarse))
    end, row = fine[-1], {}
    if task["attention"]["kind"] == "masked":
        row["slices"] = parts_of(task, end, counts[1])
        rough = parts_of(task, coarse[-1], counts[0])
        expected_all, twice_all = [*expected, *row["slices"]], [*twice, *rough]
    else:
        relative = end.log_density - end.log_density.max()
        seen = np.flatnonzero(relative > -12)
        shown = seen[np.linspace(0, seen.size - 1, SHOWN).astype(int)]
        row["points"], row["density"] = end.nodes[shown].tolist(), np.exp(end.log_density[shown]).tolist()
        row["peak"] = float(np.exp(end.log_density.max()))
        expected_all, twice_all = expected, twice
    accuracy = max(1e-14, 2 * float(np.abs(np.subtract(expected_all, twice_all)).max()))
    return {"name": name, "problem": task, "times": times, "accuracy": accuracy, "moments": expected, **row}


def noisy_case(
    name: str, task: dict[str, Any], times: list[float], boxes: tuple[tuple[float, int], ...]
) -> dict[str, Any]:
    found = []
    for half, count in boxes:
        grid, rows = solve_by_waves(task, times, half, count)
        several = task["attention"]["kind"] == "masked"
        wholes = [np.mean(rho, axis=0) if several else rho for rho in rows]
        found.append([moments(grid.points, rho.ravel() * grid.volume) for rho in wholes])
    row = {}
    if several:
        row["slices"] = [moments(grid.points, rho.ravel() * grid.volume) for rho in rows[-1]]
    seen = np.flatnonzero(wholes[-1].ravel() > 1e-5 * wholes[-1].max())
    shown = seen[np.linspace(0, seen.size - 1, SHOWN).astype(int)]
    return {
        "name": name,
        "problem": task,
        "times": times,
        "accuracy": max(1e-14, 2 * float(np.abs(np.subtract(*found)).max())),
        "moments": found[1],
        "points": grid.points[shown].tolist(),
        "density": wholes[-1].ravel()[shown].tolist(),
        "peak": float(wholes[-1].max()),
        **row,
    }
