"""The solution on cells."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.comparing.base import ComparedSolution
from mfpde.registry import register

__all__ = ["FiniteVolume"]


@register("comparison", "finite-volume")
class FiniteVolume(ComparedSolution):
    """Cells of the line or the plane: for runs along characteristics and for Gaussians.

    Good values: `mean` and `covariance`, `wasserstein-1` on the line. Fails: other spaces.
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    kind: Literal["finite-volume"] = "finite-volume"
    by: ClassVar[str] = "finite-volume"
