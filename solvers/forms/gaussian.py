"""Gaussians, by their two moments."""

from __future__ import annotations

from typing import ClassVar

from mfpde.geometry import Field, Layout
from mfpde.measure import Normal
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["GaussianForm", "gaussian_fields", "gaussian_layout"]


def gaussian_layout(dimension: int) -> Layout:
    """`gaussian_mean (component)`, `gaussian_covariance (component, column)`."""
    fields = {
        "gaussian_mean": Field(("component",), "mean"),
        "gaussian_covariance": Field(("component", "column"), "covariance"),
    }
    return Layout("gaussian", extents={"component": dimension, "column": dimension}, fields=fields)


def gaussian_fields(mean: Float, covariance: Float) -> dict[str, Float]:
    """The two moments, `(d,)` and `(d, d)`."""
    return {"gaussian_mean": mean, "gaussian_covariance": covariance}


@register("form", "gaussian")
class GaussianForm(Form):
    """`gaussian_mean`, `gaussian_covariance`."""

    shows: ClassVar[str] = "gaussian"

    def measure(self, written: Written) -> Normal:
        return Normal(written.fields["gaussian_mean"], written.fields["gaussian_covariance"], written.equation.geometry)
