"""Laws of tokens."""

from mfpde.measure.base import Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.grid_density import GridDensity
from mfpde.measure.initial import Initial
from mfpde.measure.initial.density import Density
from mfpde.measure.initial.gaussian import Gaussian
from mfpde.measure.initial.mixture import Mixture
from mfpde.measure.initial.points import Points
from mfpde.measure.initial.snapshot import Snapshot
from mfpde.measure.initial.uniform import Uniform
from mfpde.measure.initial.von_mises import VonMises
from mfpde.measure.normal import Normal
from mfpde.measure.panel import Panel
from mfpde.measure.particles import Particles
from mfpde.measure.positioned import Positioned
from mfpde.measure.superposition import Superposition

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
