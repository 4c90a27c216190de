"""Reference solutions on the circle by dense quadrature: no FFT, no Fourier series, no import from mfpde.

    d_t mu + d_theta(mu G) = (1/kappa) mu''                                               (physics.md, sections 1 and 2)
    unnormalized:  G(theta) = int e^{beta cos(theta-phi)} sin(phi-theta) dmu(phi)
    softmax:       the same divided by  Z(theta) = int e^{beta cos(theta-phi)} dmu(phi)

Two discretisations that share no code path beyond the formula: `solve_by_quadrature` (fixed nodes, any noise) and
`solve_by_characteristics` (moving nodes, no noise). What is known in closed form is in `closed_forms`.
Everything is O(points^2) per evaluation and meant to be slow, short and right.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import OdeSolution, solve_ivp

from reference.closed_forms import extrapolated_midpoint

Array = NDArray[np.float64]
Density = Callable[[Array], Array]
Kind = Literal["unnormalized", "softmax"]
Integrator = Literal["DOP853", "Radau", "extrapolation"]

# scipy refuses relative tolerances below 100 machine epsilons and warns below that.
TIGHTEST = 2.3e-14
UNIFORM = 1 / (2 * np.pi)


def equispaced(points: int) -> Array:
    """Angles 2 pi j / points, on which the trapezoid rule is spectrally accurate."""
    return 2 * np.pi * np.arange(points) / points


def normalised(initial: Density, points: int = 4096) -> Density:
    """The density with mass one."""
    mass = 2 * np.pi * float(np.mean(initial(equispaced(points))))
    return lambda theta: np.asarray(initial(theta), dtype=float) / mass


def signed_offsets(points: int) -> NDArray[np.int64]:
    """row - column modulo `points`, in [-points/2, points/2).

    Matrices built from these are antisymmetric to the last bit; tan near pi instead of near 0, or differences of
    rounded angles, would bias the drift and turn the whole density by 1e-11 in a long run.
    """
    count = np.arange(points)
    return (count[:, None] - count[None, :] + points // 2) % points - points // 2


def differentiation_matrices(points: int) -> tuple[Array, Array]:
    """First and second derivative of the trigonometric interpolant, `points` even.

    Closed forms of Trefethen, Spectral Methods in MATLAB (2000), eqs. (3.9) and (3.12).
    """
    if points % 2:
        raise ValueError(f"points must be even, got {points}")
    offset = signed_offsets(points)
    sign = np.where(offset % 2, -1.0, 1.0)
    half = np.where(offset == 0, 1.0, offset * np.pi / points)
    first = np.where((offset == 0) | (2 * offset == -points), 0.0, 0.5 * sign / np.tan(half))
    second = np.where(offset == 0, 0.0, -0.5 * sign / np.sin(half) ** 2)
    # The diagonal is fixed by "the derivative of a constant vanishes", which keeps the mass to roundoff.
    np.fill_diagonal(second, -second.sum(axis=1))
    return first, second


def interpolate(values: Array, angles: Array) -> Array:
    """Trigonometric interpolation of equispaced values (last axis, even count) by the barycentric formula."""
    points = values.shape[-1]
    half = 0.5 * (np.asarray(angles, dtype=float)[:, None] - equispaced(points)[None, :])
    sine = np.sin(half)
    hit = np.abs(sine) < 1e-15
    weight = np.where(np.arange(points) % 2, -1.0, 1.0) * np.cos(half) / np.where(hit, 1.0, sine)
    weight[hit.any(axis=1)] = 0.0
    weight[hit] = 1.0
    interpolated: Array = values @ (weight / weight.sum(axis=1, keepdims=True)).T
    return interpolated


def moments(values: Array, count: int = 5) -> NDArray[np.complex128]:
    """int e^{-ik theta} dmu for k = 1..count, by the trapezoid rule on equispaced values (last axis)."""
    points = values.shape[-1]
    wave = np.exp(-1j * np.outer(np.arange(1, count + 1), equispaced(points)))
    result: NDArray[np.complex128] = values @ wave.T * (2 * np.pi / points)
    return result


class FixedNodes:
    """The equation on equispaced nodes: right-hand side and its exact Jacobian.

    The unknown is the excess over the uniform density: growth from a perturbation of 1e-3 would otherwise multiply the
    rounding errors of the uniform part by 1e3 and more.
    """

    def __init__(self, points: int, beta: float, kappa: float, kind: Kind) -> None:
        gap = -signed_offsets(points) * (2 * np.pi / points)  # phi - theta: row = query, column = token
        # For softmax the common factor e^{-beta} cancels and keeps large beta from overflowing.
        shift = beta if kind == "softmax" else 0.0
        weight = np.exp(beta * np.cos(gap) - shift) * (2 * np.pi / points)
        self.numerator = weight * np.where(gap == np.pi, 0.0, np.sin(gap))
        self.denominator = weight if kind == "softmax" else None
        self.first, second = differentiation_matrices(points)
        self.diffusion = second / kappa if np.isfinite(kappa) else None

    def drift(self, excess: Array) -> Array:
        """G at the nodes; the uniform part of the density attracts nowhere."""
        push: Array = self.numerator @ excess
        return push if self.denominator is None else push / (self.denominator @ (excess + UNIFORM))

    def rhs(self, _time: float, excess: Array) -> Array:
        """d(excess)/dt."""
        rate: Array = -(self.first @ ((excess + UNIFORM) * self.drift(excess)))
        if self.diffusion is not None:
            rate = rate + self.diffusion @ excess
        # Every exact rate has mean zero; rounding in the products does not, and would accumulate as a drift of mass.
        return np.asarray(rate - rate.mean())

    def jacobian(self, _time: float, excess: Array) -> Array:
        """d(rhs)/d(excess), up to the removal of the mean."""
        density, drift = excess + UNIFORM, self.drift(excess)
        slope = self.numerator
        if self.denominator is not None:
            slope = (slope - drift[:, None] * self.denominator) / (self.denominator @ density)[:, None]
        matrix: Array = -self.first @ (np.diag(drift) + density[:, None] * slope)
        return matrix if self.diffusion is None else matrix + self.diffusion


def solve_by_quadrature(
    initial: Density,
    times: Sequence[float],
    beta: float,
    kappa: float,
    kind: Kind,
    points: int = 256,
    *,
    angles: ArrayLike | None = None,
    tolerance: float = 1e-13,
    integrator: Integrator = "DOP853",
    steps: int = 64,
) -> Array:
    """Density (time, angle) by the method of lines; `angles` defaults to the `points` nodes themselves.

    `steps` is used by the integrator "extrapolation" only: fixed steps between output times.
    """
    nodes = FixedNodes(points, beta, kappa, kind)
    excess = normalised(initial)(equispaced(points)) - UNIFORM
    rows, now = [], 0.0
    for time in times:
        # Marching from one output time to the next avoids the lower order of dense output.
        excess = _advance(nodes, excess, time - now, integrator, tolerance, steps)
        rows.append(excess + UNIFORM)
        now = time
    values = np.array(rows)
    return values if angles is None else interpolate(values, np.asarray(angles, dtype=float))


def _advance(
    nodes: FixedNodes, excess: Array, span: float, integrator: Integrator, tolerance: float, steps: int
) -> Array:
    if span == 0:
        return excess
    if integrator == "extrapolation":
        return np.asarray(extrapolated_midpoint(lambda y: nodes.rhs(0.0, y), excess, span, steps))
    relative, absolute = max(tolerance, TIGHTEST), tolerance * float(np.abs(excess).max())
    if integrator == "Radau":
        path = solve_ivp(nodes.rhs, (0.0, span), excess, "Radau", jac=nodes.jacobian, rtol=relative, atol=absolute)
    else:
        path = solve_ivp(nodes.rhs, (0.0, span), excess, "DOP853", rtol=relative, atol=absolute)
    if not path.success:
        raise RuntimeError(f"{integrator} stopped at t = {path.t[-1]} of {span}: {path.message}")
    return np.asarray(path.y[:, -1])


def drift_and_slope(tokens: Array, weights: Array, queries: Array, beta: float, kind: Kind) -> tuple[Array, Array]:
    """G and dG/dtheta at `queries` for the measure sum of weights * Dirac(tokens), by the direct double sum."""
    cosine = np.outer(np.cos(queries), np.cos(tokens)) + np.outer(np.sin(queries), np.sin(tokens))
    sine = np.outer(np.cos(queries), np.sin(tokens)) - np.outer(np.sin(queries), np.cos(tokens))  # sin(phi - theta)
    shift = beta if kind == "softmax" else 0.0
    kernel = np.exp(beta * cosine - shift) * weights
    drift: Array = (kernel * sine).sum(axis=1)
    slope: Array = (kernel * (beta * sine**2 - cosine)).sum(axis=1)
    if kind == "unnormalized":
        return drift, slope
    total = kernel.sum(axis=1)
    drift = drift / total
    # dZ/dtheta = beta * (unnormalized drift), hence the quotient rule closes on the drift itself.
    return drift, slope / total - beta * drift**2


def solve_by_characteristics(
    initial: Density,
    times: Sequence[float],
    beta: float,
    kind: Kind,
    nodes: int = 512,
    *,
    angles: ArrayLike | None = None,
    tolerance: float = 1e-13,
) -> Array:
    """Density (time, angle) without noise: tokens move by the exact double sum, queries are traced back to t = 0.

    The tokens are the trapezoid nodes of mu_0 and keep their weights, so the sum over tokens stays a spectrally
    accurate quadrature of the moved measure. Along a trajectory d(log density)/dt = -dG/dtheta.
    """
    density = normalised(initial)
    labels = equispaced(nodes)
    weights = density(labels) * (2 * np.pi / nodes)
    queries = labels if angles is None else np.asarray(angles, dtype=float)

    def move(_time: float, tokens: Array) -> Array:
        return drift_and_slope(tokens, weights, tokens, beta, kind)[0]

    tight = max(tolerance, TIGHTEST)
    path = solve_ivp(move, (0.0, max(times)), labels, method="DOP853", rtol=tight, atol=tolerance, dense_output=True)
    if not path.success or path.sol is None:
        raise RuntimeError(f"tokens stopped at t = {path.t[-1]}: {path.message}")
    rows = [_traced_back(path.sol, weights, density, queries, time, beta, kind, tight) for time in times]
    return np.array(rows)


def _traced_back(
    tokens: OdeSolution,
    weights: Array,
    density: Density,
    queries: Array,
    time: float,
    beta: float,
    kind: Kind,
    tolerance: float,
) -> Array:
    if time == 0:
        return density(queries)

    def back(now: float, state: Array) -> Array:
        theta = state[: queries.size]
        return np.concatenate(drift_and_slope(tokens(now), weights, theta, beta, kind))

    start = np.concatenate([queries, np.zeros_like(queries)])
    path = solve_ivp(back, (time, 0.0), start, method="DOP853", rtol=tolerance, atol=tolerance)
    if not path.success:
        raise RuntimeError(f"queries stopped at t = {path.t[-1]}: {path.message}")
    label, minus_growth = np.split(path.y[:, -1], 2)  # the second is -int_0^time dG/dtheta: integrated backwards
    return density(label) * np.exp(minus_growth)
