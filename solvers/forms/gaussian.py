"""Gaussians, by their two moments."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mfpde.geometry import Field, Layout
from mfpde.measure import Normal
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["GaussianForm", "gaussian_fields", "gaussian_layout"]


def gaussian_layout(dimension: int) -> Layout:
    """`gaussian_mean (component)`, `gaussian_covariance (component, column)`, `gaussian_factor (component, column)`."""
    fields = {
        "gaussian_mean": Field(("component",), "mean"),
        "gaussian_covariance": Field(("component", "column"), "covariance S"),
        "gaussian_factor": Field(("component", "column"), "F with S = F F^T, right relative to itself by columns"),
    }
    return Layout("gaussian", extents={"component": dimension, "column": dimension}, fields=fields)


def gaussian_fields(mean: Float, factor: Float) -> dict[str, Float]:
    """Of `N(m, F F^T)`: the moments, `(d,)` and `(d, d)`, and F with as many columns of zeros as S has null
    directions."""
    whole = np.zeros((mean.size, mean.size))
    whole[:, : factor.shape[1]] = factor
    return {"gaussian_mean": mean, "gaussian_covariance": factor @ factor.T, "gaussian_factor": whole}


@register("form", "gaussian")
class GaussianForm(Form):
    """`gaussian_mean`, `gaussian_covariance`, and `gaussian_factor` where it was written (mfpde up to 0.1 had none)."""

    shows: ClassVar[str] = "gaussian"

    def measure(self, written: Written) -> Normal:
        mean, geometry = written.fields["gaussian_mean"], written.equation.geometry
        if "gaussian_factor" in written.fields:
            return Normal.of_factor(mean, written.fields["gaussian_factor"], geometry)
        return Normal(mean, written.fields["gaussian_covariance"], geometry)
