"""Densities on curved spaces at several positions (masked attention): one panel for each, of fixed mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Positioned
from mfpde.registry import lookup, register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["CirclePanelsForm", "SpherePanelsForm", "positioned_layout"]

_SUFFIX = "-panels"  # of the names of these forms, after that of one panel's


def positioned_layout(single: Layout, positions: Sequence[float]) -> Layout:
    """That of one law with the dimension `panel` before those of the density, and `panel_position`."""
    density = single.fields["density"]
    fields = {"density": replace(density, dimensions=("panel", *density.dimensions))}
    place = Constant(Field(("panel",), "position s of the panel"), np.asarray(positions, dtype=float))
    constants = {**single.constants, "panel_position": place}
    extents = {**single.extents, "panel": len(positions)}
    return replace(single, form=single.form + _SUFFIX, extents=extents, fields=fields, constants=constants)


class _PositionedForm(Form):
    """`density (panel, ..)`, whose integral is the mass of the panel; constants `weight` and `panel_position`."""

    def measure(self, written: Written) -> Positioned:
        layout, weight = written.layout, written.layout.weight
        form: Form = lookup("form", layout.form.removesuffix(_SUFFIX))()
        panels: list[Float] = list(np.asarray(written.fields["density"]))
        masses = np.array([float((weight * panel).sum()) for panel in panels])
        laws = [
            form.measure(replace(written, fields={"density": panel / mass}))
            for panel, mass in zip(panels, masses, strict=True)
        ]
        return Positioned(layout.constants["panel_position"].values, laws, masses)


@register("form", "circle-panels")
class CirclePanelsForm(_PositionedForm):
    """`density (panel, theta)`."""


@register("form", "sphere-panels")
class SpherePanelsForm(_PositionedForm):
    """`density (panel, colatitude, longitude)`."""
