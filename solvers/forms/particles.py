"""Weighted points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Particles
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["ParticlesForm", "particles_fields", "particles_layout"]


def particles_layout(weights: Float, components: int, positions: Float | None = None) -> Layout:
    """`position (particle, component)` in native components, with constant `weight (particle)` and, for masked
    attention, `particle_position (particle)`, which never change."""
    alone = ("particle",)
    constants = {"weight": Constant(Field(alone, "mass of the particle"), np.asarray(weights))}
    if positions is not None:
        constants["particle_position"] = Constant(Field(alone, "position s of the particle"), np.asarray(positions))
    fields = {"position": Field(("particle", "component"), "place of the particle")}
    return Layout("particles", (), {"particle": len(weights), "component": components}, fields, constants)


def particles_fields(points: Float) -> dict[str, Float]:
    """Native points `(particle, component)`."""
    return {"position": points}


@register("form", "particles")
class ParticlesForm(Form):
    """`position (particle, component)`, constant `weight` and `particle_position`."""

    shows: ClassVar[str] = "particles"

    def measure(self, written: Written) -> Particles:
        place, weight = written.fields["position"], written.constant("weight")
        geometry = written.equation.geometry
        return Particles(place, weight, geometry, positions=written.constant("particle_position"))
