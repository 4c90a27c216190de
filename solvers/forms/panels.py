"""Densities as stacks of panels: frames that move, one per component, or one panel per position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.geometry import Axis, Constant, Field, Lattice, Layout
from mfpde.geometry.layout import axis_weights
from mfpde.measure import GridDensity, Panel
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.solvers.forms.grid import AVERAGES, EDGES, density_field
from mfpde.typing import Float

__all__ = ["PanelsForm", "panels_fields", "panels_layout"]


def panels_layout(
    axes: Sequence[Axis], panels: int, averages: bool = True, positions: Float | None = None, edges: bool = False
) -> Layout:
    """`density (panel, x[, y])` on frame coordinates z shared by all panels, `x = frame_mean + frame_matrix z`.

    `positions` are those of masked attention, one for each panel; `edges` as of a `Panel`. The number of
    panels stays what it is.
    """
    names = ("panel", *(axis.name for axis in axes))
    fields = {
        "density": density_field(names, averages, edges),
        "weight": Field(names, "volume of the cell: (density * weight).sum() is the mass"),
        "frame_mean": Field(("panel", "component"), "origin of the frame: x = frame_mean + frame_matrix z"),
        "frame_matrix": Field(("panel", "component", "column"), "axes of the frame, in columns"),
    }
    constants = {}
    if positions is not None:
        constants["panel_position"] = Constant(Field(("panel",), "position s of the panel"), np.asarray(positions))
    extents = {"panel": panels, "component": len(axes), "column": len(axes)}
    return Layout("panels", tuple(axes), extents, fields, constants)


def panels_fields(layout: Layout, density: Float, mean: Float, matrix: Float) -> dict[str, Float]:
    """Panels `(panel, x[, y])` of densities per unit volume of z, in the frames `x = mean + matrix z`."""
    volumes = np.abs(np.linalg.det(matrix)).reshape(-1, *[1] * len(layout.axes))
    return {
        "density": density / volumes,
        "weight": volumes * axis_weights(layout.axes),
        "frame_mean": mean,
        "frame_matrix": matrix,
    }


@register("form", "panels")
class PanelsForm(Form):
    """`density (panel, x[, y])`, `weight (panel, x[, y])`, `frame_mean`, `frame_matrix`, constant `panel_position`."""

    def measure(self, written: Written) -> GridDensity:
        axes = [axis.values for axis in written.layout.axes]
        said = written.layout.fields["density"].attributes
        positions = written.constant("panel_position")
        stacks = (written.fields[name] for name in ("density", "frame_mean", "frame_matrix"))
        panels = [
            Panel(
                Lattice.of(axes, mean, matrix),
                values,
                averages=said in (AVERAGES, EDGES),
                position=None if positions is None else float(positions[index]),
                edges=said == EDGES,
            )
            for index, (values, mean, matrix) in enumerate(zip(*stacks, strict=True))
        ]
        return GridDensity(panels)
