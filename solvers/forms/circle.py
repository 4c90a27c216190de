"""Densities on the circle, by their values at equispaced angles (layouts: `Circle().layout`)."""

from __future__ import annotations

from mfpde.measure import CircleDensity
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written

__all__ = ["CircleForm"]


@register("form", "circle")
class CircleForm(Form):
    """`density (theta)`."""

    def measure(self, written: Written) -> CircleDensity:
        return CircleDensity.from_values(written.fields["density"])
