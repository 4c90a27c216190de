"""The integration of characteristics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.blas import blas_in_one_thread
from mfpde.contracts import PROMISED, Accuracy, Integration, Progress, State
from mfpde.geometry import Layout
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.measure import CarriedMeasure
from mfpde.solvers.characteristics.node_comparison import Nodes, flow_of
from mfpde.solvers.characteristics.node_search import Rule, chosen_rule, earlier_rule
from mfpde.solvers.characteristics.tails import Cutoff
from mfpde.solvers.characteristics.trajectory import Trajectory
from mfpde.solvers.forms import particles_fields, particles_layout
from mfpde.solvers.forms.characteristics import characteristics_layout
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.solvers.stepping.pole import LOOSER, ending
from mfpde.transform.work import pairs_worth
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.characteristics import Characteristics

__all__ = ["STEP_SHARE", "CharacteristicsIntegration"]

#: of the tolerance, for steps: their dense output is ten times less exact than their ends
STEP_SHARE = 0.2
_NODE_ERROR_SHARE = 0.1  # of the tolerance, for the difference that more nodes make
_MAX_COORDINATE = 1e60  # beyond it the run ends as not finite
_UNKNOWN_RULE = (-np.inf, 0.0, np.inf, 0.0)  # (until, good until, difference, tails) of files of earlier versions


class CharacteristicsIntegration(Integration):
    """Nodes moved in steps that output times do not change: there, dense output is evaluated."""

    def __init__(self, settings: Characteristics, task: InitialValueProblem, rule: Rule) -> None:
        self._settings, self._task, self._rule = settings, task, rule
        self._nodes = nodes = rule.nodes
        flow = flow_of(task, nodes)
        tolerance = STEP_SHARE * settings.tolerance
        self._march = self._marching(flow, tolerance)
        self._trajectory = Trajectory(flow, tolerance, [0.0], [flow.start])
        self._time, self._state = 0.0, flow.start
        self._amplification = Amplification(task.equation.autonomous)
        particles = particles_layout(nodes.weights, nodes.points.shape[1], nodes.positions)
        numbers = None if nodes.cutoff is None else nodes.cutoff.numbers
        self._layout = characteristics_layout(particles, tolerance, nodes.normal, numbers)

    @classmethod
    def begun(cls, settings: Characteristics, task: InitialValueProblem) -> CharacteristicsIntegration:
        """At t = 0, with as many nodes as it takes until the end."""
        return cls(settings, task, _rule(settings, task))

    @classmethod
    def resumed(
        cls, settings: Characteristics, task: InitialValueProblem, state: Mapping[str, AnyArray]
    ) -> CharacteristicsIntegration:
        """From a checkpoint. Nodes are checked again where the end time has become a later one."""
        positions = state["positions"] if state["positions"].size else None
        cutoff = Cutoff(*map(float, state["reach"])) if state["reach"].size else None
        nodes = Nodes(state["points"], state["weights"], positions, bool(state["normal"]), cutoff)
        until, good, difference, tails = (float(number) for number in state.get("rule", _UNKNOWN_RULE))
        as_it_was = task.until <= until
        rule = Rule(nodes, good, difference, bool(tails)) if as_it_was else _earlier(settings, task, nodes)
        resumed = cls(settings, task, rule)
        resumed.restore(state)
        return resumed

    @staticmethod
    def _marching(flow: Flow, tolerance: float) -> March:
        return March(flow, tolerance, independent=True)

    @property
    def time(self) -> float:
        return self._time

    @property
    def layout(self) -> Layout:
        return self._layout

    def advance(self, target: float, budget: int) -> Progress:
        attempts = max(1, int(budget / self._cost()))
        for tried in self._march.to(min(target, self._rule.good_until), attempts):
            if tried is Verdict.VANISHED:
                return self._stuck()
            if tried is Verdict.ACCEPTED:
                self._trajectory.add(self._march.time, self._march.state)
                if self._march.time >= target and self._march.last is not None:
                    self._trajectory.keep(self._march.last)
                self._stand(min(self._march.time, target))
                if np.abs(self._march.state).max() > _MAX_COORDINATE:
                    return Progress(State.NOT_FINITE, "tokens diverge: they are beyond 1e60", "end the run earlier")
        if self._march.time < target:
            lost = self._march.time >= self._rule.good_until
            return self._lost() if lost else Progress(State.UNDER_WAY)
        self._stand(target)
        self._amplification.see(self.residual())
        return Progress(State.REACHED)

    def _stuck(self) -> Progress:
        self._stand(self._march.time)
        known = self._rule.others or _rule(self._settings, self._task).others  # a resumed run has not looked for them
        looser = LOOSER * STEP_SHARE * self._settings.tolerance
        others = None if known is None else self._marching(flow_of(self._task, known), looser)
        return ending(self._march, self._marching(self._trajectory.flow, looser), others, self._task.initial.compact)

    def _stand(self, time: float) -> None:
        self._time, self._state = time, self._trajectory.nodes(time)

    def _lost(self) -> Progress:
        self._stand(self._march.time)
        message = f"{self._nodes.count} nodes do not give the drift to the tolerance any more"
        return Progress(State.RESOLUTION_LOST, message, f"stop earlier; {self._rule.remedy}")

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        count, width = self._nodes.points.shape
        return 13 * (200 + 1.5e-3 * pairs_worth(count, width))

    def measure(self) -> CarriedMeasure:
        nodes, path, task = self._nodes, self._trajectory, self._task
        points = path.flow.points(self._state)
        origin = (lambda: path, lambda: task.initial, self._time)
        return CarriedMeasure(points, nodes.weights, path.flow.geometry, nodes.positions, origin)

    def fields(self) -> dict[str, Float]:
        return particles_fields(self._trajectory.flow.points(self._state))

    def trail(self, since: int) -> dict[str, Float]:
        shape = (-1, *self._nodes.points.shape)
        return {
            "path_time": np.array(self._trajectory.times[since:]),
            "path_position": np.array(self._trajectory.states[since:]).reshape(shape),
        }

    def residual(self) -> float:
        """`sqrt(int |G|^2 dmu)` relative to the spread: how fast tokens move."""
        flow = self._trajectory.flow
        flow.forget()
        speed = flow.rhs(self._time, self._state).reshape(self._nodes.points.shape)
        flow.forget()
        root = float(np.sqrt(self._nodes.weights @ np.sum(speed**2, axis=1)))
        return root / flow.spread(self._state)

    def state(self) -> dict[str, AnyArray]:
        nodes = self._nodes
        positions = np.zeros(0) if nodes.positions is None else nodes.positions
        given = {"view_time": np.array(self._time), "points": nodes.points.copy(), "weights": nodes.weights.copy()}
        kept = {"positions": positions.copy(), "normal": np.array(nodes.normal)}
        kept["reach"] = np.zeros(0) if nodes.cutoff is None else nodes.cutoff.numbers
        kept["rule"] = np.array([self._task.until, self._rule.good_until, self._rule.difference, self._rule.tails])
        return {**given, **kept, **self._march.arrays(), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """The nodes' state, and their trajectory so far."""
        self._march.restore(state)
        self._amplification.restore(state)
        states = state["path_position"].reshape(len(state["path_time"]), -1)
        self._trajectory.times, self._trajectory.states = [float(time) for time in state["path_time"]], list(states)
        self._stand(float(state["view_time"]))

    def accuracy(self) -> Accuracy:
        promised = PROMISED * self._settings.tolerance
        return self._amplification.judged(Accuracy(promised, self._rule.difference, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {**counts, "nodes": float(self._nodes.count), "node-error": self._rule.difference}


def _rule(settings: Characteristics, task: InitialValueProblem) -> Rule:
    """The nodes to take; the choice must not depend on the number of threads."""
    with blas_in_one_thread():
        return chosen_rule(task, _NODE_ERROR_SHARE * settings.tolerance, settings.max_nodes)


def _earlier(settings: Characteristics, task: InitialValueProblem, nodes: Nodes) -> Rule:
    """Nodes that a run began with when its end was an earlier one."""
    with blas_in_one_thread():
        return earlier_rule(task, nodes, _rule(settings, task), _NODE_ERROR_SHARE * settings.tolerance)
