"""What is shown of a solution on cells."""

from __future__ import annotations

from mfpde.geometry import Axis, Layout
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.forms import grid_layout, panels_fields, panels_layout
from mfpde.typing import Float

__all__ = ["fields_of", "layout_of"]


def layout_of(system: CellSystem, panels: int) -> Layout:
    """Of the fields of so many panels."""
    axes = [Axis.of_cells(name, faces) for name, faces in zip("xy", system.grid.faces, strict=False)]
    if _is_plain(system, panels):
        return grid_layout(axes, averages=False)
    positions, edges = system.scheme.positions, system.edges
    return panels_layout(axes, panels, averages=edges, positions=positions, edges=edges)


def fields_of(system: CellSystem, solution: Solution, layout: Layout) -> dict[str, Float]:
    """The arrays of that layout."""
    cells, (density, mean, matrix) = system.grid.cells, solution
    if _is_plain(system, len(mean)):
        return {"density": density.reshape(cells)}
    return panels_fields(layout, density.reshape(-1, *cells), mean, matrix)


def _is_plain(system: CellSystem, panels: int) -> bool:
    """Whether there is one density in x."""
    return system.frame.rests and panels == 1 and system.scheme.positions is None
