"""What would make a solution worthless: clusters too narrow for the cells, mass at the edges, growth without bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mfpde.contracts import Accuracy, Progress, State
from mfpde.measure import Measure
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.kernels.finite_volume_peaks import narrowest_peak
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.solvers.finite_volume.rates import Rates

__all__ = [
    "LEAST_WIDTH",
    "MAX_CELLS_CROSSED",
    "SMOOTHING_WIDTH",
    "Faults",
    "Missed",
    "endless",
    "inverse_growth",
    "longest_cell",
    "mass_at_walls",
    "moments_apart",
    "narrow",
    "narrowest_cluster",
    "pace",
    "pace_of_frames",
    "race",
    "unsmoothed",
    "windows_missed",
]

#: cells across a cluster at half of its height
LEAST_WIDTH = 3.0
#: cells that a token may cross while the solution moves by its own width, or in the run
MAX_CELLS_CROSSED = 1e7
_STEPS_MAX = 1e10  # left to a run: months, whatever the cells
_PACE_SEEN = 60e6  # microseconds of evaluations, after which a run has shown how long its steps are
_GROWING_STEP = 1e-2  # of the time: steps as long as that grow with time, and come to any end
SMOOTHING_WIDTH = 4.0 * math.log(2.0)  # cells squared that averaging adds to the squared width at half height
_DIFFERENCE_DAMPING = 4.0  # half of the derivatives by which fluxes of order nine and seven differ in effect
_EDGE_DAMPING = 1.5  # half of those by which the law of the first instants is wrong at edges
# of what was missed
_CHECKPOINT_FIELDS = (
    *("initial", "at_edges", "differed", "misled", "felt", "feeling"),
    *("tails", "layer", "walls", "looked", "sums", "earlier"),
)
_WIDE_EDGE = 0.25  # of the widest: variance of an edge from which on pilots count what noise damps later
_ORDER_NINE_FACTOR = 10.0  # times difference^(9/7) that errors of order nine are, from densities of all kinds


def narrowest_cluster(density: Float) -> float:
    """Width at half height, in cells, of the narrowest cluster along any axis; density `(panels, rows, columns)`."""
    widths = []
    for panel in density:
        for along in (panel, panel.T)[: 1 if panel.shape[0] == 1 else 2]:
            rows = np.ascontiguousarray(along)
            widths.append(narrowest_peak(rows, float(panel.max()), np.empty_like(rows)))
    return unsmoothed(min(widths))


def unsmoothed(width: float) -> float:
    """Of a peak as wide as this after smoothing."""
    return math.sqrt(max(width**2 - SMOOTHING_WIDTH, 0.0))


def longest_cell(matrices: Float, grid: Grid) -> float:
    """In x, along any direction, of the cells in frames `(panels, d, d)`."""
    cells = matrices * grid.widths
    return float(np.abs(cells).max() if grid.dimension == 1 else np.linalg.norm(cells, 2, axis=(1, 2)).max())


def windows_missed(form: Float, matrices: Float, grid: Grid) -> float:
    """The share of what a kernel e^{-<y, F y>} sees, of the form F, that sums over cells in frames miss: where it is s
    cells wide, `2 e^{-2 (pi s)^2}`."""
    own = np.diag(grid.widths**2) if grid.gaussian else np.zeros((grid.dimension, grid.dimension))
    cells = matrices * grid.widths
    narrowness = np.linalg.eigvalsh(2.0 * np.swapaxes(cells, 1, 2) @ form @ cells + own)[:, -1]
    return 2.0 * math.exp(-2.0 * math.pi**2 / max(float(narrowness.max()), 1e-300))


def mass_at_walls(density: Float) -> float:
    """By how much the mass `h sum u_i` of point values differs from `int u`, relative: `h^2 / 24` times the slopes at
    both walls, which are extrapolated from the differences of the nearest cells; density `(panels, rows, columns)`."""
    ends = [density[..., :3], density[..., :-4:-1]]
    if density.shape[1] > 1:
        ends += [density[:, :3].swapaxes(1, 2), density[:, :-4:-1].swapaxes(1, 2)]
    slopes = (3.0 * u[..., 1] - 2.0 * u[..., 0] - u[..., 2] for u in ends)
    return sum(float(np.abs(slope).sum()) for slope in slopes) / (24.0 * float(density.sum()))


def race(outflow: float, pace: Callable[[], float], until: float, most: float) -> Progress | None:
    """How a run ends whose tokens cross more cells than that, both until its end and while the solution moves by its
    own width."""
    crossed = outflow / most
    if not (crossed * until > 1.0 and crossed > pace()):
        return None
    return Progress(
        State.NOT_FINITE,
        f"tokens in tails cross {outflow:.3g} cells per unit time: this attention of tails has no bound",
        "take bounded initial data, a smaller solver.box, or without noise solver.kind: characteristics",
    )


def endless(time: float, until: float, longest: float, work: float) -> Progress | None:
    """How a run ends that has taken so many microseconds to a time, in steps that are at most that long and do not grow
    with time, and whose end is months away."""
    left = (until - time) / longest
    if work < _PACE_SEEN or left < _STEPS_MAX or longest > _GROWING_STEP * time:
        return None
    return Progress(
        State.NOT_FINITE,
        f"steps of {longest:.2g} do not lead to t = {until:.3g}: {left:.1g} more of them were needed",
        "end the run earlier; a solution at rest needs no steps, but this one moves or is not stable",
    )


def narrow(width: float) -> Progress | None:
    """How a run ends whose narrowest cluster is so many cells wide."""
    if width >= LEAST_WIDTH:
        return None
    return Progress(
        State.RESOLUTION_LOST,
        f"a cluster has become narrower than {LEAST_WIDTH:g} cells",
        "raise solver.cells, add noise, stop earlier, or use frame: moving and one mixture component a cluster",
    )


class Faults(NamedTuple):
    """What cells make wrong per unit time: the difference between two orders of the fluxes, relative to the peak, and
    what sums over tokens make of speeds, in widths. It is damped by what noise adds to variances, in cells squared,
    where that is least."""

    fluxes: float
    sums: float
    widening: float


@dataclass
class Missed:
    """An estimate of the spatial error, relative to the peak: the error of the initial data, plus the sum over all
    steps of length x |flux of order 9 - flux of order 7|.

    That difference is O(h^7) and the error O(h^9): the estimate is 10 difference^(9/7), or where velocities have kinks
    within cells that difference. Noise damps the difference of a step, eight derivatives, and what it has done, by
    (s^2 / (s^2 + 2 D t))^4 on a normal law of the variance s^2: the edge that noise has widened, or what its frame
    stands still with, whose Hermite functions from the eighth on decay at least as fast. Three derivatives, by which
    the law of the first instants is wrong at edges, are damped by the power 3/2. What is shown between the cells adds
    the error of its interpolation. Where kernels tilt the density, the difference changes
    the drift, too: in the time t until now tokens are carried wrongly by as much as t times its change.
    """

    initial: float
    allowed: float
    order: int
    kinks: bool = False  # of the velocity, which make every order wrong alike
    edges: bool = True  # whether the initial data may have some, not only tails that cells cut off
    differed: float = 0.0
    most: float = 0.0  # the largest of that so far, sharp edges apart: noise damps it again
    misled: float = 0.0  # what sums over tokens have made of where they are, relative to the width
    felt: float = 0.0  # what the difference has changed of the drift, relative to the width per unit time
    feeling: float = 0.0  # the rate of that when drifts were last looked at
    tails: float = 0.0  # what tails beyond the cells may have changed of where tokens are, relative to the width
    layer: float = np.inf  # variance of the steepest edge under noise, in cells squared; infinite where none is known
    widest: float = np.inf  # variance of the widest edge, that of a moving frame's own Gaussian; infinite at rest
    at_edges: float = 0.0  # what the law of the first instants is wrong at edges, now
    walls: float = 0.0  # the largest share of the mass so far by which sums over cells and integrals differ at walls
    between: float = 0.0  # the error of interpolation between the cells at the present time
    looked: float = 0.0  # when drifts were last looked at
    sums: float = 0.0  # as `tails`, of sums over kinks, or of what is lost in tails within cells
    earlier: float = 0.0  # the largest estimate at output times so far: noise damps what cells have left of edges

    @property
    def so_far(self) -> float:
        """The estimate at the present time."""
        of_fluxes = self._of(self.differed) + self._of(self.felt * self.looked)
        return self.initial + self.at_edges + self.walls + self.between + self.misled + of_fluxes

    @property
    def at_most(self) -> float:
        """The largest estimate so far, of what is between the cells now, or of what fluxes have made of drifts."""
        of_drifts = self.sums if self.felt > 0.0 else 0.0
        return max(replace(self, differed=max(self.most, self.differed)).so_far, of_drifts)

    def _of(self, difference: float) -> float:
        """The error that belongs to a difference of both orders."""
        smooth = self.order == 9 and not self.kinks
        return _ORDER_NINE_FACTOR * difference ** (9 / 7) if smooth else difference

    def left(self, step: float, widening: float) -> float:
        """The share of a difference of both orders that noise leaves of it within a step, where it is at an edge."""
        return self._wider(step, widening) ** -_DIFFERENCE_DAMPING if self._edged else 1.0

    @property
    def _edged(self) -> bool:
        """Whether there is an edge that noise has not widened yet."""
        return self.layer < _WIDE_EDGE * self.widest

    def _wider(self, step: float, widening: float) -> float:
        """By which factor noise raises the variance of the layer."""
        return 1.0 + step * widening / self.layer

    def add(self, step: float, before: Faults, after: Faults) -> None:
        """A step: its length, and what cells make wrong before and after it."""
        self.misled += step * _mean(before.sums, after.sums)
        widening = min(before.widening, after.widening)
        wider = self._wider(step, widening)
        damping = wider**-_DIFFERENCE_DAMPING
        self.differed = damping * self.differed + step * _mean(damping * before.fluxes, after.fluxes)
        if self.layer < np.inf:
            self.at_edges *= wider**-_EDGE_DAMPING
            self.layer = min(wider * self.layer, self.widest)
        if not self._edged:
            self.most = max(self.most, self.differed)

    def seen(self, time: float, of_tails: float, of_sums: float, feeling: float) -> Missed:
        """With what tails, sums and fluxes do to drifts at that time, per unit time; between two looks the last grows
        or falls like an exponential."""
        length = time - self.looked
        tails, sums = self.tails + of_tails * length, self.sums + of_sums * length
        felt = self.felt + _mean(self.feeling, feeling) * length
        return replace(self, tails=tails, sums=sums, felt=felt, feeling=feeling, looked=time)

    def see_walls(self, changed: float) -> None:
        """After a step, with the share of the mass that differs at walls, what lifting has changed there included."""
        self.walls = max(self.walls, changed)

    def see_output(self, between: float) -> None:
        """At an output time, with the error of interpolation between the cells then."""
        self.earlier = max(self.earlier, replace(self, between=between).so_far)

    def array(self) -> Float:
        """What a checkpoint keeps of it."""
        return np.array([getattr(self, name) for name in _CHECKPOINT_FIELDS])

    def restore(self, kept: Float) -> None:
        """Go on from there."""
        for name, value in zip(_CHECKPOINT_FIELDS, kept, strict=True):
            setattr(self, name, float(value))

    def accuracy(self) -> Accuracy:
        """Whether cells and tails have left out less than is allowed, at all output times."""
        estimate = max(self.so_far, self.earlier)
        if estimate > self.allowed:
            return Accuracy(self.allowed, estimate, kept=False, cause=self._cause())
        if self.tails > self.allowed:
            return Accuracy(self.allowed, self.tails, None, "tails")
        if self.sums > self.allowed:
            return Accuracy(self.allowed, self.sums, None, "tails" if self.felt > 0.0 else "kinks")
        return Accuracy(self.allowed, estimate, kept=True)

    def _cause(self) -> str:
        """Of an error larger than is allowed."""
        if self.initial > self.allowed and self.edges:
            return "edges"
        if self.kinks:
            return "kinks"
        return "cells" if self.so_far > self.allowed else "earlier"


def _mean(before: float, after: float) -> float:
    """Over a time in which something grows or falls like an exponential."""
    ratio = after / before if before > 0 else 1.0
    return after if ratio in (0.0, 1.0) else (after - before) / math.log(ratio)


def pace(grid: Grid, solution: Solution, rates: Rates) -> float:
    """How fast frames and densities move or change, per unit time, relative to their size."""
    fastest = pace_of_frames(solution, rates)
    for density, speeds in zip(solution.density, rates.speeds, strict=True):
        share = density / density.sum()
        typical = np.sqrt((speeds**2 * share).reshape(len(speeds), -1).sum(axis=1))
        fastest = max(fastest, float((typical / np.sqrt(np.diag(grid.moments(density)[1]))).max()))
    return fastest


def pace_of_frames(solution: Solution, rates: Rates) -> float:
    """How fast frames move or change, per unit time, relative to their size."""
    inverse = np.linalg.inv(solution.matrix)
    moved, changed = inverse @ rates.mean[:, :, None], inverse @ rates.matrix
    return float(max(np.abs(moved).max(), np.abs(changed).max()))


def moments_apart(mine: Measure, theirs: Measure) -> float:
    """Distance of mean and covariance, relative to the widths along the axes."""
    with np.errstate(all="ignore"):
        widths = np.sqrt(np.diag(mine.covariance))
        moved = (theirs.mean - mine.mean) / widths
        wider = (theirs.covariance - mine.covariance) / np.multiply.outer(widths, widths)
    return float(max(np.abs(moved).max(), np.abs(wider).max()))


def inverse_growth(solution: Solution, rates: Rates) -> float:
    """`lambda / lambda'` of the largest variance of any frame; infinite where it does not grow."""
    largest, found = 0.0, np.inf
    if solution.matrix.shape[1] == 1:
        frames, changes = solution.matrix[:, 0, 0], rates.matrix[:, 0, 0]
        widest = int(np.argmax(frames**2))
        growing = frames[widest] * changes[widest] > 0
        return float(0.5 * frames[widest] / changes[widest]) if growing else found
    for frame, change in zip(solution.matrix, rates.matrix, strict=True):
        variances, axes = np.linalg.eigh(frame @ frame.T)
        axis = axes[:, -1]
        speed = 2.0 * float((axis @ change) @ (frame.T @ axis))
        if variances[-1] > largest:
            largest = float(variances[-1])
            found = largest / speed if speed > 0 else np.inf
    return found
