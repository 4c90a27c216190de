"""The space R^d."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from pydantic import Field

from mfpde.geometry.flat import Flat
from mfpde.geometry.line import Line
from mfpde.geometry.plane import Plane
from mfpde.registry import register
from mfpde.specification import Whole

__all__ = ["Space", "euclidean"]


@register("geometry", "space")
class Space(Flat):
    """The space R^d of any `dimension` d, for particles and closed forms.

    >>> Space(dimension=64).ambient_dimension
    64
    """

    kind: Literal["space"] = "space"
    dimension: Whole = Field(ge=1, le=100_000, description="the d of R^d")


@lru_cache(maxsize=16)
def euclidean(dimension: int) -> Flat:
    """R^d by the name that it has in problem files."""
    return Line() if dimension == 1 else Plane() if dimension == 2 else Space(dimension=max(dimension, 1))
