"""Nodes of normal laws: those whose sums stay accurate under tilts, and the fewest."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure.rules import tensor
from mfpde.typing import Float

__all__ = ["normal_nodes", "three_points"]

#: largest tilt a, in standard deviations, for which `e^{az}` is integrated as accurately as 1 is
MAX_TILT = 8.0
_ROUNDING = 1e-16  # spacing is not chosen for less
_SMALLEST_ACCURACY = 1e-180  # to which nodes extend into the tails
_MAX_NODES = 2_000_000  # 16 MB for each component


@lru_cache(maxsize=8)
def normal_nodes(dimension: int, accuracy: float, refinement: float = 1.0) -> tuple[Float, Float]:
    """Points `(n, d)` and weights of N(0, I); the mean of `e^{<a, z>}`, |a| <= 8, is right to that relative accuracy.

    Equispaced points need half as many nodes for that as Gauss-Hermite: spacing h errs by `2 e^{-2 pi^2 / h^2}` under
    any tilt, an end at |a| + r by `e^{-r^2/2}`, which may be asked to be smaller than rounding.
    """
    digits, beyond = (-np.log(min(max(accuracy, least), 0.1) / 40) for least in (_ROUNDING, _SMALLEST_ACCURACY))
    spacing = np.sqrt(2 * np.pi**2 / digits) / refinement  # second moments lose the digit
    half = int(np.ceil((MAX_TILT + np.sqrt(2 * beyond)) / spacing))
    line = spacing * np.arange(-half, half + 1)
    if line.size**dimension > _MAX_NODES:
        raise ProblemError.at(
            "measure",
            f"nodes of a normal law of rank {dimension} would be {line.size}^{dimension}; "
            "use its closed forms, or Particles(measure.sample(count))",
        )
    grid = np.meshgrid(*[line] * dimension, indexing="ij")
    z = np.stack(grid, axis=-1).reshape(-1, dimension) if grid else np.zeros((1, 0))
    z = z[np.sum(z * z, axis=1) <= (half * spacing) ** 2 * (1 + 1e-12)]  # corners weigh nothing
    weights = np.exp(-0.5 * np.sum(z * z, axis=1))
    weights /= weights.sum()
    for array in (z, weights):
        array.setflags(write=False)  # they are kept
    return z, weights


def three_points(dimension: int) -> tuple[Float, Float]:
    """Points `(3^d, d)` and weights of N(0, I): Gauss-Hermite rules along each axis, exact to degree five."""
    points = tensor([np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0])] * dimension)
    return points, tensor([np.array([1.0, 4.0, 1.0]) / 6.0] * dimension).prod(axis=1)
