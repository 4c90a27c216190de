"""Exponential factors that measures may be multiplied by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mfpde.typing import Float

__all__ = ["Damping", "LogFactors", "Pair", "values_at"]

#: a logarithm and its gradient
Pair: TypeAlias = tuple[Float, Float]


@dataclass(frozen=True, eq=False)
class Damping:
    """`g(y) = -|Ky|^2`, K the `root`: normal laws times e^g have a closed form, sums of measures go part by part."""

    root: Float

    def at(self, nodes: Float) -> Float:
        """g at vectors `(n, d)`."""
        return -np.sum((nodes @ self.root.T) ** 2, axis=1)


#: g of a factor e^g: numbers at the nodes of a measure, or a function that is known everywhere; None is 0
LogFactors: TypeAlias = Float | Damping | None


def values_at(log_factors: LogFactors, nodes: Float) -> Float | None:
    """g at the nodes, `(n,)`; None is 0."""
    return log_factors.at(nodes) if isinstance(log_factors, Damping) else log_factors
