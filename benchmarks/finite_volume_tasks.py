"""What the benchmarks of finite volumes solve: softmax attention on Gaussians, whose closed form is known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde

__all__ = [
    "BUMPS",
    "COVARIANCE",
    "MEAN",
    "QUERY",
    "SPOTS",
    "VALUE",
    "Array",
    "closed_form",
    "gaussian",
    "law",
    "mfpde_error",
    "posed",
    "problem",
    "started",
    "steps",
]

Array = NDArray[np.float64]
MEAN, COVARIANCE = np.array([0.5, 0.0]), np.array([[1.0, 0.3], [0.3, 0.5]])
QUERY, VALUE = np.array([[1.0, 0.5], [-0.2, 0.7]]), np.array([[-1.0, 0.3], [-0.4, -0.8]])


def law(mean: Any, covariance: Any, **more: Any) -> dict[str, Any]:
    """A Gaussian, of one number or two."""
    return {"kind": "gaussian", "mean": mean, "covariance": covariance, **more}


#: two bumps on the line, and on the plane
BUMPS = [law(-1.0, 0.3, weight=0.4), law(1.5, 0.5, weight=0.6)]
SPOTS = [
    law([-1.0, 0.0], [[0.3, 0.05], [0.05, 0.4]], weight=0.4),
    law([1.5, 0.3], [[0.5, 0.0], [0.0, 0.3]], weight=0.6),
]


def posed(
    parts: list[dict[str, Any]], until: float, query: Any = 1, value: Any = -1, kappa: float | None = None,
    moved_by: dict[str, Any] | None = None, **solver: Any,
) -> mfpde.Problem:  # fmt: skip
    """Softmax attention, or another law, on a mixture, or on its only part."""
    block = "attention" if moved_by is None or "kind" in moved_by else "interaction"
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line" if np.size(parts[0].get("mean", 0)) == 1 else "plane"},
            block: moved_by or {"kind": "softmax", "A": query, "V": value},
            "noise": {} if kappa is None else {"kappa": kappa},
            "initial": parts[0] if len(parts) == 1 else {"kind": "mixture", "components": parts},
            "solver": {"kind": "finite-volume", **solver},
            "time": {"until": until, "save": False},
        }
    )


def problem(mean: Any, covariance: Any, until: float, **solver: Any) -> mfpde.Problem:
    """A = I, V = -I on a Gaussian."""
    return posed([law(mean, covariance)], until, **solver)


def started(task: mfpde.Problem) -> Any:
    """Its integration at t = 0."""
    return task.solver.start(task.posed())  # type: ignore[union-attr]


def steps(integration: Any, until: float) -> None:
    """All of them."""
    while integration.time < until:
        integration.advance(until, 10**9)


def closed_form(mean: Array, covariance: Array, until: float) -> tuple[Array, Array]:
    """A = I, V = -I: `S^{-1} = S_0^{-1} + 2 t`, and `m = e^{-t} (1 + 2 t S_0)^{-1/2} m_0`."""
    values, axes = np.linalg.eigh(covariance)
    grown = 1 + 2 * until * values
    shrunk = (axes * (np.exp(-until) / np.sqrt(grown))) @ axes.T
    return shrunk @ mean, (axes * (values / grown)) @ axes.T


def gaussian(points: Array, mean: Array, covariance: Array) -> Array:
    """Its density at points `(n, d)`."""
    z = points - mean
    exponent = -0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z)
    return np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def mfpde_error(task: mfpde.Problem, mean: Array, covariance: Array) -> float:
    """Integral of |error| at the end; infinite where the run has not come there."""
    run = mfpde.solve(task)
    if not run.outcome.complete:
        return float("inf")
    (panel,) = run.measure(-1).panels
    exact = gaussian(panel.lattice.points(), mean, covariance).reshape(panel.values.shape)
    return float(np.abs(panel.values - exact).sum() * panel.volume)
