"""Measures carried along characteristics: the nodes, and the way they went."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.measure import CarriedMeasure
from mfpde.solvers.characteristics.path import Path
from mfpde.solvers.forms.base import Form, Written
from mfpde.solvers.forms.particles import particles_layout
from mfpde.typing import Float

__all__ = ["CharacteristicsForm", "characteristics_layout"]


def characteristics_layout(
    weights: Float, components: int, positions: Float | None = None, tolerance: float = 1e-12
) -> Layout:
    """As of particles, with the trail `path_time`, `path_position (particle, component)`: ends of the nodes' steps."""
    like = particles_layout(weights, components, positions)
    trail = {
        "path_time": Field((), "end of a step of the nodes"),
        "path_position": Field(("particle", "component"), "place of the node there; angles are not wrapped"),
    }
    kept = Constant(Field((), "tolerance of a step along the way"), np.array(tolerance))
    return replace(like, form="characteristics", trail=trail, constants={**like.constants, "path_tolerance": kept})


@register("form", "characteristics")
class CharacteristicsForm(Form):
    """`position (particle, component)`, constant `weight`, `particle_position` and `path_tolerance`, trail `path_time`,
    `path_position`."""

    def measure(self, written: Written) -> CarriedMeasure:
        @cache
        def initial() -> Measure:
            return written.equation.initial_measure()

        @cache
        def path() -> Path:
            return _path(written)

        weights, positions = written.constant("weight"), written.constant("particle_position")
        assert weights is not None  # noqa: S101 - for the type checker
        place = written.fields["position"]
        return CarriedMeasure(place, weights, written.equation.geometry, positions, (path, initial, written.time))


def _path(written: Written) -> Path:
    """With the rows that the snapshot needs."""
    times = np.asarray(written.trail["path_time"])
    count = min(int(np.searchsorted(times, written.time)) + 1, times.size)
    states = [np.asarray(written.trail["path_position"][index]).ravel() for index in range(count)]
    weights, tolerance = written.constant("weight"), written.constant("path_tolerance")
    assert weights is not None and tolerance is not None  # noqa: S101, PT018 - for the type checker
    points = states[0].reshape(weights.size, -1)
    flow = Flow(written.equation, points, weights, written.constant("particle_position"))
    return Path(flow, float(tolerance), [float(time) for time in times[:count]], states)
