"""Measures carried along characteristics: the nodes, and the way they went."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from mfpde.equation import InitialValueProblem
from mfpde.geometry import Constant, Field, Layout
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.solvers.characteristics.measure import CarriedMeasure
from mfpde.solvers.characteristics.node_comparison import Nodes, flow_of
from mfpde.solvers.characteristics.tails import Cutoff
from mfpde.solvers.characteristics.trajectory import Trajectory
from mfpde.solvers.forms.base import Form, Written
from mfpde.solvers.forms.particles import particles_layout

__all__ = ["CharacteristicsForm", "characteristics_layout"]


def characteristics_layout(nodes: Nodes, tolerance: float) -> Layout:
    """As of particles, with the trail `path_time`, `path_position (particle, component)`: ends of the nodes' steps."""
    like = particles_layout(nodes.weights, nodes.points.shape[1], nodes.positions)
    trail = {
        "path_time": Field((), "end of a step of the nodes"),
        "path_position": Field(("particle", "component"), "place of the node there; angles are not wrapped"),
    }
    kept = {
        "path_tolerance": Constant(Field((), "tolerance of a step along the way"), np.array(tolerance)),
        "path_normal": Constant(Field((), "1 where the law is normal, tails and all"), np.array(float(nodes.normal))),
    }
    if nodes.cutoff is not None:
        meaning = "low and high end of the nodes, refinement, deviations that tails are followed"
        kept["path_reach"] = Constant(Field(("reach",), meaning), nodes.cutoff.numbers)
        like = replace(like, extents={**like.extents, "reach": nodes.cutoff.numbers.size})
    return replace(like, form="characteristics", trail=trail, constants={**like.constants, **kept})


class _Source:
    """What a written measure comes from, made when it is first asked for."""

    def __init__(self, written: Written) -> None:
        self._written = written
        self._task = InitialValueProblem(written.equation, written.time)

    def initial(self) -> Measure:
        return self._task.initial

    @cached_property
    def _path(self) -> Trajectory:
        return _path(self._written, self._task)

    def path(self) -> Trajectory:
        return self._path


@register("form", "characteristics")
class CharacteristicsForm(Form):
    """`position (particle, component)`, constant `weight`, `particle_position`, `path_tolerance` and `path_normal`,
    trail `path_time`, `path_position`."""

    shows: ClassVar[str] = "characteristics"

    def measure(self, written: Written) -> CarriedMeasure:
        source = _Source(written)
        weights, positions = written.constant("weight"), written.constant("particle_position")
        assert weights is not None  # noqa: S101 - for the type checker
        place = written.fields["position"]
        return CarriedMeasure(
            place, weights, written.equation.geometry, positions, (source.path, source.initial, written.time)
        )


def _path(written: Written, task: InitialValueProblem) -> Trajectory:
    """With the rows that the snapshot needs."""
    times = np.asarray(written.trail["path_time"])
    count = min(int(np.searchsorted(times, written.time)) + 1, times.size)
    states = [np.asarray(written.trail["path_position"][index]).ravel() for index in range(count)]
    weights, tolerance = written.constant("weight"), written.constant("path_tolerance")
    assert weights is not None and tolerance is not None  # noqa: S101, PT018 - for the type checker
    points, normal = states[0].reshape(weights.size, -1), written.constant("path_normal")
    numbers = written.constant("path_reach")
    cutoff = None if numbers is None else Cutoff(*map(float, numbers))
    nodes = Nodes(points, weights, written.constant("particle_position"), bool(normal), cutoff)
    return Trajectory(flow_of(task, nodes), float(tolerance), [float(time) for time in times[:count]], states)
