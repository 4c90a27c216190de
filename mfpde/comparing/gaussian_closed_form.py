"""The closed form of Gaussians."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.comparing.base import ComparedSolution
from mfpde.registry import register

__all__ = ["GaussianClosedForm"]


@register("comparison", "gaussian-closed-form")
class GaussianClosedForm(ComparedSolution):
    """Gaussian data stay Gaussian under softmax, l2, sinkhorn and linear attention: their moment equations (physics
    section 4).

    Good values: a tolerance ten times the error that the cells allow. Fails: other data, other kernels.
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    kind: Literal["gaussian-closed-form"] = "gaussian-closed-form"
    by: ClassVar[str] = "gaussian"
