"""What is known in closed form on the circle (physics.md, sections 5 and 6), to more digits than a double holds.

Moebius flow of noiseless Kuramoto: Marvel, Mirollo, Strogatz, Chaos 19, 043104 (2009).
Stationary states of noisy Kuramoto: Bertini, Giacomin, Pakdaman, J. Stat. Phys. 138 (2010).
"""

from collections.abc import Callable
from typing import Any, Literal

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
AnyArray = NDArray[Any]
Kind = Literal["unnormalized", "softmax"]
Side = Literal["upper", "lower"]


def extrapolated_midpoint(
    rhs: Callable[[AnyArray], AnyArray], state: AnyArray, until: float, steps: int, columns: int = 8
) -> AnyArray:
    """Autonomous ODE by fixed steps of Gragg's midpoint rule and Richardson extrapolation, order 2 * columns.

    Works in the precision of `state` (long double included), which no scipy integrator does.
    """
    step = np.longdouble(until) / steps
    for _ in range(steps):
        table: list[AnyArray] = []
        for row in range(1, columns + 1):
            fresh = [_midpoint(rhs, state, step, 2 * row)]
            for column, previous in enumerate(table, start=1):
                # Substep counts 2, 4, 6, ...: an even error expansion, so the nodes of the extrapolation are 1/count^2.
                ratio = np.longdouble(row) / (row - column)
                fresh.append(fresh[-1] + (fresh[-1] - previous) / (ratio**2 - 1).astype(state.real.dtype))
            table = fresh
        state = table[-1]
    return state


def _midpoint(rhs: Callable[[AnyArray], AnyArray], state: AnyArray, step: np.longdouble, count: int) -> AnyArray:
    small = (step / count).astype(state.real.dtype)
    before, now = state, state + small * rhs(state)
    for _ in range(count - 1):
        before, now = now, before + 2 * small * rhs(now)
    smoothed: AnyArray = (before + now + small * rhs(now)) / 2
    return smoothed


def moebius_density(
    theta: ArrayLike, time: float, initial: Callable[[AnyArray], AnyArray], nodes: int = 1024, steps: int | None = None
) -> Array:
    """Noiseless Kuramoto (beta = 0, kappa = inf) from any density, in long double.

    Every trajectory is z(t) = (zeta w + a) / (1 + conj(a) zeta w), w = e^{i theta_0}, with
        a' = (Z - conj(Z) a^2) / 2,   zeta' = -i Im(conj(Z) a) zeta,   Z = int z dmu,
    and the mean field Z is the trapezoid sum over mu_0 of the moved nodes.
    """
    pi = np.arctan2(np.longdouble(0), np.longdouble(-1))  # np.pi is a double
    angle = 2 * pi * np.arange(nodes) / nodes
    unit = np.exp(1j * angle)
    share = initial(angle) / initial(angle).sum()

    def rhs(state: AnyArray) -> AnyArray:
        a, zeta = state
        mean = (share * (zeta * unit + a) / (1 + np.conj(a) * zeta * unit)).sum()
        return np.array([(mean - np.conj(mean) * a**2) / 2, -1j * np.imag(np.conj(mean) * a) * zeta])

    count = steps if steps is not None else max(4, int(np.ceil(8 * time)))
    a, zeta = extrapolated_midpoint(rhs, np.array([0, 1], dtype=np.clongdouble), time, count)
    z = np.exp(1j * np.asarray(theta, dtype=np.longdouble))
    label = np.angle(np.conj(zeta) * (z - a) / (1 - np.conj(a) * z))
    mass = 2 * pi * initial(angle).mean()
    density = initial(label) / mass * (1 - abs(a) ** 2) / abs(1 - np.conj(a) * z) ** 2
    return np.asarray(density, dtype=np.float64)


def poisson_order_parameter(start: float, time: float) -> float:
    """Noiseless Kuramoto from a Poisson kernel of order parameter `start`: r' = r (1 - r^2) / 2."""
    growth = start * np.exp(0.5 * time)
    return float(growth / np.sqrt(1 - start**2 + growth**2))


def growth_rate(mode: int, beta: float, kappa: float, kind: Kind, digits: int = 30) -> mpmath.mpf:
    """mode^2 (g_mode/beta - 1/kappa), g_k = I_k(beta), with g_k/g_0 for softmax (physics.md, section 5)."""
    with mpmath.workdps(digits + 10):
        # k I_k(beta)/beta = (I_{k-1} - I_{k+1})/2 needs no division and so covers beta = 0.
        gain = mode * (mpmath.besseli(mode - 1, beta) - mpmath.besseli(mode + 1, beta)) / 2
        if kind == "softmax":
            gain /= mpmath.besseli(0, beta)
        damping = 0 if np.isinf(kappa) else mpmath.mpf(mode) ** 2 / mpmath.mpf(kappa)
        return +(gain - damping)


def critical_kappa(mode: int, beta: float, kind: Kind) -> float:
    """kappa_mode at which the uniform state loses stability to cos(mode theta)."""
    return float(mode**2 / growth_rate(mode, beta, np.inf, kind))


def kuramoto_order_parameter(kappa: float, digits: int = 30) -> mpmath.mpf:
    """The positive root of r = I_1(kappa r)/I_0(kappa r) for kappa > 2, otherwise 0 (physics.md, section 6)."""
    if kappa <= 2:
        return mpmath.mpf(0)
    with mpmath.workdps(digits + 10):

        def gap(r: mpmath.mpf) -> mpmath.mpf:
            # Divided by r, so that the root r = 0 is gone.
            return mpmath.besseli(1, kappa * r) / mpmath.besseli(0, kappa * r) / r - 1

        # gap decreases in r, is positive near 0 and negative at 1: a bracketing method cannot miss the root.
        low = mpmath.sqrt(1 - mpmath.mpf(2) / kappa) / 4
        return +mpmath.findroot(gap, (low, mpmath.mpf(1)), solver="anderson", tol=mpmath.mpf(10) ** (-2 * digits))


def _folded_kernel(beta: float, mode: int, points: int, number: Any) -> Any:
    """(W(theta_i - theta_j) averaged over rotations by 2 pi/mode and reflections) for theta_i = pi i/(mode points).

    W = (e^{beta cos} - 1)/beta; the constant drops out of the self-consistency and makes beta = 0 regular.
    `number` is mpmath (any precision) or numpy.
    """
    count = 2 * mode * points
    beta = number.mpf(beta)
    wave = [
        (number.expm1(beta * c) / beta if beta else c)
        for c in (number.cos(2 * number.pi * j / count) for j in range(count))
    ]
    summed = [sum(wave[(j + 2 * points * image) % count] for image in range(mode)) for j in range(2 * points)]
    return [
        [(summed[i - j] + summed[(i + j) % (2 * points)]) / (2 * mode) for j in range(points + 1)]
        for i in range(points + 1)
    ]


def stationary_moments(
    beta: float,
    kappa: float,
    mode: int = 1,
    *,
    side: Side = "upper",
    points: int = 64,
    count: int = 8,
    digits: int = 30,
) -> list[mpmath.mpf]:
    """<cos k theta>, k = 0..count, of a stationary state mu ~ exp(kappa W*mu) of the unnormalized kernel.

    The state is even and has period 2 pi/mode; `side` picks the larger or the smaller positive <cos mode theta>. The
    unknowns are the masses at `points` + 1 trapezoid nodes of half a period. Newton runs in double precision; the last
    digits come from residuals in mpmath corrected by the double-precision Jacobian.
    """
    start = _state_in_double(beta, kappa, mode, side, points)
    with mpmath.workdps(digits + 10):
        kernel = mpmath.matrix(_folded_kernel(beta, mode, points, mpmath))
        ends = [mpmath.mpf(1) / 2 if i in (0, points) else mpmath.mpf(1) for i in range(points + 1)]
        masses = mpmath.matrix(start.tolist())
        for _ in range(12):
            field = mpmath.mpf(kappa) * (kernel * masses)
            peak = max(field)
            image = [end * mpmath.exp(value - peak) for end, value in zip(ends, field, strict=True)]
            total = sum(image)
            residual = [value / total - mass for value, mass in zip(image, masses, strict=True)]
            scale = max(abs(value) for value in residual)
            if scale < mpmath.mpf(10) ** (-digits - 3):
                break
            target = np.array([float(value / scale) for value in residual])
            jacobian = _jacobian(np.array([float(v / total) for v in image]), kappa * np.array(kernel.tolist(), float))
            update = np.linalg.solve(jacobian, -target)
            masses += mpmath.matrix([scale * mpmath.mpf(value) for value in update])
        else:
            raise RuntimeError(f"stationary_moments: residual {mpmath.nstr(scale, 3)} after 12 corrections")
        angle = [mpmath.pi * i / (mode * points) for i in range(points + 1)]
        # A moment that is no multiple of the mode vanishes by symmetry; the fold over half a period would not show it.
        return [
            sum(m * mpmath.cos(k * a) for m, a in zip(masses, angle, strict=True)) if k % mode == 0 else mpmath.mpf(0)
            for k in range(count + 1)
        ]


def _jacobian(image: Array, exponent: Array) -> Array:
    """Derivative of softmax(exponent @ masses) - masses, where the softmax value is `image`."""
    covariance = np.diag(image) - np.outer(image, image)
    jacobian: Array = covariance @ exponent - np.eye(image.size)
    return jacobian


def _state_in_double(beta: float, kappa: float, mode: int, side: Side, points: int) -> Array:
    """Newton from von Mises profiles of many concentrations; the roots are sorted by <cos mode theta>."""
    exponent = kappa * np.array(_folded_kernel(beta, mode, points, mpmath.fp))
    cosine = np.cos(np.pi * np.arange(points + 1) / points)
    ends = np.where(np.isin(np.arange(points + 1), (0, points)), 0.5, 1.0)
    found: list[tuple[float, Array]] = []
    for concentration in np.geomspace(1e-2, max(10.0, 4 * kappa * np.exp(beta)), 60):
        masses = ends * np.exp(concentration * (cosine - 1))
        masses /= masses.sum()
        for _ in range(60):
            field = exponent @ masses
            image = ends * np.exp(field - field.max())
            image /= image.sum()
            update = np.linalg.solve(_jacobian(image, exponent), masses - image)
            masses = masses + update
            if not np.isfinite(masses).all() or abs(masses).max() > 10:
                break
            if abs(update).max() < 1e-13:
                if masses.min() > -1e-14 and cosine @ masses > 1e-6:
                    found.append((float(cosine @ masses), masses))
                break
    if not found:
        raise ValueError(f"no mode-{mode} state at beta = {beta}, kappa = {kappa}: only the uniform one was found")
    return (max if side == "upper" else min)(found, key=lambda item: item[0])[1]
