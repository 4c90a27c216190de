"""Densities on a grid that stays where it is."""

from __future__ import annotations

from collections.abc import Sequence

from mfpde.geometry import Axis, Constant, Field, Lattice, Layout
from mfpde.geometry.layout import axis_weights
from mfpde.measure import GridDensity, Panel
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written

__all__ = ["AVERAGES", "EDGES", "GridForm", "density_field", "grid_layout"]

#: what a file says of values that are cell averages
AVERAGES = {"cell_methods": "area: mean"}
#: the same where the density is smooth up to both ends of the cells, and 0 beyond
EDGES = {**AVERAGES, "edges": "at both ends of the cells"}


def density_field(dimensions: Sequence[str], averages: bool, edges: bool = False) -> Field:
    """A density per unit length, area, ..."""
    kind = "probability density" + (", cell averages" if averages else "")
    methods = EDGES if edges else AVERAGES if averages else {"cell_methods": "area: point"}
    return Field(tuple(dimensions), kind, "1", methods)


def grid_layout(axes: Sequence[Axis], averages: bool = True) -> Layout:
    """`density (x[, y])` on cells (`Axis.of_cells`); `averages` tells cell averages from values at the centres.

    Later layouts of the run may have more cells of the same size, at either end of each axis.
    """
    names = tuple(axis.name for axis in axes)
    weight = Field(names, "volume of the cell: (density * weight).sum() is the mass")
    return Layout(
        "grid",
        tuple(axes),
        fields={"density": density_field(names, averages)},
        constants={"weight": Constant(weight, axis_weights(axes))},
    )


@register("form", "grid")
class GridForm(Form):
    """`density (x[, y])`, constant `weight (x[, y])`."""

    def measure(self, written: Written) -> GridDensity:
        lattice = Lattice.of([axis.values for axis in written.layout.axes])
        averages = written.layout.fields["density"].attributes == AVERAGES
        return GridDensity([Panel(lattice, written.fields["density"], averages=averages)])
