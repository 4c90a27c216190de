"""How many nodes: as many, and as far into the tails, as it takes for the moved sums to stand still when there are
more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import heads
from mfpde.solvers.characteristics.node_comparison import Nodes, Pair
from mfpde.solvers.characteristics.node_intervals import POLE, adaptive_panels, cut, density_panels, nodes_of
from mfpde.solvers.characteristics.tails import Reach, farthest_tilt, has_tails, nodes_between
from mfpde.solvers.stepping.adaptive_ode import Attempt, March
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem

__all__ = ["Rule", "chosen_rule", "earlier_rule"]

#: of the nodes per length that a measure would take for itself; each rule is held against the next
_REFINEMENTS = (
    0.125,
    0.2,
    0.3,
    0.5,
    0.7,
    1.0,
    1.4,
    2.0,
    2.8,
    4.0,
    5.6,
    8.0,
    11.0,
    16.0,
    22.0,
    32.0,
    45.0,
    64.0,
    90.0,
    128.0,
    180.0,
    256.0,
)
#: of the largest weight, below which nodes are left out: tails to 11, 13, 15, 18, 21, 25, 28, 32 and 36 deviations
_REACHES = (1e-26, 1e-37, 1e-50, 1e-70, 1e-95, 1e-130, 1e-170, 1e-220, 1e-290)
_FARTHEST = 1e-180
_TAILS = 3.0  # times the limit for data with tails: integrals hardly feel where the comparison is worst
_BALANCED = 10.0  # times the tolerance of marginals: drifts of sinkhorn attention are known to that
_FAR = 3.0  # times that for what lies farther out
_CUTOFF_FACTOR = 5.0  # refinement errors need not be below so many times the difference that the tail cut-off makes
_STEEP = 2.8  # refinement beyond which panels are cut where they have to be, on the line and the circle
_PILOT_TOLERANCE = 1e-6  # of the comparison's steps: both rules take the same ones, so their errors are no difference
_ATTEMPTS_MAX = 3000  # of two rules moved together; they are as good as what they have come to by then
_EARLY = 1e-3  # of the run: a rule that is lost before was never good
_THERE = 1e-9  # of the largest weight: tokens whose drift has to exist
_MANY = 500  # nodes of a rule on the line that may do with less
_BEYOND = 12.0  # deviations, that tails are followed farther than anybody looks
_PATIENCE = 2  # reaches more that are tried where a closed form of the tails is at hand


@dataclass(frozen=True)
class Rule:
    """Nodes, the time until which they are enough, their largest difference till then to more of them, relative to the
    spread, whether it is what lies farther out that is missing, and others to compare with."""

    nodes: Nodes
    good_until: float
    difference: float
    tails: bool = False
    others: Nodes | None = None

    @property
    def remedy(self) -> str:
        """What would help."""
        if self.tails:
            return (
                "the tails decide what happens, and are known of Gaussian data only, on the line also of mixtures of "
                "them: use data of bounded support"
            )
        return "ask for a larger solver.tolerance, or raise solver.max_nodes"


class _Search:
    """Rules by the numbers of their refinement and of their reach."""

    def __init__(self, task: InitialValueProblem, limit: float) -> None:
        self._task, self._initial, self._until, self._limit = task, task.initial, task.until, limit
        self._rules: dict[tuple[int, int], Nodes] = {}
        self.stays_normal = _stays_normal(task.equation, task.initial)

    def rule(self, refinement: int, reach: int) -> Nodes:
        if (refinement, reach) not in self._rules:
            doing("placing nodes")
            full = _nodes(self._initial, _REFINEMENTS[refinement])
            kept = full.weights >= _REACHES[reach] * full.weights.max()
            found = full if self._initial.compact else full.only(kept)
            self._rules[refinement, reach] = self._leaner(found, _REFINEMENTS[refinement])
        return self._rules[refinement, reach]

    def _leaner(self, nodes: Nodes, refinement: float) -> Nodes:
        """Panels as wide as the density allows, where it has long tails on the line that are not Gaussian."""
        ends = _ends(nodes, self._initial)
        if self._initial.compact or nodes.count < _MANY or ends is None:
            return nodes
        breaks = density_panels(self._initial, ends, self._limit, nodes.count)
        return nodes if breaks is None else nodes_of(self._initial, cut(breaks, int(np.ceil(refinement))))

    def tailed(self, refinement: int, reach: int) -> Nodes:
        """A rule with tails beyond its ends, followed as far as tokens look, and those that they look at."""
        points = self.rule(refinement, reach).points
        widest = float(np.sqrt(max(part.covariance[0, 0] for _, part in self._initial.summands)))
        across = farthest_tilt(self._task.equation, widest**2, self._until)
        far = (2 + across) * np.abs(points - self._initial.mean).max() / widest + _BEYOND
        ends = Reach(float(points.min()), float(points.max()), _REFINEMENTS[refinement], float(far))
        return Nodes(*nodes_between(self._initial, ends), None, reach=ends)

    def next(self, refinement: int, reach: int) -> int:
        """Of the next rule with more nodes; of this one where there is none."""
        count, finer = self.rule(refinement, reach).count, range(refinement + 1, len(_REFINEMENTS))
        return next((number for number in finer if self.rule(number, reach).count > count), refinement)

    def coarse(self, refinement: int, reach: int) -> bool:
        """Whether a finer rule differs before anything has moved."""
        following = self.next(refinement, reach)
        pair = Pair(self._task, self.rule(refinement, reach), self.rule(following, reach))
        return following > refinement and pair.difference(pair.start) > self._limit

    def compared(self, here: Nodes, more: Nodes, limit: float) -> Rule:
        """Both moved together, until they part."""
        if here.count == more.count and here.normal == more.normal:
            return Rule(here, np.inf, 0.0)
        pair = Pair(self._task, here, more)
        largest, good = pair.difference(pair.start), 0.0
        if largest > limit:
            return Rule(here, good, largest, others=more)
        march, growth = March(pair, _PILOT_TOLERANCE), (0.0, 0.0)
        for tried in march.to(self._until, _ATTEMPTS_MAX):
            doing(f"{here.count} nodes held against {more.count}, t = {march.time:.4g} of {self._until:.4g}")
            if tried is Attempt.VANISHED or max(growth) > POLE:
                return Rule(here, np.inf, largest, others=more)
            variance, _ = growth
            now = pair.difference(march.state) / max(1.0, variance)  # differences of when, not of what
            if now > limit:
                return Rule(here, good, now, others=more)
            largest, good = max(largest, now), march.time
            variance, farthest = pair.growth(march.time, march.state)
            growth = march.time * variance, march.time * farthest
        return Rule(here, good, largest, others=more)

    def on_panels(self, like: Nodes, limit: float, most: int) -> Rule:
        """A rule cut into panels where it has to be, where there is one."""
        ends = _ends(like, self._initial)
        breaks = ends and adaptive_panels(self._task, ends, self._limit, most)
        if breaks is None:
            return Rule(like, 0.0, np.inf)
        nodes = nodes_of(self._initial, breaks)
        return self.compared(nodes, nodes_of(self._initial, cut(breaks, 2)), limit)

    def good(self, rule: Rule) -> bool:
        return rule.good_until >= self._until


def chosen_rule(task: InitialValueProblem, limit: float, most: int) -> Rule:
    """The smallest rule that stays within the limit until the end, otherwise the largest that is allowed.

    Where a tilt looks farther out than tokens are, no reach is far enough: nodes of a law that stays normal then stand
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
    """The limit, or what differences are not known better than to."""
    balanced = [head.sums_error for head in heads(task.equation)]
    return max(limit if task.initial.compact else _TAILS * limit, _BALANCED * max(balanced, default=0.0))


def _need_finite_tilts(task: InitialValueProblem, nodes: Nodes) -> None:
    """Fail where `int e^<Ax, y> dmu(y)` is infinite at tokens x that are there."""
    if task.initial.compact:
        return
    heavy = nodes.points[nodes.weights > _THERE * nodes.weights.max()]
    for head in heads(task.equation):
        head.check_tails(task.initial, heavy)


def _with_tails(search: _Search, refinement: int, limit: float, most: int) -> Rule:
    """As far and as fine, where tails go on beyond the nodes."""
    here, reach = search.tailed(refinement, 0), 0
    found = search.compared(here, search.tailed(refinement, 1), _FAR * limit)
    while not search.good(found) and reach < len(_REACHES) - 2:
        reach += 1
        here, more = search.tailed(refinement, reach), search.tailed(refinement, reach + 1)
        found = search.compared(here, more, _FAR * limit)
    if not search.good(found):
        return replace(found, tails=True)
    enough = max(limit, _CUTOFF_FACTOR * found.difference)
    while refinement < len(_REFINEMENTS) - 1 and here.count <= most:
        here, more = search.tailed(refinement, reach), search.tailed(refinement + 1, reach)
        found = search.compared(here, more, enough)
        if search.good(found):
            break
        refinement += 1
    return found


def _stays_normal(equation: Equation, initial: Measure) -> bool:
    """Whether the law of tokens is normal at all times, and its drift known."""
    dimension = equation.geometry.ambient_dimension
    if initial.normal is None or equation.velocity.gaussian_unfit(dimension) is not None:
        return False
    try:
        equation.velocity.at(0.0).gaussian_drift(initial.mean, initial.covariance)
    except ProblemError:
        return False
    return True


def _far_and_fine(search: _Search, refinement: int, limit: float, most: int) -> Rule:
    """From the spacing that the initial measure itself needs on, first the reach (where nodes end shows in every
    comparison), then the spacing that the flow needs."""
    reach = 0
    most_far = _PATIENCE if search.stays_normal else len(_REACHES) - 2

    def wider() -> Rule:
        return search.compared(search.rule(refinement, reach), search.rule(refinement, reach + 1), _FAR * limit)

    far = wider()
    while not search.good(far) and reach < most_far and search.rule(refinement, reach + 1).count <= most:
        reach += 1
        far = wider()
    if not search.good(far):
        return replace(far, tails=True)
    enough = max(limit, _CUTOFF_FACTOR * far.difference)

    def finer() -> Rule:
        following = search.rule(search.next(refinement, reach), reach)
        return search.compared(search.rule(refinement, reach), following, enough)

    fine, panelled = finer(), None
    while not search.good(fine):
        following = search.next(refinement, reach)
        if following == refinement or search.rule(following, reach).count > most:
            break
        if panelled is None and _REFINEMENTS[refinement] >= _STEEP:
            panelled = search.on_panels(search.rule(refinement, reach), enough, most)
            if search.good(panelled):
                return panelled
        refinement = following
        fine = finer()
    good, difference = min(far.good_until, fine.good_until), max(far.difference, fine.difference)
    others = search.rule(search.next(refinement, reach), reach + 1)
    found = Rule(search.rule(refinement, reach), good, difference, others=others)
    return max(found, panelled or found, key=lambda rule: rule.good_until)


def _ends(nodes: Nodes, initial: Measure) -> tuple[float, float] | None:
    """Between which points of one dimension there is anything, where rules can be cut into panels."""
    if nodes.points.shape[1] > 1 or nodes.positions is not None:
        return None
    if not initial.space.flat:
        return (0.0, 2 * np.pi) if initial.space.angular else None
    low, high = initial.reach() if initial.compact else (nodes.points.min(axis=0), nodes.points.max(axis=0))
    return float(low[0]), float(high[0])


def earlier_rule(task: InitialValueProblem, earlier: Nodes, rule: Rule, limit: float) -> Rule:
    """Nodes that a run began with when its end was earlier, held against those it would choose now."""
    if earlier.normal:
        return Rule(earlier, np.inf, 0.0)
    same = earlier.reach == rule.nodes.reach and np.array_equal(earlier.points, rule.nodes.points)
    if same and not rule.nodes.normal:
        return rule
    limit = _known(task, limit)
    return _Search(task, limit).compared(earlier, rule.nodes, limit)


def _worth(rule: Rule, until: float, most: int) -> Rule:
    """A rule that is good for a part of the run at least."""
    if rule.nodes.count > most:
        raise ProblemError.at("solver.max_nodes", f"is {most}, and the initial measure alone takes {rule.nodes.count}")
    if rule.good_until <= _EARLY * until:
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
    return measure.nodes(accuracy=_FARTHEST, refinement=refinement)
