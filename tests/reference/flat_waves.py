"""An independent program for the equation with noise on the line and the plane: Fourier series, plain numpy and scipy.

The density lives on a periodic box so wide that its tails vanish at the walls. It starts from the exact Fourier
coefficients of the initial measure, edges included, which diffusion smooths at once; sums and fluxes are cut off
smoothly before the walls, so that nothing that is not periodic meets the series. mfpde is not involved.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import erfc, jv

from reference.flat_initial import gaussian, shares
from reference.flat_laws import KERNELS, breaks, law_at, perceptron, square

Array = NDArray[np.float64]
#: masses (n_1, ..) -> drift (d, n_1, ..)
GridDrift = Callable[[Array], Array]


def characteristic(block: dict[str, Any], k: Array) -> NDArray[np.complex128]:
    """`E[e^{-i <k, x>}]` at frequencies `(d, ..)`."""
    if block["kind"] == "mixture":
        parts = zip(shares(block), block["components"], strict=True)
        return np.sum([c * characteristic(part, k) for c, part in parts], axis=0)
    if block["kind"] == "gaussian":
        mean, covariance = gaussian(block)
        spread = np.einsum("i...,ij,j...->...", k, covariance, k)
        return np.exp(-1j * np.tensordot(mean, k, 1) - 0.5 * spread)
    if "ball" in block:
        centre, radius = np.asarray(block["ball"]["center"], dtype=float), float(block["ball"]["radius"])
        size = radius * np.sqrt(np.sum(k**2, axis=0))
        held = np.where(size == 0, 1.0, size)
        return np.exp(-1j * np.tensordot(centre, k, 1)) * np.where(size == 0, 1.0, 2 * jv(1, held) / held)
    low, high = np.asarray(block["box"], dtype=float).T
    each = [
        np.exp(-0.5j * (a + b) * q) * np.sinc(0.5 * (b - a) * q / np.pi) for a, b, q in zip(low, high, k, strict=True)
    ]
    return np.prod(each, axis=0)


class Grid:
    """Equispaced points on [-half, half]^d, their frequencies, and the smooth cut before the walls."""

    def __init__(self, d: int, half: float, count: int, cut: float) -> None:
        self.d, self.count, self.width = d, count, 2 * half / count
        self.x = -half + self.width * np.arange(count)
        self.half, self.volume = half, self.width**d
        whole = np.pi / half * np.fft.fftfreq(count, 1 / count)
        last = np.pi / half * np.arange(count // 2 + 1)
        self.k = np.array(np.meshgrid(*[whole] * (d - 1), last, indexing="ij"))
        self.kept = np.all(np.abs(self.k) < (count // 2 - 0.5) * np.pi / half, axis=0)  # the highest has no derivative
        self.axes = tuple(range(d))
        edge = 0.5 * erfc((np.abs(self.x) - (half - 6 * cut)) / cut)
        self.inside = edge if d == 1 else np.multiply.outer(edge, edge)
        self.points = np.stack(np.meshgrid(*[self.x] * d, indexing="ij"), axis=-1).reshape(-1, d)

    def values(self, coefficients: NDArray[np.complex128]) -> Array:
        return np.fft.irfftn(coefficients, (self.count,) * self.d, axes=self.axes)

    def coefficients(self, values: Array) -> NDArray[np.complex128]:
        return self.kept * np.fft.rfftn(values, axes=self.axes)

    def start(self, block: dict[str, Any]) -> Array:
        shift = np.exp(-1j * self.half * self.k.sum(axis=0))  # the first point is -half
        return self.values(self.kept * characteristic(block, self.k) * shift) / self.volume


def _exponential(grid: Grid, A: Array, V: Array, factors: Array, normalised: bool) -> GridDrift:
    """`V sum_y e^{<Ax,y>} f(y) m(y) y`, over the same sum without y if normalised: one matrix for each direction of y,
    the points x in rows."""
    scores = grid.points @ A.T
    raised = [np.exp(np.multiply.outer(scores[:, i], grid.x)) for i in range(grid.d)]
    shape = (grid.count,) * grid.d

    def drift(masses: Array) -> Array:
        weighed = masses * factors
        if grid.d == 1:
            sums = [raised[0] @ weighed, raised[0] @ (weighed * grid.x)]
        else:
            first = raised[0] @ weighed
            second = raised[0] @ (weighed * grid.x[:, None])
            sums = [
                np.einsum("mn,mn->m", first, raised[1]),
                np.einsum("mn,mn->m", second, raised[1]),
                np.einsum("mn,mn,n->m", first, raised[1], grid.x),
            ]
        first = np.array(sums[1:])
        if normalised:  # far out, where nobody is, sums are rounding noise; a mean lies in the box
            first = np.clip(first / np.where(sums[0] > 0, sums[0], np.inf), -grid.half, grid.half)
        return (V @ first).reshape(grid.d, *shape)

    return drift


def _by_scores(grid: Grid, kind: str, A: Array, V: Array) -> GridDrift:
    if kind == "linear":  # only second moments matter

        def linear(masses: Array) -> Array:
            second = (grid.points * masses.ravel()[:, None]).T @ grid.points
            return (V @ second @ A @ grid.points.T).reshape(grid.d, *masses.shape)

        return linear
    kernel = KERNELS[kind][0](grid.points @ A.T @ grid.points.T)
    moved = grid.points @ V.T

    def drift(masses: Array) -> Array:
        return (kernel @ (masses.ravel()[:, None] * moved)).T.reshape(grid.d, *masses.shape)

    return drift


def grid_drift(law: dict[str, Any], grid: Grid) -> GridDrift:
    """The drift of an attention block on the grid's points."""
    d = grid.d
    if law["kind"] == "multi-head":
        heads = [(float(head.get("weight", 1.0)), grid_drift(head, grid)) for head in law["heads"]]
        return lambda masses: sum(weight * head(masses) for weight, head in heads)
    V, one = square(law.get("V", 1.0), d), np.ones((grid.count,) * d)
    if law["kind"] == "l2":
        Q, K = square(law["Q"], d), square(law["K"], d)
        factors = np.exp(-np.sum((grid.points @ K.T) ** 2, axis=1)).reshape(one.shape)
        return _exponential(grid, 2 * K.T @ Q, V, factors, normalised=True)
    A = square(law["A"], d)
    if law["kind"] in ("softmax", "unnormalized"):
        return _exponential(grid, A, V, one, law["kind"] == "softmax")
    return _by_scores(grid, law["kind"], A, V)


def solve_by_waves(
    problem: dict[str, Any], times: list[float], half: float, count: int, cut: float = 0.25
) -> tuple[Grid, list[Array]]:
    """Grid and, at each time, densities: `(n_1, ..)`, or `(slices, n_1, ..)` of a masked problem (parts of mass 1)."""
    d = {"line": 1, "plane": 2}[problem["geometry"]["kind"]]
    grid, law = Grid(d, half, count, cut), problem["attention"]
    masked = law["kind"] == "masked"
    parts = len(law["positions"]) if masked else 1
    shape = (parts, *(count,) * d)
    damping = np.sum(grid.k**2, axis=0)
    jumps = breaks([law, problem.get("drift", {}), problem["noise"]])

    def slope_in(piece: float) -> Callable[[float, Array], Array]:
        kept: dict[str, Any] = {}

        def slope(t: float, flat: Array) -> Array:
            if not kept or (jumps and kept["time"] != t):
                now = law_at(law, t, piece)
                kept.update(time=t, drift=grid_drift(now.get("attention", now), grid))
                kept["own"] = 0.0
                if "drift" in problem:
                    own = perceptron(law_at(problem["drift"], t, piece), grid.points)[0]
                    kept["own"] = own.T.reshape(d, *shape[1:])
                kept["diffusion"] = 1 / float(law_at(problem["noise"]["kappa"], t, piece))
            rho, change = flat.reshape(shape), []
            seen = np.zeros(shape[1:])
            for part in rho:
                seen = seen + part * grid.inside * (grid.volume / parts)
                flux = (kept["drift"](seen) + kept["own"]) * (part * grid.inside)
                spread = kept["diffusion"] * damping * grid.coefficients(part)
                waves = sum(1j * k * grid.coefficients(f) for k, f in zip(grid.k, flux, strict=True))
                change.append(-grid.values(spread + waves))
            return np.ravel(change)

        return slope

    state, shown = np.concatenate([grid.start(problem["initial"]).ravel()] * parts), []
    for start, end in pairwise(sorted({0.0, *(t for t in jumps if 0 < t < times[-1]), *times})):
        found = solve_ivp(slope_in(0.5 * (start + end)), (start, end), state, "DOP853", rtol=1e-12, atol=1e-16)
        if not found.success:
            raise RuntimeError(found.message)
        state = found.y[:, -1]
        if end in times:
            shown.append(state.reshape(shape if masked else shape[1:]).copy())
    return grid, shown
