"""Written densities on the circle: by their Fourier series, and Gauss rules between edges."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from mfpde.geometry import Circle, CircleSeries
from mfpde.geometry.series import clean
from mfpde.measure.adaptive_quadrature import graded, of_any_item, split
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.edge_search import crossings
from mfpde.measure.written_density import WrittenDensity
from mfpde.typing import Complex, Float

__all__ = ["density_on_circle"]

_SAMPLE_ANGLES = 2**15  # for the Fourier series of a smooth density
#: last coefficients, relative to the first, of a smooth density; larger ones belong to a kink or a jump
_SMOOTH_NOISE_MAX = 1e-13
_PANELS = 64  # of Gauss nodes, so many that tilts e^{<w, y>} up to |w| = 200 are integrated to rounding
_EDGE_SAMPLES = 4096  # angles between which sign changes of kinks are searched for
#: modes of a density with edges that are found by Gauss quadrature, and how many times as many panels that takes
_INTEGRATED_MODES, _PANEL_REFINEMENT = 1024, 5


class DensityOnCircle(CircleDensity):
    """A written density; `norm` is the integral of what was written."""

    def __init__(self, norm: float, *series: Any) -> None:
        super().__init__(*series)
        self.norm = norm


@lru_cache(maxsize=16)  # a problem is checked before it is solved, and 2^15 samples take a millisecond
def density_on_circle(text: str) -> DensityOnCircle:
    """From so many samples that no wave or peak a solver could follow hides between them."""
    density = WrittenDensity(text, Circle())
    theta = Circle().layout(_SAMPLE_ANGLES).axes[0].values
    coefficients: Complex = np.fft.rfft(density(theta))[: _SAMPLE_ANGLES // 2] / _SAMPLE_ANGLES
    mass = coefficients[0].real * 2 * np.pi
    if not mass > 1e-300:
        raise density.without_mass()
    series = coefficients / coefficients[0].real
    # a smooth density's coefficients end in the rounding noise of its samples; what is at that level is made zero
    noise = float(np.abs(series[-series.size // 4 :]).max())
    smooth = noise < _SMOOTH_NOISE_MAX
    series = clean(series, 4 * noise if smooth else 0.0)
    length = int(np.flatnonzero(series)[-1]) + 1
    known = CircleDensity.of(series[:length])
    if smooth:
        return DensityOnCircle(mass, known.fourier, length, partial(_over, density, mass))
    points, masses = _rule(density, _PANEL_REFINEMENT)
    mass = float(masses.sum())
    exact = CircleSeries.of_points(points[:, None], masses / masses.sum(), _INTEGRATED_MODES - 1).coefficients
    series[: min(_INTEGRATED_MODES, length)] = exact[:length]  # samples know them to the square of their distance only
    known = CircleDensity.of(series[:length])

    return DensityOnCircle(mass, known.fourier, length, partial(_over, density, mass), partial(_between_edges, density))


def _over(density: WrittenDensity, mass: float, angles: Float) -> Float:
    return density(angles) / mass


def _between_edges(density: WrittenDensity, _accuracy: float, refinement: float) -> tuple[Float, Float]:
    points, masses = _rule(density, int(np.ceil(refinement)))
    return points[:, None], masses / masses.sum()


@lru_cache(maxsize=16)
def _rule(density: WrittenDensity, finer: int = 1) -> tuple[Float, Float]:
    low, high = np.array([0.0]), np.array([2 * np.pi])
    _, edges, _, _ = crossings([of_any_item(kink) for kink in density.kinks], low, high, _EDGE_SAMPLES)
    cuts = np.concatenate([edges, 2 * np.pi / (_PANELS * finer) * np.arange(1, _PANELS * finer)])
    panels = split(low, high, np.zeros(cuts.size, dtype=np.intp), cuts, np.arange(cuts.size) < edges.size)
    _, theta, masses = graded(of_any_item(density), panels, 1e-14)
    return theta, masses
