"""Densities that go on where their cells end.

Softmax at x looks at tokens near `m + S A x`, in units of the standard deviation q = |S A| times as far out as x
itself. With q near 1 or beyond no box is large enough: what is cut off falsifies the drift further in with time. So a
density is continued outside of its cells by a multiple of a Gaussian,

    M = M_cells + a (F - I),      F = e^{<t, m> + <t, C t> / 2},      I = s_1 s_2 / F,

where I is the Gaussian's own sum over the cells, and s_i its sum over the strip that the cells of axis i make. Each
strip is a sum along one axis, of the conditional Gaussian, and costs little. For C = 1 (moving frames) and on the line
the product is exact, otherwise wrong by what correlates outside both strips, beyond the corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.typing import AnyArray, Float

__all__ = ["ClosedDensity", "Tail", "ring_of", "tail_of"]

_RING = 8  # of the cells between the edge and where tails are compared: there the grid still resolves them
_FAINT = 1e-250  # Gaussians this small are no measure of anything
_ALIKE = (1e-6, 4.0)  # a density so many times its own Gaussian near the edges, or more, has other tails; or none


@dataclass(frozen=True)
class Tail:
    """`share N(mean, covariance)` in the coordinates of a lattice, per unit mass there."""

    share: float
    mean: Float
    covariance: Float


def ring_of(axes: Sequence[Float], mean: Float, covariance: Float) -> list[tuple[int, int, float]]:
    """The rows of cells near every edge, as direction and index, with the sum of `e^{-<z, C^{-1} z> / 2}` over each."""
    inverse, found = np.linalg.inv(covariance), []
    for direction, axis in enumerate(axes):
        for end in (axis.size // _RING, axis.size - 1 - axis.size // _RING):
            grids = [np.array([axis[end]]) if i == direction else other for i, other in enumerate(axes)]
            z = np.stack(np.meshgrid(*grids, indexing="ij")).reshape(len(axes), -1) - mean[:, None]
            found.append((direction, end, float(np.exp(-0.5 * np.einsum("im,ij,jm->m", z, inverse, z)).sum())))
    return found


def tail_of(
    density: Float, volume: float, ring: Sequence[tuple[int, int, float]], mean: Float, covariance: Float
) -> Tail:
    """The multiple of a Gaussian that a density `(cells, ..)` comes to near its edges.

    On the side where that is least, so that continuing is never worse than cutting off.
    """
    least = min(
        float(density.take(end, axis=direction).sum()) / gaussian if gaussian > _FAINT else 0.0
        for direction, end, gaussian in ring
    )
    share = least * float(np.sqrt(np.linalg.det(2 * np.pi * covariance)))
    mass = float(density.sum()) * volume
    return Tail(share if _ALIKE[0] * mass <= share <= _ALIKE[1] * mass else 0.0, mean, covariance)


class ClosedDensity(GridDensity):
    """A stack of panels, each with its tail."""

    def __init__(self, panels: Sequence[Panel], tails: Sequence[Tail]) -> None:
        super().__init__(panels)
        self._tails = tuple(tails)

    @property
    def compact(self) -> bool:
        return False

    def log_laplace(self, w: AnyArray | Lattice, gradient: bool = False) -> Any:
        value, mean = super().log_laplace(w, gradient=True)
        queries = w.points().T if isinstance(w, Lattice) else self._tilts(w).T
        shape = mean.shape
        mean = mean.reshape(shape[0], -1) if isinstance(w, Lattice) else mean.T
        value = value.ravel()
        for panel, tail in zip(self.panels, self._tails, strict=True):
            if tail.share > 0:
                value, mean = _with_outside(panel, tail, queries, value, mean)
        mean = mean.reshape(shape) if isinstance(w, Lattice) else mean.T
        value = value.reshape(w.shape) if isinstance(w, Lattice) else value
        return (value, mean) if gradient else value


def _with_outside(panel: Panel, tail: Tail, w: Float, value: Float, mean: Float) -> tuple[Float, Float]:
    """(log M, grad log M) with the outside of one panel added; w and mean `(d, m)`."""
    lattice = panel.lattice
    tilt = lattice.matrix.T @ w
    pushed = tail.covariance @ tilt
    level = lattice.origin @ w + np.log(tail.share)
    whole, whole_mean = tail.mean @ tilt + 0.5 * (tilt * pushed).sum(axis=0), tail.mean[:, None] + pushed
    inside, inside_mean = whole, whole_mean
    for direction in range(len(tilt)):
        strip, strip_mean = _strip(panel, tail, direction, tilt)
        inside, inside_mean = inside + (strip - whole), inside_mean + (strip_mean - whole_mean)
    top = np.maximum(value, whole + level)
    here, all_of_it, part = np.exp(value - top), np.exp(whole + level - top), np.exp(inside + level - top)
    outside = all_of_it - part
    total = here + outside
    outer = lattice.matrix @ (all_of_it * whole_mean - part * inside_mean) + np.multiply.outer(lattice.origin, outside)
    return top + np.log(total), (here * mean + outer) / total


def _strip(panel: Panel, tail: Tail, direction: int, tilt: Float) -> tuple[Float, Float]:
    """(log, gradient) of the Gaussian's sum over the cells of one axis, with nothing cut along the other one."""
    from mfpde.transform import tilted_mean

    axis, width = panel.lattice.axes[direction], panel.widths[direction]
    middle, variance = tail.mean[direction], tail.covariance[direction, direction]
    slope = tail.covariance[:, direction] / variance
    rest = tail.covariance - variance * np.multiply.outer(slope, slope)
    masses = np.exp(-0.5 * (axis - middle) ** 2 / variance) * (width / np.sqrt(2 * np.pi * variance))
    along, value = tilted_mean((slope @ tilt)[:, None], axis[:, None], masses)
    pushed = rest @ tilt
    value = value + (tail.mean - slope * middle) @ tilt + 0.5 * (tilt * pushed).sum(axis=0)
    return value, tail.mean[:, None] + pushed + np.multiply.outer(slope, along[:, 0] - middle)
