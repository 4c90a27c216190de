"""What a law makes of a density on a grid of harmonics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from mfpde.attention import Convolution
from mfpde.attention.base import Term
from mfpde.errors import ProblemError
from mfpde.solvers.spectral.law_grids import Grid
from mfpde.typing import Float

__all__ = ["DECAYED", "Part", "bounds_of", "kernel_between", "pull_of_uniform", "seen_by"]

#: of the largest, harmonics of a kernel that are left out: transforms leave some roundings. A rule resolves a kernel
#: when the last quarter of its harmonics is below
DECAYED = 2e-15

_MOST_DIMENSIONS = 3  # of the space around spheres whose coordinates potentials are written in


class Part(ABC):
    """A law on a grid."""

    #: what no component of the velocity exceeds
    bound: float
    #: whether sums over nodes see kinks of its kernels
    kinked: bool = False
    #: of a rule that is known to resolve its kernels
    nodes: int = 0

    @property
    @abstractmethod
    def cost(self) -> float:
        """Microseconds of one velocity, from the number of operations."""

    @abstractmethod
    def velocity(self, values: Float, densities: Float) -> Float:
        """Components `(slices, c, n)` from coefficients `(slices, 2, size)` and densities `(slices, n)`."""

    def on(self, grid: Grid) -> Part | None:
        """The same on another grid, where that is cheaper than anew."""
        return None

    def forget(self) -> None:  # noqa: B027 - most keep nothing
        """Drop what was kept from earlier velocities to make later ones faster."""


def bounds_of(terms: Sequence[Term]) -> list[float]:
    """What the mean of each term never exceeds on the unit sphere."""
    return [float(np.linalg.norm(term.value, 2)) * term.head.largest(term.value.shape[0], 1.0) for term in terms]


def kernel_between(term: Term, queries: Float, keys: Float) -> Float | None:
    """The kernel of a term between vectors, but for a factor of x alone; None where it depends on the measure."""
    with np.errstate(over="ignore"):
        found = term.head.fixed_kernel(queries, keys)
    if found is not None and not np.isfinite(found).all():
        raise ProblemError.at("attention", "overflows: its kernel is beyond a double; softmax has no such limit")
    return found


def seen_by(values: Float, masses: Float, masked: bool) -> Float:
    """Coefficients or densities `(slices, ..)` of what every slice sees."""
    return np.cumsum(masses.reshape(-1, *[1] * (values.ndim - 1)) * values, axis=0) if masked else values


def pull_of_uniform(convolution: Convolution, grid: Grid) -> Float:
    """Components `(c, n)` of what a convolution gives the uniform law: the pull of a potential outside, if it has
    one."""
    points, weights = grid.nodes(np.ones(grid.weights.size))
    if convolution.normaliser is not None or grid.geometry.ambient_dimension > _MOST_DIMENSIONS:
        return np.zeros((len(grid.frame), len(grid.points)))
    return grid.components(convolution.drift(grid.points, grid.geometry.series(points, weights, 1)))
