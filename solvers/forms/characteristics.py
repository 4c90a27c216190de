"""Measures carried along characteristics: the nodes, and the way they went."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Measure
from mfpde.registry import lookup, register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["CharacteristicsForm", "characteristics_layout"]


def characteristics_layout(like: Layout, tolerance: float, normal: bool, reach: Float | None) -> Layout:
    """That of particles with the trail `path_time`, `path_position (particle, component)`: ends of the nodes'
    steps."""
    trail = {
        "path_time": Field((), "end of a step of the nodes"),
        "path_position": Field(("particle", "component"), "place of the node there; angles are not wrapped"),
    }
    kept = {
        "path_tolerance": Constant(Field((), "tolerance of a step along the way"), np.array(tolerance)),
        "path_normal": Constant(Field((), "1 where the law is normal, tails and all"), np.array(float(normal))),
    }
    if reach is not None:
        meaning = "low and high end of the nodes, refinement, deviations that tails are followed"
        kept["path_reach"] = Constant(Field(("reach",), meaning), reach)
        like = replace(like, extents={**like.extents, "reach": reach.size})
    return replace(like, form="characteristics", trail=trail, constants={**like.constants, **kept})


@register("form", "characteristics")
class CharacteristicsForm(Form):
    """`position (particle, component)`, constant `weight`, `particle_position`, `path_tolerance` and `path_normal`,
    trail `path_time`, `path_position`."""

    shows: ClassVar[str] = "characteristics"

    def measure(self, written: Written) -> Measure:
        carried: Measure = lookup("solver", "characteristics").carried(written)
        return carried
