"""Measures carried along characteristics, from what a snapshot holds of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.equation import InitialValueProblem
from mfpde.measure import Measure
from mfpde.solvers.characteristics.measure import CarriedMeasure
from mfpde.solvers.characteristics.node_comparison import Nodes, flow_of
from mfpde.solvers.characteristics.tails import Cutoff
from mfpde.solvers.characteristics.trajectory import Trajectory
from mfpde.solvers.forms import Written

__all__ = ["carried"]


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


def carried(written: Written) -> CarriedMeasure:
    """The measure of a snapshot of the form `characteristics`."""
    source = _Source(written)
    weights, positions = written.constant("weight"), written.constant("particle_position")
    assert weights is not None  # noqa: S101 - for the type checker
    origin = (source.path, source.initial, written.time)
    return CarriedMeasure(written.fields["position"], weights, written.equation.geometry, positions, origin)


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
