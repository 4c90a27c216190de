"""Stationary states, their branches, stability and phase diagrams."""

from mfpde.bifurcation.bifurcating import bifurcate
from mfpde.bifurcation.diagram import Branch, Diagram, SpecialPoint
from mfpde.bifurcation.phase import PhaseDiagram, phase_diagram
from mfpde.bifurcation.single import stationary_state
from mfpde.bifurcation.stationary import StationaryState

__all__ = [
    "Branch",
    "Diagram",
    "PhaseDiagram",
    "SpecialPoint",
    "StationaryState",
    "bifurcate",
    "phase_diagram",
    "stationary_state",
]
