"""The number of nodes and their cut-off in the tails: the smallest rule whose moved sums agree with a larger one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import heads
from mfpde.solvers.characteristics.node_comparison import NodeComparison, Nodes
from mfpde.solvers.characteristics.node_intervals import POLE_RATE, adaptive_intervals, cut, density_intervals, nodes_of
from mfpde.solvers.characteristics.tails import Cutoff, farthest_tilt, has_tails, nodes_between
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem

__all__ = ["Rule", "chosen_rule", "earlier_rule"]

#: nodes per length, relative to those of the initial measure's own rule; each rule is compared with the next
_REFINEMENTS = (
    *(0.125, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6),
    *(8.0, 11.0, 16.0, 22.0, 32.0, 45.0, 64.0, 90.0, 128.0, 180.0, 256.0),
)
#: of the largest weight, below which nodes are left out: tails to 11, 13, 15, 18, 21, 25, 28, 32, 36 deviations
_CUTOFF_WEIGHTS = (1e-26, 1e-37, 1e-50, 1e-70, 1e-95, 1e-130, 1e-170, 1e-220, 1e-290)
_NORMAL_ACCURACY = 1e-180  # of rules for measures with tails: they extend to 36 deviations
_TAILS_LIMIT_FACTOR = 3.0  # for data with tails: where the comparison is worst, weights are small
_SINKHORN_LIMIT_FACTOR = 10.0  # times the tolerance of marginals, to which drifts of sinkhorn attention are known
_CUTOFF_LIMIT_FACTOR = 3.0  # times the limit, for differences between two cut-offs
_CUTOFF_FACTOR = 5.0  # refinement errors need not be below so many times the difference that the tail cut-off makes
_ADAPTIVE_REFINEMENT = 2.8  # beyond it intervals are halved where needed, on the line and the circle
_PILOT_TOLERANCE = 1e-6  # of the comparison's steps: both rules take the same ones, so that their errors cancel
_ATTEMPTS_MAX = 3000  # at steps of a comparison
_MIN_TIME_SHARE = 1e-3  # of the run: a rule that fails before is refused
_QUERY_WEIGHT = 1e-9  # of the largest weight: heavier tokens must have a finite drift
_MIN_NODES_TO_THIN = 500  # rules on the line with fewer stay as they are
_EXTRA_DEVIATIONS = 12.0  # by which tails are continued beyond the farthest tilt
_MAX_CUTOFFS_OF_NORMAL = 2  # cut-offs tried before the normal law itself stands for the tails


@dataclass(frozen=True)
class Rule:
    """Nodes, the time until which they suffice, their largest difference until then to a larger set, relative to the
    spread, whether the cut-off of the tails limits them, and another set to compare with."""

    nodes: Nodes
    good_until: float
    difference: float
    tails: bool = False
    others: Nodes | None = None

    @property
    def remedy(self) -> str:
        """Advice to the user."""
        if self.tails:
            return (
                "the tails decide what happens, and are known of Gaussian data only, on the line also of mixtures of "
                "them: use data of bounded support"
            )
        return "ask for a larger solver.tolerance, or raise solver.max_nodes"


class _Search:
    """Rules by the numbers of their refinement and of their cut-off."""

    def __init__(self, task: InitialValueProblem, limit: float) -> None:
        self._task, self._initial, self._until, self._limit = task, task.initial, task.until, limit
        self._rules: dict[tuple[int, int], Nodes] = {}
        self.stays_normal = _stays_normal(task.equation, task.initial)

    def rule(self, refinement: int, cutoff: int) -> Nodes:
        if (refinement, cutoff) not in self._rules:
            doing("placing nodes")
            full = _nodes(self._initial, _REFINEMENTS[refinement])
            kept = full.weights >= _CUTOFF_WEIGHTS[cutoff] * full.weights.max()
            found = full if self._initial.compact else full.only(kept)
            self._rules[refinement, cutoff] = self._leaner(found, _REFINEMENTS[refinement])
        return self._rules[refinement, cutoff]

    def _leaner(self, nodes: Nodes, refinement: float) -> Nodes:
        """Fewer nodes by intervals as wide as the density allows, for long tails on the line that are not Gaussian."""
        ends = _ends(nodes, self._initial)
        if self._initial.compact or nodes.count < _MIN_NODES_TO_THIN or ends is None:
            return nodes
        breaks = density_intervals(self._initial, ends, self._limit, nodes.count)
        return nodes if breaks is None else nodes_of(self._initial, cut(breaks, int(np.ceil(refinement))))

    def tailed(self, refinement: int, cutoff: int) -> Nodes:
        """A rule whose tails are continued as far as the largest tilt reaches from the farthest token."""
        points = self.rule(refinement, cutoff).points
        widest = float(np.sqrt(max(part.covariance[0, 0] for _, part in self._initial.summands)))
        across = farthest_tilt(self._task.equation, widest**2, self._until)
        far = (2 + across) * np.abs(points - self._initial.mean).max() / widest + _EXTRA_DEVIATIONS
        ends = Cutoff(float(points.min()), float(points.max()), _REFINEMENTS[refinement], float(far))
        return Nodes(*nodes_between(self._initial, ends), None, cutoff=ends)

    def next(self, refinement: int, cutoff: int) -> int:
        """Of the next rule with more nodes; of this one where there is none."""
        count, finer = self.rule(refinement, cutoff).count, range(refinement + 1, len(_REFINEMENTS))
        return next((number for number in finer if self.rule(number, cutoff).count > count), refinement)

    def coarse(self, refinement: int, cutoff: int) -> bool:
        """Whether a finer rule differs at t = 0."""
        following = self.next(refinement, cutoff)
        pair = NodeComparison(self._task, self.rule(refinement, cutoff), self.rule(following, cutoff))
        return following > refinement and pair.difference(pair.start) > self._limit

    def compared(self, here: Nodes, more: Nodes, limit: float) -> Rule:
        """Both moved together, until they part."""
        if here.count == more.count and here.normal == more.normal:
            return Rule(here, np.inf, 0.0)
        pair = NodeComparison(self._task, here, more)
        largest, good = pair.difference(pair.start), 0.0
        if largest > limit:
            return Rule(here, good, largest, others=more)
        march, growth = March(pair, _PILOT_TOLERANCE), (0.0, 0.0)
        for tried in march.to(self._until, _ATTEMPTS_MAX):
            reached = min(march.time, self._until)
            doing(f"{here.count} nodes held against {more.count}, t = {reached:.4g} of {self._until:.4g}")
            if tried is Verdict.VANISHED or max(growth) > POLE_RATE:
                return Rule(here, np.inf, largest, others=more)
            variance, _ = growth
            now = pair.difference(march.state) / max(1.0, variance)  # differences of when, not of what
            if now > limit:
                return Rule(here, good, now, others=more)
            largest, good = max(largest, now), march.time
            variance, farthest = pair.growth(march.time, march.state)
            growth = march.time * variance, march.time * farthest
        return Rule(here, good, largest, others=more)

    def on_intervals(self, like: Nodes, limit: float, most: int) -> Rule:
        """A composite rule with adaptive intervals, where there is one."""
        ends = _ends(like, self._initial)
        breaks = ends and adaptive_intervals(self._task, ends, self._limit, most)
        if breaks is None:
            return Rule(like, 0.0, np.inf)
        nodes = nodes_of(self._initial, breaks)
        return self.compared(nodes, nodes_of(self._initial, cut(breaks, 2)), limit)

    def good(self, rule: Rule) -> bool:
        return rule.good_until >= self._until


def chosen_rule(task: InitialValueProblem, limit: float, most: int) -> Rule:
    """The smallest rule that stays within the limit until the end, otherwise the largest that is allowed.

    Where tilts depend on tails beyond all nodes, no cut-off is far enough: nodes of a law that stays normal then stand
    for the normal law.
    """
    limit = _known(task, limit)
    search = _Search(task, limit)
    refinement = 0
    while search.coarse(refinement, 0):
        refinement = search.next(refinement, 0)
    _need_finite_tilts(task, search.rule(refinement, 0))
    found = _far_and_fine(search, refinement, limit, most)
    if not search.good(found) and has_tails(task.equation, task.initial):
        found = _with_tails(search, refinement, limit, most)
    if search.good(found) or not search.stays_normal:
        return _worth(found, task.until, most)
    return _worth(Rule(replace(search.rule(refinement, 0), normal=True), np.inf, 0.0), task.until, most)


def _known(task: InitialValueProblem, limit: float) -> float:
    """The limit, or the error of the sums themselves."""
    balanced = [head.sums_error for head in heads(task.equation)]
    return max(
        limit if task.initial.compact else _TAILS_LIMIT_FACTOR * limit,
        _SINKHORN_LIMIT_FACTOR * max(balanced, default=0.0),
    )


def _need_finite_tilts(task: InitialValueProblem, nodes: Nodes) -> None:
    """Fail where `int e^<Ax, y> dmu(y)` is infinite at tokens x that are there."""
    if task.initial.compact:
        return
    heavy = nodes.points[nodes.weights > _QUERY_WEIGHT * nodes.weights.max()]
    for head in heads(task.equation):
        head.check_tails(task.initial, heavy)


def _with_tails(search: _Search, refinement: int, limit: float, most: int) -> Rule:
    """The cut-off, then the spacing, where tails are continued beyond the nodes."""
    here, cutoff = search.tailed(refinement, 0), 0
    found = search.compared(here, search.tailed(refinement, 1), _CUTOFF_LIMIT_FACTOR * limit)
    while not search.good(found) and cutoff < len(_CUTOFF_WEIGHTS) - 2:
        cutoff += 1
        here, more = search.tailed(refinement, cutoff), search.tailed(refinement, cutoff + 1)
        found = search.compared(here, more, _CUTOFF_LIMIT_FACTOR * limit)
    if not search.good(found):
        return replace(found, tails=True)
    enough = max(limit, _CUTOFF_FACTOR * found.difference)
    while refinement < len(_REFINEMENTS) - 1 and here.count <= most:
        here, more = search.tailed(refinement, cutoff), search.tailed(refinement + 1, cutoff)
        found = search.compared(here, more, enough)
        if search.good(found):
            break
        refinement += 1
    return found


def _stays_normal(equation: Equation, initial: Measure) -> bool:
    """Whether the law of tokens is normal at all times, and its drift known."""
    velocity = equation.velocity.at(0.0)
    if initial.normal is None or velocity.gaussian_unfit(equation.geometry.ambient_dimension) is not None:
        return False
    try:
        velocity.gaussian_drift(initial.mean, initial.covariance)
    except ProblemError:
        return False
    return True


def _far_and_fine(search: _Search, refinement: int, limit: float, most: int) -> Rule:
    """From the spacing that the initial measure needs, first the cut-off (it enters every comparison), then the spacing
    that the flow needs."""
    cutoff = 0
    most_cutoffs = _MAX_CUTOFFS_OF_NORMAL if search.stays_normal else len(_CUTOFF_WEIGHTS) - 2

    def wider() -> Rule:
        return search.compared(
            search.rule(refinement, cutoff), search.rule(refinement, cutoff + 1), _CUTOFF_LIMIT_FACTOR * limit
        )

    far = wider()
    while not search.good(far) and cutoff < most_cutoffs and search.rule(refinement, cutoff + 1).count <= most:
        cutoff += 1
        far = wider()
    if not search.good(far):
        return replace(far, tails=True)
    enough = max(limit, _CUTOFF_FACTOR * far.difference)

    def finer() -> Rule:
        following = search.rule(search.next(refinement, cutoff), cutoff)
        return search.compared(search.rule(refinement, cutoff), following, enough)

    fine, adapted = finer(), None
    while not search.good(fine):
        following = search.next(refinement, cutoff)
        if following == refinement or search.rule(following, cutoff).count > most:
            break
        if adapted is None and _REFINEMENTS[refinement] >= _ADAPTIVE_REFINEMENT:
            adapted = search.on_intervals(search.rule(refinement, cutoff), enough, most)
            if search.good(adapted):
                return adapted
        refinement = following
        fine = finer()
    good, difference = min(far.good_until, fine.good_until), max(far.difference, fine.difference)
    others = search.rule(search.next(refinement, cutoff), cutoff + 1)
    found = Rule(search.rule(refinement, cutoff), good, difference, others=others)
    return max(found, adapted or found, key=lambda rule: rule.good_until)


def _ends(nodes: Nodes, initial: Measure) -> tuple[float, float] | None:
    """End points of the support in one dimension, where composite rules are possible."""
    if nodes.points.shape[1] > 1 or nodes.positions is not None:
        return None
    if not initial.space.flat:
        return (0.0, 2 * np.pi) if initial.space.angular else None
    low, high = initial.reach() if initial.compact else (nodes.points.min(axis=0), nodes.points.max(axis=0))
    return float(low[0]), float(high[0])


def earlier_rule(task: InitialValueProblem, earlier: Nodes, rule: Rule, limit: float) -> Rule:
    """Nodes chosen for an earlier end time, compared with those for the present one."""
    if earlier.normal:
        return Rule(earlier, np.inf, 0.0)
    same = earlier.cutoff == rule.nodes.cutoff and np.array_equal(earlier.points, rule.nodes.points)
    if same and not rule.nodes.normal:
        return rule
    limit = _known(task, limit)
    return _Search(task, limit).compared(earlier, rule.nodes, limit)


def _worth(rule: Rule, until: float, most: int) -> Rule:
    """The rule, unless it fails at the beginning of the run."""
    if rule.nodes.count > most:
        raise ProblemError.at("solver.max_nodes", f"is {most}, and the initial measure alone takes {rule.nodes.count}")
    if rule.good_until <= _MIN_TIME_SHARE * until:
        raise ProblemError.at(
            "solver.tolerance",
            f"{rule.nodes.count} nodes give the drift to {rule.difference:.1g} only; {rule.remedy}",
        )
    return rule


def _nodes(initial: Measure, refinement: float) -> Nodes:
    """All nodes of that refinement, those of a measure over positions slice by slice."""
    parts = [(place, share, *_plain(part, refinement)) for place, share, part in initial.slices]
    points, weights = np.concatenate([part[2] for part in parts]), np.concatenate([part[1] * part[3] for part in parts])
    places = [np.full(part[3].size, part[0]) for part in parts if part[0] is not None]
    return Nodes(points, weights, np.concatenate(places) if places else initial.positions)


def _plain(measure: Measure, refinement: float) -> tuple[Float, Float]:
    if measure.compact:
        return measure.nodes(refinement=refinement)
    return measure.nodes(accuracy=_NORMAL_ACCURACY, refinement=refinement)
