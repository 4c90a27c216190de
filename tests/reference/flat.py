"""An independent program for the equation on the line and the plane: plain numpy and scipy, mfpde is not involved.

Without noise Gauss nodes of the initial measure move by the drift, their density along with them. With noise the
density on a periodic box, wide enough for its tails to vanish, moves by a Fourier method of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
#: points (m, d), nodes (n, d), weights (n,) -> drift (m, d) and its divergence (m,)
Drift = Callable[[Array, Array, Array], tuple[Array, Array]]
TOLERANCES = {"rtol": 3e-14, "atol": 1e-15}


def square(value: Any, dimension: int) -> Array:
    """A matrix, or that multiple of the identity."""
    array = np.asarray(value, dtype=float)
    return array if array.ndim == 2 else float(array) * np.eye(dimension)


def _by_scores(kernel: Callable[[Array, Array], tuple[Array, Array]], A: Array, V: Array) -> Drift:
    """`int k(<Ax, y>) V y dmu` from `k` and `k'` times the weights, both `(m, n)`."""

    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        k, slope = kernel(x @ A.T @ y.T, w)
        moved = y @ V.T
        lean = y @ A  # gradient of <Ax, y> in x
        return k @ moved, np.einsum("mn,nd,nd->m", slope, moved, lean, optimize=True)

    return drift


def _softmax(scores: Array, w: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True)) * w
    return raised / raised.sum(axis=1, keepdims=True)


def _normalised(scores_of: Callable[[Array, Array], Array], A: Array, V: Array) -> Drift:
    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        p = _softmax(scores_of(x, y), w)
        mean = p @ y
        values, keys = y @ V.T, y @ A  # div G = tr(V Cov A), Cov of y under the tilted measure
        second = np.einsum("mn,nd,nd->m", p, values, keys, optimize=True)
        return mean @ V.T, second - np.sum((mean @ V.T) * (mean @ A), axis=1)

    return drift


def drift_of(law: dict[str, Any], d: int) -> Drift:
    """The drift of a problem file's attention block."""
    kind = law["kind"]
    if kind == "multi-head":
        heads = [(float(head.get("weight", 1.0)), drift_of(head, d)) for head in law["heads"]]

        def summed(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
            parts = [(weight, head(x, y, w)) for weight, head in heads]
            return sum(c * g for c, (g, _) in parts), sum(c * div for c, (_, div) in parts)

        return summed
    V = square(law.get("V", 1.0), d)
    if kind == "l2":
        Q, K = square(law["Q"], d), square(law["K"], d)
        return _normalised(lambda x, y: 2 * (x @ Q.T) @ (y @ K.T).T - np.sum((y @ K.T) ** 2, axis=1), 2 * K.T @ Q, V)
    A = square(law["A"], d)
    if kind == "softmax":
        return _normalised(lambda x, y: x @ A.T @ y.T, A, V)
    kernels: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
        "unnormalized": lambda s, w: (np.exp(s) * w, np.exp(s) * w),
        "linear": lambda s, w: (s * w, np.broadcast_to(w, s.shape)),
        "relu": lambda s, w: (np.maximum(s, 0) * w, (s > 0) * w),
        "sigmoid": lambda s, w: (w / (1 + np.exp(-s)), w * np.exp(-s) / (1 + np.exp(-s)) ** 2),
    }
    return _by_scores(kernels[kind], A, V)


# -- initial measures: nodes, weights, logarithm of the density
# ------------------------------------------------------------------------------------------------------------------


def _tensor(rule: tuple[Array, Array], d: int) -> tuple[Array, Array]:
    points = np.stack(np.meshgrid(*[rule[0]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weights = np.prod(np.stack(np.meshgrid(*[rule[1]] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=1)
    return points, weights


def _gaussian_log(points: Array, mean: Array, covariance: Array) -> Array:
    z = np.linalg.solve(np.linalg.cholesky(covariance), (points - mean).T)
    return -0.5 * np.sum(z**2, axis=0) - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]


def _gaussian(block: dict[str, Any]) -> tuple[Array, Array]:
    mean = np.atleast_1d(np.asarray(block["mean"], dtype=float))
    return mean, square(block["covariance"], mean.size)


def initial_nodes(block: dict[str, Any], count: int) -> tuple[Array, Array, Array]:
    """Nodes (n, d), weights, log density there; `count` nodes along each direction of each part."""
    if block["kind"] == "gaussian":
        mean, covariance = _gaussian(block)
        x, w = np.polynomial.hermite_e.hermegauss(count)
        kept = w > 1e-26 * w.max()
        points, weights = _tensor((x[kept], w[kept] / w.sum()), mean.size)
        nodes = mean + points @ np.linalg.cholesky(covariance).T
        return nodes, weights, _gaussian_log(nodes, mean, covariance)
    if block["kind"] == "mixture":
        shares = np.array([part.get("weight", 1.0) for part in block["components"]])
        shares = shares / shares.sum()
        parts = [initial_nodes(part, count) for part in block["components"]]
        nodes = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([c * part[1] for c, part in zip(shares, parts, strict=True)])
        logs = [
            np.log(c) + _gaussian_log(nodes, *_gaussian(p)) for c, p in zip(shares, block["components"], strict=True)
        ]
        return nodes, weights, np.logaddexp.reduce(logs)
    x, w = np.polynomial.legendre.leggauss(count)
    if "ball" in block:
        centre, radius = np.asarray(block["ball"]["center"], dtype=float), float(block["ball"]["radius"])
        angle = 2 * np.pi * np.arange(2 * count) / (2 * count)
        square_of_r, w_r = 0.5 * (x + 1), 0.5 * w  # r^2 is uniform
        radii = radius * np.sqrt(square_of_r)
        nodes = centre + np.stack([np.outer(radii, np.cos(angle)), np.outer(radii, np.sin(angle))], -1).reshape(-1, 2)
        return nodes, np.repeat(w_r / (2 * count), 2 * count), np.full(len(nodes), -np.log(np.pi * radius**2))
    box = np.asarray(block["box"], dtype=float)
    unit, weights = _tensor((0.5 * (x + 1), 0.5 * w), len(box))
    sides = box[:, 1] - box[:, 0]
    return box[:, 0] + unit * sides, weights, np.full(len(unit), -np.log(sides.prod()))


@dataclass(frozen=True)
class Moved:
    """Nodes of one time with their weights and densities."""

    nodes: Array
    weights: Array
    log_density: Array


def solve_by_nodes(problem: dict[str, Any], times: list[float], count: int) -> list[Moved]:
    """The equation without noise: `x' = G(x)`, `d/dt log rho = -div G`."""
    nodes, weights, logs = initial_nodes(problem["initial"], count)
    n, d = nodes.shape
    drift = drift_of(problem["attention"], d)

    def slope(_: float, flat: Array) -> Array:
        x = flat[: n * d].reshape(n, d)
        g, divergence = drift(x, x, weights)
        return np.concatenate([g.ravel(), -divergence])

    start = np.concatenate([nodes.ravel(), logs])
    found = solve_ivp(slope, (0, times[-1]), start, "DOP853", t_eval=times, **TOLERANCES)
    if not found.success:
        raise RuntimeError(found.message)
    return [Moved(y[: n * d].reshape(n, d), weights, y[n * d :]) for y in found.y.T]


def moments(nodes: Array, weights: Array) -> list[float]:
    """Mean, covariance (row by row), third central moments of each coordinate, mean of cos(x_1 + 2 x_2)."""
    mean = weights @ nodes
    centred = nodes - mean
    covariance = (weights[:, None] * centred).T @ centred
    wave = weights @ np.cos(nodes @ np.arange(1, nodes.shape[1] + 1))
    return [*mean, *covariance.ravel(), *(weights @ centred**3), float(wave)]


def solve_by_waves(problem: dict[str, Any], times: list[float], half: float, count: int) -> tuple[Array, list[Array]]:
    """The equation with noise on the line: Fourier collocation on [-half, half]; points and densities at each time."""
    x = -half + 2 * half / count * np.arange(count)
    drift, noise = drift_of(problem["attention"], 1), 1 / float(problem["noise"]["kappa"])
    order = np.pi / half * np.arange(count // 2 + 1)
    order[-1] = 0.0
    parts = problem["initial"].get("components", [problem["initial"]])
    shares = np.array([part.get("weight", 1.0) for part in parts])
    logs = [_gaussian_log(x[:, None], *_gaussian(part)) for part in parts]
    density = (shares / shares.sum()) @ np.exp(logs)

    def slope(_: float, rho: Array) -> Array:
        g, _div = drift(x[:, None], x[:, None], np.maximum(rho, 0) * (x[1] - x[0]))
        flux = np.fft.rfft(rho * g[:, 0]) * 1j * order
        return -np.fft.irfft(flux + noise * order**2 * np.fft.rfft(rho), count)

    found = solve_ivp(slope, (0, times[-1]), density, "DOP853", t_eval=times, rtol=1e-12, atol=1e-16)
    if not found.success:
        raise RuntimeError(found.message)
    return x, list(found.y.T)
