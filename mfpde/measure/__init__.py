"""Laws of tokens."""

from mfpde.measure.base import Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.density import Density
from mfpde.measure.gaussian import Gaussian
from mfpde.measure.grid_density import GridDensity
from mfpde.measure.initial import Initial
from mfpde.measure.mixture import Mixture
from mfpde.measure.normal import Normal
from mfpde.measure.panel import Panel
from mfpde.measure.particles import Particles, Points
from mfpde.measure.positioned import Positioned
from mfpde.measure.snapshot import Snapshot
from mfpde.measure.superposition import Superposition
from mfpde.measure.uniform import Uniform
from mfpde.measure.von_mises import VonMises

__all__ = [
    "CircleDensity",
    "Density",
    "Gaussian",
    "GridDensity",
    "Initial",
    "Measure",
    "Mixture",
    "Normal",
    "Panel",
    "Particles",
    "Points",
    "Positioned",
    "Snapshot",
    "Superposition",
    "Uniform",
    "VonMises",
]
