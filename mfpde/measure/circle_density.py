"""Densities on the circle, held by their Fourier series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np

from mfpde.geometry import Circle, CircleSeries
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.basins import Cluster
from mfpde.measure.circle_clusters import clusters_on_circle
from mfpde.measure.circle_grid import CircleGrid, lowest
from mfpde.measure.density_grid import DensityGrid, relative_entropy
from mfpde.measure.rules import times
from mfpde.streams import uniform_rows
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["CircleDensity"]

#: modes summed for a density whose coefficients decay slowly
MODES_WITHOUT_BANDWIDTH = 2**14
#: equispaced nodes beyond those that resolve the density: for the modes of the function that is integrated
NODES_FOR_THE_INTEGRAND = 1024
#: least number of cells, and cells per mode, of the distribution function that draws invert
_TABLE_CELLS, _TABLE_CELLS_PER_MODE = 4096, 8
#: angles in a block of a sum over modes: it bounds the table of waves
_BLOCK_ANGLES = 256
_RUN = 32  # modes that are summed at once; runs of them, by Horner's rule


class CircleDensity(Measure):
    """`rho(theta) = (1/2 pi) sum_k c_k e^{i k theta}`, `c_{-k} = conj(c_k)`, `c_0 = 1`.

    `series(count)` gives the first coefficients; `bandwidth` is the number beyond which they vanish to roundoff
    (None: they decay slowly, as for an arc). A closed form of the density, when there is one, makes `evaluate` exact;
    `rule(accuracy, refinement)` gives better nodes than equispaced ones where there are edges.

    >>> CircleDensity.of(np.array([1.0, 0.25])).evaluate([0.0])          # (1 + cos(theta) / 2) / (2 pi)
    array([0.23873241])
    """

    _geometry = Circle()

    def __init__(
        self,
        series: Callable[[int], Complex],
        bandwidth: int | None,
        density: Callable[[Float], Float] | None = None,
        rule: Callable[[float, float], tuple[Float, Float]] | None = None,
    ) -> None:
        self._series = series
        self.bandwidth = bandwidth
        self._density = density
        self._rule = rule

    @classmethod
    def of(cls, coefficients: AnyArray) -> CircleDensity:
        """From finitely many coefficients."""
        known = np.asarray(coefficients, dtype=complex)
        return cls(partial(_resized, known), known.size)

    @classmethod
    def from_values(cls, values: Float) -> CircleDensity:
        """From densities at equispaced angles (interpolated, mass as given)."""
        return cls.of((np.fft.rfft(values) * (2 * np.pi / values.size))[: (values.size + 1) // 2])

    def harmonics(self, degree: int) -> CircleSeries:
        return CircleSeries(self._series(degree + 1))

    def coefficients(self, count: int) -> Complex:
        """The first coefficients."""
        return self._series(count)

    def on_grid(self, count: int) -> Float:
        """Densities at `count` equispaced angles, from all modes that such a grid shows."""
        return np.fft.irfft(_resized(self.coefficients((count + 1) // 2), count // 2 + 1), count) * (
            count / (2 * np.pi)
        )

    def at_grid(self, count: int) -> Float:
        """The same from a closed form, where there is one: modes that the grid does not show are in it, too."""
        return self.on_grid(count) if self._density is None else self._density(Circle().layout(count).axes[0].values)

    def evaluate(self, points: AnyArray) -> Float:
        theta = Circle().points(points)[:, 0]
        if self._density is not None:
            return self._density(theta)
        modes = self.coefficients(self.bandwidth or MODES_WITHOUT_BANDWIDTH)
        runs = _resized(modes, -(-modes.size // _RUN) * _RUN).reshape(-1, _RUN).T
        density = np.empty_like(theta)
        for start in range(0, theta.size, _BLOCK_ANGLES):
            angles = theta[start : start + _BLOCK_ANGLES]
            sums, wave = np.exp(1j * np.outer(angles, np.arange(_RUN))) @ runs, np.exp(1j * _RUN * angles)
            total = np.zeros_like(wave)
            for one in sums.T[::-1]:
                total = total * wave + one
            density[start : start + _BLOCK_ANGLES] = (total.real - 0.5 * modes[0].real) / np.pi
        return density

    @property
    def mass(self) -> float:
        return float(self.coefficients(1)[0].real)

    @cached_property
    def _grid(self) -> CircleGrid:
        return CircleGrid.coarsest(self)

    def density_grids(self, quantity: str) -> Iterator[DensityGrid]:
        grid: CircleGrid | None = self._grid
        while grid is not None:
            yield grid
            grid = grid.finer()

    def relative_entropy(self) -> float:
        return relative_entropy(self.density_grids("entropy"))

    def entropy(self) -> float:
        return float(np.log(2 * np.pi)) - self.relative_entropy()

    def minimum(self) -> float:
        return lowest(self._grid)

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        return clusters_on_circle(self._grid, prominence)

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        if self._rule is not None:
            return self._rule(accuracy, refinement)
        count = times(refinement, 2 * (self.bandwidth or MODES_WITHOUT_BANDWIDTH) + NODES_FOR_THE_INTEGRAND)
        layout = Circle().layout(count)
        density = self.at_grid(count)
        # a sum of modes is not known below roundoff of its maximum, and a tilt e^{<w, y>} must not amplify that
        known = np.abs(density) > 4 * np.finfo(float).eps * density.max()
        weights = (density if self._density is not None else np.where(known, density, 0.0)) * layout.weight
        return layout.axes[0].values[:, None], weights / weights.sum()

    @property
    def mean(self) -> Float:
        first = self.coefficients(2)[1]
        return np.array([first.real, 0.0 - first.imag])  # not -0.0

    @property
    def covariance(self) -> Float:
        second = self.coefficients(3)[2]
        raw = 0.5 * np.array([[1 + second.real, -second.imag], [-second.imag, 1 - second.real]])
        return raw - np.outer(self.mean, self.mean)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.sample_share(0, count, seed)

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        grid = max(_TABLE_CELLS, _TABLE_CELLS_PER_MODE * (self.bandwidth or 0))
        theta = np.linspace(0, 2 * np.pi, grid + 1)
        density = np.maximum(self.evaluate(theta), 0.0)
        cumulative = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        uniform = uniform_rows(count, 1, seed, first=first)[:, 0]
        return np.interp(uniform * cumulative[-1], cumulative, theta)[:, None]


def _resized(known: Complex, count: int) -> Complex:
    out = np.zeros(count, dtype=complex)
    out[: min(count, known.size)] = known[:count]
    return out
