"""Smooth functions of tokens whose mean values say where a measure is and how it must move."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mfpde.attention import Velocity
from mfpde.equation import Equation
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.measure.normal import Normal
from mfpde.streams import random_stream
from mfpde.typing import Float

__all__ = ["Complex", "Waves", "waves_for"]

Complex = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

#: wave numbers, times the size of the cloud of tokens: what is longer sees its mean alone, what is shorter nothing
_WAVE_NUMBERS = (0.5, 1.0, 1.5, 2.0)
_SEED = 17  # of the directions of the waves, the same for every problem


@dataclass(frozen=True)
class Waves:
    """The functions `e^{i <w_k, x>}` of the ambient space, with wave vectors `(K, d)`.

    >>> import mfpde
    >>> waves = Waves(np.array([[1.0], [2.0]]))
    >>> bell = mfpde.Gaussian(mean=0, covariance=1).on(mfpde.Line())
    >>> bool(abs(waves.means(bell) - np.exp([-0.5, -2.0])).max() < 1e-14)
    True
    """

    vectors: Float

    def means(self, measure: Measure) -> Complex:
        """`int e^{i <w_k, x>} dmu`, `(K,)`."""
        normal = measure.normal
        if normal is not None:
            return self._normal_means(normal)
        found: Complex = np.empty(len(self.vectors), dtype=complex)
        for here, (native, weights) in self._nodes(measure):
            found[here] = weights @ np.exp(1j * (measure.space.embed(native) @ self.vectors[here].T))
        return found

    def rates(self, measure: Measure, equation: Equation, time: float) -> Complex:
        """How fast the means must change: `int (<grad phi_k, G_mu> + div(D grad phi_k)) dmu`, `(K,)`."""
        velocity, normal = equation.velocity.at(time), measure.normal
        if normal is not None and velocity.gaussian_unfit(normal.mean.size) is None:
            return self._normal_rates(normal, velocity, equation, time)
        velocity.prepare(measure)
        found: Complex = np.empty(len(self.vectors), dtype=complex)
        for here, (native, weights) in self._nodes(measure):
            drift = measure.space.pushed(native, velocity.drift(measure, native).reshape(len(native), -1))
            waves = Waves(self.vectors[here])
            phases = measure.space.embed(native) @ waves.vectors.T
            slopes = 1j * (drift @ waves.vectors.T) - waves._spread(phases, equation, time)
            found[here] = weights @ (slopes * np.exp(1j * phases))
        return found

    def _nodes(self, measure: Measure) -> Iterator[tuple[slice, tuple[Float, Float]]]:
        """For all waves at once, or for each its own where these are fewer."""
        for index, vector in enumerate(self.vectors):
            nodes = measure.nodes_towards(vector)
            if nodes is None:
                yield slice(None), measure.nodes()
                return
            yield slice(index, index + 1), nodes

    def variances(self, measure: Measure, equation: Equation, time: float) -> Float:
        """Of the means' martingales, per unit time, times the number of tokens: `2 int <grad phi, D grad phi*> dmu`."""
        points, weights = measure.embedded_nodes()
        sizes = np.einsum("ki,ij,kj->k", self.vectors, _diffusion(equation, time), self.vectors)
        if measure.space.flat:
            return 2 * sizes * float(weights.sum())
        along = (points @ self.vectors.T) ** 2 * equation.noise.diffusion_at(time)
        found: Float = 2 * (weights @ (sizes - along))
        return found

    def fastest_decay(self, equation: Equation) -> float:
        """Rate at which noise wears off the shortest wave and those half as long, which nonlinear terms bring in."""
        return 4 * equation.noise.strongest * float((self.vectors**2).sum(axis=1).max())

    def turned(self, matrix: Float) -> Waves:
        """The same functions of `R x`."""
        return Waves(self.vectors @ matrix)

    def _normal_means(self, normal: Normal) -> Complex:
        """`e^{i <w, m> - <w, S w> / 2}`."""
        sizes = np.einsum("ki,ij,kj->k", self.vectors, normal.covariance, self.vectors)
        found: Complex = np.exp(1j * (self.vectors @ normal.mean) - 0.5 * sizes)
        return found

    def _normal_rates(self, normal: Normal, velocity: Velocity, equation: Equation, time: float) -> Complex:
        """Of an affine drift `c + B (x - m)`: `(i <w, c> - <w, B S w> - <w, D w>) int phi dmu`."""
        drift = velocity.gaussian_drift(normal.mean, normal.covariance)
        matrix = drift.B @ normal.covariance + _diffusion(equation, time)
        sizes = np.einsum("ki,ij,kj->k", self.vectors, matrix, self.vectors)
        found: Complex = (1j * (self.vectors @ drift.c) - sizes) * self._normal_means(normal)
        return found

    def _spread(self, phases: Float, equation: Equation, time: float) -> Float | Complex:
        """Minus `div(D grad phi) / phi`: on a sphere `D (|w|^2 - <w, x>^2 + i (d - 1) <w, x>)`."""
        sizes = np.einsum("ki,ij,kj->k", self.vectors, _diffusion(equation, time), self.vectors)
        if equation.geometry.flat:
            return np.broadcast_to(sizes, phases.shape)
        constant = equation.noise.diffusion_at(time)
        curved: Complex = sizes - constant * phases**2 + 1j * constant * (self.vectors.shape[1] - 1) * phases
        return curved


def _diffusion(equation: Equation, time: float) -> Float:
    """The matrix D."""
    dimension = equation.geometry.ambient_dimension
    root = equation.noise.root(dimension)
    return equation.noise.diffusion_at(time) * np.eye(dimension) if root is None else 0.5 * root @ root.T


def waves_for(space: Geometry, initial: Measure) -> Waves:
    """Waves of the size of the cloud of tokens, in directions that no symmetry has."""
    dimension = space.ambient_dimension
    shape = (len(_WAVE_NUMBERS), dimension)
    directions = random_stream(math.prod(shape), _SEED).standard_normal(shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    size = math.sqrt(float(np.trace(initial.covariance)) / dimension) if space.flat else dimension**-0.5
    return Waves(np.array(_WAVE_NUMBERS)[:, None] * directions / max(size, np.finfo(float).tiny ** 0.5))
