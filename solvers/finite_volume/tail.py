"""Densities that go on where their cells end.

Softmax at x looks at tokens near `m + S A x`, in units of the standard deviation q = |S A| times as far out as x itself.
Once q > 1 no box is large enough, and what is cut off falsifies the drift further in with time. So the density is
continued by a multiple of its frame's Gaussian: `M = M_cells + a (M_Gaussian - M_Gaussian, cells)`, where the last is a
product of two sums along the axes and costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.typing import AnyArray, Float

__all__ = ["ClosedDensity"]


class ClosedDensity(GridDensity):
    """A stack of panels, panel p continued by `shares[p]` times the Gaussian `N(origin, matrix matrix^T)` of its
    lattice."""

    def __init__(self, panels: Sequence[Panel], shares: Float) -> None:
        super().__init__(panels)
        self._outside = shares

    @property
    def compact(self) -> bool:
        return False

    def log_laplace(self, w: AnyArray | Lattice, gradient: bool = False) -> Any:
        value, mean = super().log_laplace(w, gradient=True)
        queries = w.points().T if isinstance(w, Lattice) else self._tilts(w).T
        flat = mean.reshape(mean.shape[0], -1) if isinstance(w, Lattice) else mean.T
        for panel, share in zip(self.panels, self._outside, strict=True):
            if share > 0:
                value, flat = _with_outside(panel, float(share), queries, value.ravel(), flat)
        if isinstance(w, Lattice):
            value, flat = value.reshape(w.shape), flat.reshape(mean.shape)
        else:
            flat = flat.T
        return (value, flat) if gradient else value


def _with_outside(panel: Panel, share: float, w: Float, value: Float, mean: Float) -> tuple[Float, Float]:
    """(log M, grad log M) with the outside of one panel added; w and mean `(d, m)`."""
    from mfpde.transform import tilted_mean

    lattice = panel.lattice
    tilt = lattice.matrix.T @ w
    level = lattice.origin @ w + np.log(share)
    whole, inside, inner = 0.5 * (tilt**2).sum(axis=0) + level, level.copy(), np.empty_like(tilt)
    for index, (axis, width) in enumerate(zip(lattice.axes, panel.widths, strict=True)):
        masses = np.exp(-0.5 * axis**2) * (width / np.sqrt(2 * np.pi))
        centred, logarithm = tilted_mean(tilt[index][:, None], axis[:, None], masses)
        inner[index], inside = centred[:, 0], inside + logarithm
    top = np.maximum(value, whole)
    here, all_of_it, part = np.exp(value - top), np.exp(whole - top), np.exp(inside - top)
    total = here + (all_of_it - part)
    outer = lattice.matrix @ (all_of_it * tilt - part * inner) + np.multiply.outer(lattice.origin, all_of_it - part)
    return top + np.log(total), (here * mean + outer) / total
