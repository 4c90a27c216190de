"""The plane R^2."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.geometry.flat import Flat
from mfpde.registry import register

__all__ = ["Plane"]


@register("geometry", "plane")
class Plane(Flat):
    """The plane R^2; a point is a pair of numbers.

    >>> sorted(Plane().coordinates([[1.0, 2.0]]))
    ['x', 'y']
    """

    kind: Literal["plane"] = "plane"
    dimension: ClassVar[int] = 2
