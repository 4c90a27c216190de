"""An independent program for the equation without noise on the line and the plane: plain numpy and scipy.

Quadrature nodes of the initial measure move by the drift, their density along with them; mfpde is not involved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.flat_initial import initial_nodes
from reference.flat_laws import breaks, drift_of, law_at, perceptron

Array = NDArray[np.float64]
TOLERANCES = {"rtol": 3e-14, "atol": 1e-15}


@dataclass(frozen=True)
class Moved:
    """Nodes of one time with their weights and densities; of masked problems slice after slice."""

    nodes: Array
    weights: Array
    log_density: Array


def slices(problem: dict[str, Any], count: int) -> list[tuple[Array, Array, Array]]:
    """Nodes, weights and log densities (given the position) at each position; one slice where nothing is masked."""
    law = problem["attention"]
    if law["kind"] != "masked":
        return [initial_nodes(problem["initial"], count)[:3]]
    parts = [initial_nodes(problem["initial"], count, s) for s in law["positions"]]
    total = sum(part[3] for part in parts)
    return [(part[0], part[1] * part[3] / total, part[2]) for part in parts]


def solve_by_nodes(problem: dict[str, Any], times: list[float], count: int) -> list[Moved]:
    """`x' = G(x) + g(x)`, `d/dt log rho = -div`; a slice of a masked problem sees itself and those before."""
    parts = slices(problem, count)
    nodes, weights, logs = (np.concatenate([part[k] for part in parts]) for k in range(3))
    ends = np.cumsum([len(part[0]) for part in parts])
    n, d = nodes.shape

    def slope_in(piece: float) -> Callable[[float, Array], Array]:
        laws: dict[float, Any] = {}

        def slope(t: float, flat: Array) -> Array:
            x = flat[: n * d].reshape(n, d)
            if t not in laws:
                laws.clear()
                now = law_at(problem["attention"], t, piece)
                laws[t] = drift_of(now.get("attention", now), d)
            found = [laws[t](x[a:b], x[:b], weights[:b]) for a, b in pairwise([0, *ends])]
            g, divergence = (np.concatenate([part[k] for part in found]) for k in range(2))
            if "drift" in problem:
                own = perceptron(law_at(problem["drift"], t, piece), x)
                g, divergence = g + own[0], divergence + own[1]
            return np.concatenate([g.ravel(), -divergence])

        return slope

    state, shown = np.concatenate([nodes.ravel(), logs]), []
    jumps = [t for t in breaks([problem["attention"], problem.get("drift", {})]) if 0 < t < times[-1]]
    for start, end in pairwise(sorted({0.0, *jumps, *times})):
        found = solve_ivp(slope_in(0.5 * (start + end)), (start, end), state, "DOP853", **TOLERANCES)
        if not found.success:
            raise RuntimeError(found.message)
        state = found.y[:, -1]
        if end in times:
            shown.append(Moved(state[: n * d].reshape(n, d), weights, state[n * d :]))
    return shown


def moments(nodes: Array, weights: Array) -> list[float]:
    """Mean, covariance (row by row), third central moments of each coordinate, mean of cos(x_1 + 2 x_2)."""
    mean = weights @ nodes
    centred = nodes - mean
    covariance = (weights[:, None] * centred).T @ centred
    wave = weights @ np.cos(nodes @ np.arange(1, nodes.shape[1] + 1))
    return [*mean, *covariance.ravel(), *(weights @ centred**3), float(wave)]
