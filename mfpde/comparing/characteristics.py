"""The solution along characteristics."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.comparing.base import ComparedSolution
from mfpde.registry import register

__all__ = ["Characteristics"]


@register("comparison", "characteristics")
class Characteristics(ComparedSolution):
    """Without noise tokens follow the velocity: Gauss nodes moved by it, the density traced back along it.

    Good values: `mean` and `covariance` for cheap, `l1` for thorough. Fails: noise.
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    kind: Literal["characteristics"] = "characteristics"
    by: ClassVar[str] = "characteristics"
