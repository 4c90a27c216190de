"""Stages of a step that integrates noise exactly, in modes in which diffusion is diagonal.

In a frame that moves the conductivities K along the axes change within a step. The scheme follows their integrals, the
spread `sigma' = K`, like mean and matrix of the frame, so that exponents `E = sum sigma_i lambda_i` of the modes are
known at every stage; K beside the diagonal, where the axes of a frame are not at right angles, is transport. With N the
transport the stages are

    U_i = e^{E_i} (u + h sum_j a_ij S_j) + (e^{E_i} - 1) / L_n N(u_n),    S_j = e^{-E_j} (N(U_j) - L_j / L_n N(u_n)),

the generalized integrating factor for `N(u_n) L(t) / L_n`, whose integral is known; where K is constant that is
[krogstad2005]. e^{-E_j} multiplies rounding errors, so a mode with |h L_n| > `LARGEST_DECAY` has S = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import Start
from mfpde.solvers.finite_volume.system import CellSystem, Fluxes
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, NODES
from mfpde.typing import Float

__all__ = ["ExactStages"]


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
        fluxes = system.fluxes(system.scheme.order, before.density, start.rates.speeds, noise.mixed)
        self._constant = modes.coefficients(self._transport(before, start.rates.speeds, fluxes))
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
        self._exponents = self._modes.rates(length * _combined(weights, self._spread))
        self._decay = np.exp(self._exponents)
        integrated = np.expm1(self._exponents) / self._divisors
        integrated[self._steady] = node * length
        carried = self._given + length * _combined(weights, self._scaled)
        return Solution(
            self._modes.values(self._decay * carried + integrated * self._constant),
            before.mean + length * _combined(weights, self._mean),
            before.matrix + length * _combined(weights, self._matrix),
        )

    def add(self, stage: Solution) -> Float:
        """Take in the rates of the solution at the present node; the change of N since the start."""
        system, number = self._system, self._count
        rates, noise = system.rhs(self._time, stage, self._nearby, spreads=False), _Noise.at(system, self._time, stage)
        fluxes = rates.fluxes
        if noise.mixed.any():  # rates are those of transport alone
            fluxes = system.fluxes(system.scheme.order, stage.density, rates.speeds, noise.mixed)
        share = self._modes.rates(noise.conductivities) / self._divisors
        share[self._steady] = 1.0
        transport = self._transport(stage, rates.speeds, fluxes)
        change: Float = self._modes.coefficients(transport) - share * self._constant
        growth = np.divide(1.0, self._decay, out=np.zeros_like(self._decay), where=self._slow)
        self._scaled[number], self._mean[number] = growth * change, rates.mean
        self._matrix[number], self._spread[number] = rates.matrix + noise.widened, noise.conductivities
        self._nearby, self._count = rates, number + 1
        return change

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

    def _transport(self, solution: Solution, speeds: Float, fluxes: Fluxes) -> Float:
        """What transport changes, `(panels, rows, columns)`."""
        change: Float = fluxes.along[..., :-1] - fluxes.along[..., 1:]
        if self._system.grid.dimension == 2:
            change += fluxes.across[:, :-1] - fluxes.across[:, 1:]
        return change + self._modes.lifting(solution.density, speeds) if self._system.scheme.walls else change


def _combined(weights: Float, parts: Float) -> Float:
    """`sum weights parts` over as many parts as there are weights."""
    found: Float = weights @ parts[: weights.size].reshape(weights.size, -1)
    return found.reshape(parts.shape[1:])
