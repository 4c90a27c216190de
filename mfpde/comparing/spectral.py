"""The solution by harmonics."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.comparing.base import ComparedSolution
from mfpde.registry import register

__all__ = ["Spectral"]


@register("comparison", "spectral")
class Spectral(ComparedSolution):
    """Fourier modes on the circle, spherical harmonics: for runs of particles and along characteristics.

    Good values: `wasserstein-1` on the circle, `spherical-sliced` on spheres. Fails: other spaces.
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    kind: Literal["spectral"] = "spectral"
    by: ClassVar[str] = "spectral"
