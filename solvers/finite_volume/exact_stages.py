"""Stages of a step that integrates noise exactly, in modes in which diffusion is diagonal.

In a frame that moves the conductivities K along the axes change within a step. The scheme follows their integrals, the
spread `sigma' = K`, like mean and matrix of the frame, so that exponents `E = sum sigma_i lambda_i` of the modes are
known at every stage; K beside the diagonal, where the axes of a frame are not at right angles, is transport. With N the
transport the stages are

    U_i = e^{E_i} (u + h sum_j a_ij S_j) + (e^{E_i} - 1) / L_n N(u_n),    S_j = e^{-E_j} (N(U_j) - L_j / L_n N(u_n)),

the generalized integrating factor for `N(u_n) L(t) / L_n`, whose integral is known; where K is constant that is
[krogstad2005]. e^{-E_j} multiplies rounding errors, so a mode with |h L_n| > `LARGEST_DECAY` has S = 0.

What flows towards walls and is lifted there excites all modes alike, and the quadrature knows little of those that
decay within a step. Where K is constant a polynomial p in time, which is integrated exactly in every mode, therefore
takes the place of N(u_n): `follow` finds it from N at some nodes of the step, each of them reached with the polynomial
through those before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import Start, sound
from mfpde.solvers.finite_volume.system import CellSystem, Fluxes
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, NODES
from mfpde.typing import Float

__all__ = ["ExactStages", "rate_of_change"]

_SERIES_TERMS = 18  # of powers of |z| < 1


@dataclass(frozen=True)
class _Noise:
    """What noise does to the frames of a solution."""

    conductivities: Float  # along the axes, (panels, d)
    mixed: Float  # beside the diagonal, (panels, d, d)
    widened: Float  # what it adds to the rates of their matrices

    @classmethod
    def at(cls, system: CellSystem, time: float, solution: Solution) -> _Noise:
        strength, size = system.diffusion_at(time), solution.mean.shape[1]
        inverse: Float = 1.0 / solution.matrix if size == 1 else np.linalg.inv(solution.matrix).astype(float)
        widened = system.frame.widened(strength, inverse)
        if size == 1:
            return cls((strength * inverse * inverse)[:, 0], np.zeros_like(inverse), widened)
        both = strength * inverse @ inverse.transpose(0, 2, 1)
        return cls(both.diagonal(axis1=1, axis2=2), both * (1.0 - np.eye(size)), widened)


class ExactStages:
    """What the tableau combines: N of every stage, on the modes, and how its frames move."""

    def __init__(self, system: CellSystem, modes: Modes, start: Start, plan: Plan) -> None:
        self._system, self._modes, self._start, self._plan = system, modes, start, plan
        before, count = start.solution, NODES.size + 1
        noise = _Noise.at(system, start.time, before)
        #: of p, by powers of the time since the start
        self._polynomial = [modes.coefficients(_transport(system, modes, before, start.rates.speeds, noise))]
        self._given, self._rates = modes.coefficients(before.density), modes.rates(noise.conductivities)
        self._steady = self._rates == 0.0
        self._divisors = np.where(self._steady, 1.0, self._rates)
        self._slow = -plan.length * self._rates <= LARGEST_DECAY
        self._scaled = np.zeros((count, *self._given.shape))
        self._mean, self._spread = (np.zeros((count, *before.mean.shape)) for _ in range(2))
        self._matrix = np.zeros((count, *before.matrix.shape))
        self._mean[0], self._matrix[0], self._spread[0] = start.rates.mean, start.rates.matrix, noise.conductivities
        self._nearby, self._count = start.rates, 1

    def at(self, node: float, weights: Float) -> Solution:
        """The solution at a node."""
        length, before = self._plan.length, self._start.solution
        self._time = min(self._start.time + node * length, self._plan.latest)
        self._elapsed = node * length
        self._exponents = self._modes.rates(length * _combined(weights, self._spread))
        self._decay = np.exp(self._exponents)
        carried = self._decay * (self._given + length * _combined(weights, self._scaled))
        for integral, coefficients in zip(self._integrals(), self._polynomial, strict=True):
            carried += integral * coefficients
        return Solution(
            self._modes.values(carried),
            before.mean + length * _combined(weights, self._mean),
            before.matrix + length * _combined(weights, self._matrix),
        )

    def _integrals(self) -> list[Float]:
        """`int_0^t e^{(t - s) L} s^k ds` at the present node, for the powers k of p; of `L(s) / L_n` for k = 0."""
        t, z, top = self._elapsed, self._exponents, len(self._polynomial) - 1
        found = [np.expm1(z) / self._divisors]
        found[0][self._steady] = t
        if top == 0:
            return found
        for k in range(1, top + 1):
            found.append((k * found[-1] - t**k) / self._divisors)
        slow = np.abs(z) < 1.0  # where that loses digits, and the series for the highest power has them
        series = np.ones_like(z[slow])  # sum z^j (top + 1)! / (top + 1 + j)!
        for j in range(_SERIES_TERMS, 0, -1):
            series = 1.0 + z[slow] * series / (top + 1 + j)
        found[top][slow] = t ** (top + 1) / (top + 1) * series
        for k in range(top, 1, -1):
            found[k - 1][slow] = (t**k + self._rates[slow] * found[k][slow]) / k
        return found

    def add(self, stage: Solution) -> Float:
        """Take in the rates of the solution at the present node; the change of N since the start."""
        system, number = self._system, self._count
        rates, noise = system.rhs(self._time, stage, self._nearby, spreads=False), _Noise.at(system, self._time, stage)
        share = self._modes.rates(noise.conductivities) / self._divisors
        share[self._steady] = 1.0
        transport = _transport(system, self._modes, stage, rates.speeds, noise, rates.fluxes)
        change: Float = self._modes.coefficients(transport)
        change -= share * self._polynomial[0]
        for power, coefficients in enumerate(self._polynomial[1:], start=1):
            change -= self._elapsed**power * coefficients
        growth = np.divide(1.0, self._decay, out=np.zeros_like(self._decay), where=self._slow)
        self._scaled[number], self._mean[number] = growth * change, rates.mean
        self._matrix[number], self._spread[number] = rates.matrix + noise.widened, noise.conductivities
        self._nearby, self._count = rates, number + 1
        return change

    def follow(self, nodes: Sequence[float], cleared: Callable[[Solution], Solution]) -> bool:
        """Find p from stages at some nodes, cleared of rounding errors; False where one of them is not sound."""
        basis = np.array([0.0, 1.0])  # of Newton's polynomials, t at first: coefficients by powers of t
        for node in nodes:
            stage = self.at(node, np.array([node]))
            if not sound(stage):
                return False
            change, time = self.add(cleared(stage)), self._elapsed
            self._count = 1
            self._scaled[1] = 0.0
            share = change / np.polynomial.polynomial.polyval(time, basis)
            self._polynomial.append(np.zeros_like(share))
            for power, factor in enumerate(basis[1:].tolist(), start=1):
                self._polynomial[power] = self._polynomial[power] + factor * share
            basis = np.polynomial.polynomial.polymul(basis, (-time, 1.0))
        return True

    def followed(self, change: Float) -> Float:
        """What N, taken for linear in time, adds to the densities in fast modes: `h phi_2(E)` of its change."""
        exponents = np.where(self._slow, 1.0, self._exponents)
        weights = np.where(self._slow, 0.0, (np.expm1(exponents) / exponents - 1.0) / exponents)
        return self._modes.values(self._plan.length * weights * change)

    def difference(self, weights: Float) -> tuple[Float, Float, Float]:
        """`h sum weights rates` at the end, of density, mean and matrix: what an error estimate is made of."""
        length = self._plan.length
        density = self._modes.values(length * self._decay * _combined(weights, self._scaled))
        return density, length * _combined(weights, self._mean), length * _combined(weights, self._matrix)


def _transport(
    system: CellSystem, modes: Modes, solution: Solution, speeds: Float, noise: _Noise, fluxes: Fluxes | None = None
) -> Float:
    """What transport changes, `(panels, rows, columns)`; fluxes are its own, where all of the speeds are."""
    density, left = solution.density, modes.remaining(speeds, noise.conductivities)
    if fluxes is None or left is not speeds or noise.mixed.any():
        fluxes = system.fluxes(system.scheme.order, density, left, noise.mixed)
    change: Float = fluxes.along[..., :-1] - fluxes.along[..., 1:]
    if system.grid.dimension == 2:
        change += fluxes.across[:, :-1] - fluxes.across[:, 1:]
    return change + modes.lifting(density, left) if system.scheme.walls else change


def rate_of_change(system: CellSystem, modes: Modes, time: float, solution: Solution, speeds: Float) -> Float:
    """`d_t u` of noise and transport together, as modes have it."""
    noise = _Noise.at(system, time, solution)
    spread = modes.values(modes.rates(noise.conductivities) * modes.coefficients(solution.density))
    return spread + _transport(system, modes, solution, speeds, noise)


def _combined(weights: Float, parts: Float) -> Float:
    """`sum weights parts` over as many parts as there are weights."""
    found: Float = weights @ parts[: weights.size].reshape(weights.size, -1)
    return found.reshape(parts.shape[1:])
