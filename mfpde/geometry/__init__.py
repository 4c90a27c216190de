"""Where tokens live."""

from mfpde.geometry.axis import Axis
from mfpde.geometry.base import Geometry, need_space
from mfpde.geometry.circle import Circle
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.lattice import Lattice
from mfpde.geometry.layout import Constant, Field, Layout
from mfpde.geometry.line import Line
from mfpde.geometry.plane import Plane
from mfpde.geometry.queries import Queries, Scattered, multiple_of_identity
from mfpde.geometry.series import CircleSeries, HarmonicSeries, ZonalSeries
from mfpde.geometry.space import Space, euclidean
from mfpde.geometry.sphere import Sphere
from mfpde.geometry.sphere_series import SphereSeries

__all__ = [
    "Axis",
    "Circle",
    "CircleSeries",
    "Constant",
    "Field",
    "Geometry",
    "HarmonicSeries",
    "Harmonics",
    "Lattice",
    "Layout",
    "Line",
    "Plane",
    "Queries",
    "Scattered",
    "Space",
    "Sphere",
    "SphereSeries",
    "ZonalSeries",
    "euclidean",
    "multiple_of_identity",
    "need_space",
]
