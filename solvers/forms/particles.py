"""Weighted points."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Particles
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["ParticlesForm", "mergers_trail", "particles_fields", "particles_layout"]


def particles_layout(weights: Any, components: int, positions: Any = None, copies: int | None = None) -> Layout:
    """`position (particle, component)` in native components, with constant `weight (particle)` and, for masked
    attention, `particle_position (particle)`, which never change; `position (copy, particle, component)` of independent
    copies."""
    alone = ("particle",)
    constants = {"weight": Constant(Field(alone, "mass of the particle"), weights)}
    if positions is not None:
        constants["particle_position"] = Constant(Field(alone, "position s of the particle"), positions)
    extents = {"particle": len(weights), "component": components}
    if copies is not None:
        extents = {"copy": copies, **extents}
    fields = {"position": Field(tuple(extents), "place of the particle")}
    return Layout("particles", (), extents, fields, constants)


def mergers_trail(copies: bool) -> dict[str, Field]:
    """Columns of the mergers of tokens, one row for each."""
    said = {
        "time": "time at which two clusters of particles merged",
        "copy": "number of the copy in which they did, from 0",
        "token": "number of the first particle of the cluster that was joined to the other, from 0",
        "into": "number of the first particle of the other, from 0",
    }
    return {f"merger_{name}": Field((), words) for name, words in said.items() if copies or name != "copy"}


def particles_fields(points: Float) -> dict[str, Float]:
    """Native points `(particle, component)`."""
    return {"position": points}


@register("form", "particles")
class ParticlesForm(Form):
    """`position (particle, component)`, constant `weight` and `particle_position`."""

    shows: ClassVar[str] = "particles"

    def measure(self, written: Written) -> Particles:
        place, weight = written.fields["position"], written.constant("weight")
        positions, geometry = written.constant("particle_position"), written.equation.geometry
        if written.equation.normalization is not None and not geometry.flat:
            place = geometry.points(written.equation.normalization.directions(place))
        if place.ndim == 3:  # independent copies: the law of all their tokens
            copies, place = len(place), place.reshape(-1, place.shape[2])
            weight = None if weight is None else np.tile(weight / copies, copies)
            positions = None if positions is None else np.tile(positions, copies)
        return Particles(place, weight, geometry, positions=positions)
