"""The line R."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.geometry.flat import Flat
from mfpde.registry import register

__all__ = ["Line"]


@register("geometry", "line")
class Line(Flat):
    """The line R; a point is a number.

    >>> Line().points([0.5, 2]).shape
    (2, 1)
    """

    kind: Literal["line"] = "line"
    dimension: ClassVar[int] = 1
