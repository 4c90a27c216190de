"""Laws of tokens."""

from mfpde.measure.base import Initial, Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.density import Density
from mfpde.measure.mixture import Mixture
from mfpde.measure.particles import Particles, Points
from mfpde.measure.snapshot import Snapshot
from mfpde.measure.uniform import Uniform
from mfpde.measure.von_mises import VonMises

__all__ = [
    "CircleDensity",
    "Density",
    "Initial",
    "Measure",
    "Mixture",
    "Particles",
    "Points",
    "Snapshot",
    "Uniform",
    "VonMises",
]
