"""Where tokens live."""

from mfpde.geometry.base import Axis, Geometry, Layout
from mfpde.geometry.circle import Circle

__all__ = ["Axis", "Circle", "Geometry", "Layout"]
