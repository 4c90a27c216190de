"""How a law of tokens is written down as the arrays of a snapshot, and read back: one file per form.

Solvers call the functions that make a layout and its fields; `Run.measure` finds the way back by the layout's `form`.
"""

from mfpde.solvers.forms.base import Form, Written, written_measure
from mfpde.solvers.forms.gaussian import gaussian_fields, gaussian_layout
from mfpde.solvers.forms.grid import grid_layout
from mfpde.solvers.forms.panels import panels_fields, panels_layout
from mfpde.solvers.forms.particles import particles_fields, particles_layout

__all__ = [
    "Form",
    "Written",
    "gaussian_fields",
    "gaussian_layout",
    "grid_layout",
    "panels_fields",
    "panels_layout",
    "particles_fields",
    "particles_layout",
    "written_measure",
]
