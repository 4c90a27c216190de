"""Drifts on the line and the plane as sums over weighted points: plain numpy, mfpde is not involved.

Times where a coefficient jumps or bends are `breaks`; `law_at` takes a law with constant coefficients out of one that
depends on time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit

Array = NDArray[np.float64]
#: points (m, d), nodes (n, d), weights (n,) -> drift (m, d) and its divergence (m,)
Drift = Callable[[Array, Array, Array], tuple[Array, Array]]


def square(value: Any, dimension: int) -> Array:
    """A matrix, or that multiple of the identity."""
    array = np.asarray(value, dtype=float)
    return array if array.ndim == 2 else float(array) * np.eye(dimension)


# -- coefficients that depend on time
# ------------------------------------------------------------------------------------------------------------------


def breaks(block: Any) -> list[float]:
    """Times where something in the block jumps or bends."""
    if isinstance(block, dict) and "times" in block and "values" in block:
        return list(block["times"])
    inside = block.values() if isinstance(block, dict) else block if isinstance(block, list) else ()
    return sorted({time for part in inside for time in breaks(part)})


def law_at(block: Any, time: float, piece: float) -> Any:
    """The block at a time of the piece (between two breaks) that holds the time `piece`."""
    if isinstance(block, dict) and "times" in block and "values" in block:
        times, values = np.asarray(block["times"], dtype=float), np.asarray(block["values"], dtype=float)
        last = max(int(np.searchsorted(times, piece, side="right")) - 1, 0)
        if block.get("interpolation", "constant") == "constant" or last + 1 == times.size:
            return values[last]
        share = (time - times[last]) / (times[last + 1] - times[last])
        return (1 - share) * values[last] + share * values[last + 1]
    if isinstance(block, dict):
        return {key: law_at(part, time, piece) for key, part in block.items()}
    if isinstance(block, list) and block and isinstance(block[0], dict):
        return [law_at(part, time, piece) for part in block]
    return block


# -- kernels
# ------------------------------------------------------------------------------------------------------------------

#: k(score) and its derivative
KERNELS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "unnormalized": (np.exp, np.exp),
    "linear": (lambda s: s, np.ones_like),
    "relu": (lambda s: np.maximum(s, 0), lambda s: np.where(s > 0, 1.0, 0.0)),
    "sigmoid": (expit, lambda s: expit(s) * expit(-s)),
}


def _by_scores(kind: str, A: Array, V: Array) -> Drift:
    """`int k(<Ax, y>) V y dmu`."""
    kernel, derivative = KERNELS[kind]

    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        scores, moved = x @ A.T @ y.T, y @ V.T
        lean = y @ A  # gradient of <Ax, y> in x
        return kernel(scores) @ (w[:, None] * moved), derivative(scores) @ (w * np.sum(moved * lean, axis=1))

    return drift


def tilted(scores: Array, w: Array, y: Array, A: Array, V: Array) -> tuple[Array, Array]:
    """`V E[y]` and `tr(V Cov[y] A)` under the weights `w e^{scores}` of each row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True)) * w
    p = raised / raised.sum(axis=1, keepdims=True)
    values, keys = y @ V.T, y @ A
    second = p @ np.sum(values * keys, axis=1)
    return p @ values, second - np.sum((p @ values) * (p @ keys), axis=1)


def _softmax(A: Array, V: Array) -> Drift:
    return lambda x, y, w: tilted(x @ A.T @ y.T, w, y, A, V)


def _l2(Q: Array, K: Array, V: Array) -> Drift:
    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        keys = y @ K.T
        return tilted(2 * (x @ Q.T) @ keys.T - np.sum(keys**2, axis=1), w, y, 2 * K.T @ Q, V)

    return drift


def _sinkhorn(A: Array, V: Array) -> Drift:
    """`k = u(x) e^{<Ax,y>} v(y)` with both marginals one; `grad log u = -A^T E[y]`, so DG is as for softmax."""
    last: dict[int, Array] = {}  # where the next scaling starts: the node's v of the call before

    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        raised = np.exp(y @ A.T @ y.T)
        v = last.get(len(y), np.ones(len(y)))
        for _ in range(5000):
            u = 1 / (raised @ (w * v))
            following = 1 / (raised.T @ (w * u))
            change = np.abs(following / v - 1).max()
            v = following
            if change < 4e-15:
                break
        else:
            raise RuntimeError(f"Sinkhorn stands at {change:.1e}")
        last[len(y)] = v
        return tilted(x @ A.T @ y.T, w * v, y, A, V)

    return drift


def drift_of(law: dict[str, Any], d: int) -> Drift:
    """The drift of a problem file's attention block."""
    kind = law["kind"]
    if kind == "multi-head":
        return total([(float(head.get("weight", 1.0)), drift_of(head, d)) for head in law["heads"]])
    V = square(law.get("V", 1.0), d)
    if kind == "l2":
        return _l2(square(law["Q"], d), square(law["K"], d), V)
    A = square(law["A"], d)
    if kind in KERNELS:
        return _by_scores(kind, A, V)
    return {"softmax": _softmax, "sinkhorn": _sinkhorn}[kind](A, V)


def total(parts: list[tuple[float, Drift]]) -> Drift:
    """A weighted sum of drifts."""

    def drift(x: Array, y: Array, w: Array) -> tuple[Array, Array]:
        found = [(weight, part(x, y, w)) for weight, part in parts]
        return sum(c * g for c, (g, _) in found), sum(c * div for c, (_, div) in found)

    return drift


# -- what moves every token on its own
# ------------------------------------------------------------------------------------------------------------------

#: s(z) and s'(z)
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "relu": (lambda z: np.maximum(z, 0), lambda z: np.where(z > 0, 1.0, 0.0)),
    "gelu": (
        lambda z: z * 0.5 * (1 + erf(z / np.sqrt(2))),
        lambda z: 0.5 * (1 + erf(z / np.sqrt(2))) + z * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi),
    ),
}


def perceptron(block: dict[str, Any], x: Array) -> tuple[Array, Array]:
    """`g(x) = W s(U x + b)` and its divergence."""
    W, U = np.asarray(block["W"], dtype=float), np.asarray(block["U"], dtype=float)
    activation, slope = ACTIVATIONS[block["activation"]]
    inner = x @ U.T + np.asarray(block["b"], dtype=float)
    return activation(inner) @ W.T, slope(inner) @ np.einsum("ih,hi->h", W, U)
