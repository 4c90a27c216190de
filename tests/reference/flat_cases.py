"""A problem of the line or the plane solved twice: what flat.json and hard.json keep of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from reference.flat import Array, Moved, moments, slices, solve_by_nodes
from reference.flat_waves import solve_by_waves

SHOWN = 12  # densities of each problem


def cuts_of(task: dict[str, Any], count: int) -> list[slice]:
    """Where the nodes of each slice stand."""
    ends = np.cumsum([len(part[0]) for part in slices(task, count)])
    return [slice(a, b) for a, b in pairwise([0, *ends])]


def parts_of(task: dict[str, Any], now: Moved, count: int) -> list[list[float]]:
    """Moments of each slice."""
    cuts = cuts_of(task, count)
    return [moments(now.nodes[cut], now.weights[cut] / now.weights[cut].sum()) for cut in cuts]


def shown(nodes: Array, log_density: Array) -> dict[str, Any]:
    """Some of the nodes, the density there and at its peak."""
    seen = np.flatnonzero(log_density - log_density.max() > -12)
    some = seen[np.linspace(0, seen.size - 1, SHOWN).astype(int)]
    density, peak = np.exp(log_density[some]).tolist(), float(np.exp(log_density.max()))
    return {"points": nodes[some].tolist(), "density": density, "peak": peak}


def moved_case(name: str, task: dict[str, Any], times: list[float], counts: tuple[int, int]) -> dict[str, Any]:
    coarse, fine = (solve_by_nodes(task, times, count) for count in counts)
    expected, twice = ([moments(now.nodes, now.weights) for now in found] for found in (fine, coarse))
    end, row = fine[-1], {}
    if task["attention"]["kind"] == "masked":
        row["slices"] = parts_of(task, end, counts[1])
        rough = parts_of(task, coarse[-1], counts[0])
        row["in_slices"] = [shown(end.nodes[cut], end.log_density[cut]) for cut in cuts_of(task, counts[1])]
        expected_all, twice_all = [*expected, *row["slices"]], [*twice, *rough]
    else:
        row |= shown(end.nodes, end.log_density)
        row["earlier"] = [shown(now.nodes, now.log_density) for now in fine[:-1]]
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
    row: dict[str, Any] = {}
    if several:
        row["slices"] = [moments(grid.points, rho.ravel() * grid.volume) for rho in rows[-1]]
    logs = [np.log(np.maximum(rho.ravel(), np.finfo(float).tiny)) for rho in wholes]
    row |= shown(grid.points, logs[-1])
    row["earlier"] = [shown(grid.points, log) for log in logs[:-1]]
    return {
        "name": name,
        "problem": task,
        "times": times,
        "accuracy": max(1e-14, 2 * float(np.abs(np.subtract(*found)).max())),
        "moments": found[1],
        **row,
    }
