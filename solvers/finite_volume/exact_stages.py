"""Stages of a step that integrates noise exactly, in modes in which diffusion is diagonal.

In a frame that moves the conductivities K along the axes change within a step. The scheme follows their integrals, the
spread `sigma' = K`, like mean and matrix of the frame, so that exponents `E = sum sigma_i lambda_i` of the modes are
known at every stage; K beside the diagonal, where the axes of a frame are not at right angles, is transport. With N the
transport the stages are

    U_i = e^{E_i} (u + h sum_j a_ij S_j) + (e^{E_i} - 1) / L_n N(u_n),    S_j = e^{-E_j} (N(U_j) - L_j / L_n N(u_n)),

the generalized integrating factor for `N(u_n) L(t) / L_n`, whose integral is known; where K is constant that is
[krogstad2005]. e^{-E_j} multiplies rounding errors, so a mode with |h L_n| > `Modes.slow` has S = 0.

What flows towards walls and is lifted there excites all modes alike, and the quadrature knows little of those that
decay within a step. Where K is constant a polynomial p in time, which is integrated exactly in every mode, therefore
takes the place of N(u_n): `follow` finds it from N at some nodes of the step, each of them reached with the polynomial
through those before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.rates import Fluxes
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import Start, change_size, sound
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.exact_modes import (
    ModeStart,
    ModeStep,
    carry_modes,
    clear,
    conduct,
    continue_tails,
    gain,
    take_change,
)
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, STAGE_WEIGHTS, WEIGHTS
from mfpde.typing import Float

__all__ = ["ExactStages", "cleared", "rate_of_change", "take_exact_step"]

_RIPPLES_BELOW = 4.0  # times the largest negative density: what is smaller goes on as g does


class ExactStages:
    """What the tableau combines: N of every stage, on the modes, and how its frames move."""

    def __init__(self, system: CellSystem, modes: Modes, start: Start, plan: Plan) -> None:
        self._system, self._modes, self._start, self._plan = system, modes, start, plan
        before, count = start.solution, NODES.size + 1
        noise = _conductivities(system, start.time, before)
        transport = _coefficients(modes, _transport(system, modes, before, start.rates.speeds, noise))
        self._first = ModeStart(
            _coefficients(modes, before.density), transport[None], noise[0], *modes.along, modes.slow
        )
        self._decay, self._scaled = np.empty_like(transport), np.empty((count, *transport.shape))
        self._scaled[0] = 0.0
        self._mean, self._spread = (np.zeros((count, *before.mean.shape)) for _ in range(2))
        self._stages = ModeStep(self._scaled, self._spread, np.empty((2, transport.shape[2])))
        self._matrix = np.zeros((count, *before.matrix.shape))
        self._mean[0], self._matrix[0], self._spread[0] = start.rates.mean, start.rates.matrix, noise[0]
        self._nearby, self._count = start.rates, 1

    def at(self, node: float, weights: Float) -> Solution:
        """The solution at a node."""
        length, before = self._plan.length, self._start.solution
        self._time = min(self._start.time + node * length, self._plan.latest)
        self._elapsed, self._weights, reached = node * length, weights, np.empty_like(self._decay)
        carry_modes(self._elapsed, length * weights, self._first, self._stages, self._decay, reached)
        return Solution(
            self._modes.values(reached),
            before.mean + length * _combined(weights, self._mean),
            before.matrix + length * _combined(weights, self._matrix),
        )

    def add(self, stage: Solution) -> Float:
        """Take in the rates of the solution at the present node; the change of N since the start."""
        system, number = self._system, self._count
        rates = system.rhs(self._time, stage, self._nearby, spreads=False)
        noise = _conductivities(system, self._time, stage)
        change = _coefficients(self._modes, _transport(system, self._modes, stage, rates.speeds, noise, rates.fluxes))
        take_change(self._elapsed, self._plan.length, noise[0], self._first, self._decay, change, self._scaled[number])
        self._mean[number], self._matrix[number], self._spread[number] = rates.mean, rates.matrix, noise[0]
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
            share = change / np.polynomial.polynomial.polyval(time, basis)
            polynomial = np.concatenate([self._first.polynomial, np.zeros((1, *share.shape))])
            polynomial[1:] += np.multiply.outer(basis[1:], share)
            self._first = self._first._replace(polynomial=polynomial)
            basis = np.polynomial.polynomial.polymul(basis, (-time, 1.0))
        return True

    def followed(self, change: Float) -> Float:
        """What N, taken for linear in time, adds to the densities in fast modes: `h phi_2(E)` of its change."""
        length, modes = self._plan.length, self._modes
        slow = -length * modes.rates(self._first.conductivities) <= modes.slow
        exponents = np.where(slow, 1.0, modes.rates(length * _combined(self._weights, self._spread)))
        weights = np.where(slow, 0.0, (np.expm1(exponents) / exponents - 1.0) / exponents)
        return modes.values(length * weights * change)

    def difference(self, weights: Float) -> tuple[Float, Float, Float]:
        """`h sum weights rates` at the end, of density, mean and matrix: what an error estimate is made of."""
        length = self._plan.length
        density = self._modes.values(length * self._decay * _combined(weights, self._scaled))
        return density, length * _combined(weights, self._mean), length * _combined(weights, self._matrix)


def take_exact_step(
    system: CellSystem, modes: Modes, start: Start, plan: Plan, followed: Sequence[float], allowed: tuple[float, float]
) -> tuple[Solution | None, float, float]:
    """One step as planned, with p through transport at some nodes: where it leads, without ripples and with the mass
    from before (None where it was too long); its error in units of what is allowed of the density and of the frame;
    and the largest negative density that was cleared, relative to the peak, in units of the modes' scale."""
    before, stages, (rough, tolerance) = start.solution, ExactStages(system, modes, start, plan), allowed
    nowhere = None, np.inf, 0.0
    if not stages.follow(followed, lambda stage: _sound_tails(stage, modes, modes.floor)):
        return nowhere
    for number, node in enumerate(NODES[1:].tolist(), start=1):
        stage = stages.at(node, STAGE_WEIGHTS[number, :number])
        if not sound(stage):
            return nowhere
        stages.add(_sound_tails(stage, modes, modes.floor))
    reached = stages.at(1.0, WEIGHTS)
    if not sound(reached):
        return nowhere
    added = stages.followed(stages.add(_sound_tails(reached, modes, modes.floor)))
    reached = reached._replace(density=reached.density + added)
    five, three = (change_size(before, *stages.difference(row), rough, tolerance) for row in (ERROR_FIVE, ERROR_THREE))
    peaks = before.density.max(axis=(1, 2), keepdims=True)
    others = max(float(np.abs(added / peaks).max()), float((-reached.density / peaks).max())) / rough
    clipped = _ripples(reached, modes)
    new = _sound_tails(reached, modes, max(modes.floor, 2.0 * clipped))
    mass = before.density.sum(axis=(1, 2)) / new.density.sum(axis=(1, 2))
    new = new._replace(density=new.density * mass[:, None, None])
    return new, max(combined_error([five, three]), others), clipped


def cleared(solution: Solution, modes: Modes, share: float) -> Solution:
    """Without what is below that share of each panel's peak, both in units of the modes' scale."""
    density = np.empty_like(solution.density)
    clear(solution.density, modes.scale, share, density)
    return solution._replace(density=density)


def _sound_tails(solution: Solution, modes: Modes, share: float) -> Solution:
    """Likewise, or with what is below that share, or as small as ripples are, going on as g does."""
    if not modes.continued:
        return cleared(solution, modes, share)
    new = cleared(solution, modes, max(share, _RIPPLES_BELOW * _ripples(solution, modes)))
    continue_tails(modes.scale, new.density)
    return new


def _ripples(solution: Solution, modes: Modes) -> float:
    """The largest negative density, as a share of each panel's peak, both in units of the modes' scale."""
    weighed = solution.density / modes.scale
    return float((-weighed.min(axis=(1, 2)) / weighed.max(axis=(1, 2))).max())


def _conductivities(system: CellSystem, time: float, solution: Solution) -> tuple[Float, Float]:
    """Of the frames of a solution along the axes, `(panels, d)`, and beside the diagonal, `(panels, d, d)`."""
    along, mixed = np.empty_like(solution.mean), np.empty_like(solution.matrix)
    conduct(system.diffusion_at(time), solution.matrix, np.empty_like(mixed[0]), along, mixed)
    return along, mixed


def _coefficients(modes: Modes, values: Float) -> Float:
    return np.ascontiguousarray(modes.coefficients(values))


def _transport(
    system: CellSystem,
    modes: Modes,
    solution: Solution,
    speeds: Float,
    noise: tuple[Float, Float],
    fluxes: Fluxes | None = None,
) -> Float:
    """What transport and conductivities beside the diagonal change, `(panels, rows, columns)`; fluxes are their own,
    where all of the speeds are left to transport."""
    density, left = solution.density, modes.remaining(speeds, noise[0])
    if fluxes is None or left is not speeds:
        fluxes = system.fluxes(system.scheme.order, density, left, noise[1])
    change = np.empty_like(density)
    gain(fluxes.across, fluxes.along, change)
    return change + modes.lifting(density, left) if system.scheme.walls else change


def rate_of_change(system: CellSystem, modes: Modes, time: float, solution: Solution, speeds: Float) -> Float:
    """`d_t u` of noise and transport together, as modes have it."""
    noise = _conductivities(system, time, solution)
    spread = modes.values(modes.rates(noise[0]) * modes.coefficients(solution.density))
    return spread + _transport(system, modes, solution, speeds, noise)


def _combined(weights: Float, parts: Float) -> Float:
    """`sum weights parts` over as many parts as there are weights."""
    found: Float = weights @ parts[: weights.size].reshape(weights.size, -1)
    return found.reshape(parts.shape[1:])
