"""A bifurcation diagram: branches of stationary states and what happens on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.bifurcation.clusters import cluster_rates, rates_cross
from mfpde.bifurcation.crossings import Symmetry
from mfpde.bifurcation.families import equation_at
from mfpde.bifurcation.selection import choose, coexistence, solve_between
from mfpde.bifurcation.states import Family
from mfpde.bifurcation.stationary import StationaryState, state_from_moments
from mfpde.bifurcation.trail import Trail, no_trail
from mfpde.contracts import FINISHED, Observable, Outcome, Result, Summary
from mfpde.contracts.observable import Instant
from mfpde.equation import Equation
from mfpde.errors import MfpdeError, ProblemError
from mfpde.measure import Measure
from mfpde.registry import lookup, members
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from mfpde.problem import Problem

__all__ = ["ENDED", "Branch", "Diagram", "SpecialPoint", "meeting", "observed_state"]

#: of a search that came to its end; it has no time
ENDED = Outcome(FINISHED, np.nan)
_SAME_PLACE = 1e-9  # of the range: branches that leave the uniform state there leave it together


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """Where something happens on a branch: `kind` is branch-point, fold, first-order or tricritical.

    `type` says how a branch leaves there: supercritical, subcritical or transcritical, and `coefficient` is the leading
    one of `kappa / kappa_l = 1 + c_1 m + c_2 m^2`, from the formula and `fitted` to the branch. `branches` are the
    numbers of the branches that meet; `breaks` is the symmetry that new states lose.
    """

    kind: str
    parameter: float
    place: int
    moments: Float
    free_energy: float
    state: StationaryState = field(repr=False)
    type: str = ""
    coefficient: float = float("nan")
    fitted: float = float("nan")
    breaks: str = ""
    multiplicity: int = 1
    branches: tuple[int, ...] = ()
    #: azimuthal order and residue of the degrees of the null vectors, and how many of them cross zero together
    symmetry: Symmetry = (0, 0)
    count: int = 1

    @property
    def measure(self) -> Measure:
        """The state there."""
        return self.state.measure

    def __str__(self) -> str:
        parts = [self.type, self.kind, f"at {self.parameter:.12g}", f"(breaks {self.breaks})" if self.breaks else ""]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, eq=False)
class Branch:
    """Consecutive states: arrays over its points, `moments` padded with NaN, and its special points.

    >>> import mfpde
    >>> problem = mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 5},
    ...     "bifurcation": {"parameter": "kappa", "range": [0.15, 0.25], "branches": [1]},
    ... })
    >>> branch = mfpde.bifurcate(problem).branches[1]
    >>> [point.kind for point in branch.special], branch.at(0.19, "upper").stable
    (['branch-point', 'fold', 'first-order'], True)
    """

    name: str
    mode: int
    number: int
    family: Family = field(repr=False)
    parameter: Float
    moments: Float = field(repr=False)
    amplitude: Float
    free_energy: Float
    unstable: AnyArray
    rates: Float | Complex = field(repr=False)
    residual: Float = field(repr=False)
    quadratic_residual: Float = field(repr=False)
    special: list[SpecialPoint] = field(default_factory=list)
    parent: int = 0
    vertical: bool = False
    #: on a vertical branch the largest amplitude at its one parameter
    vertical_until: float = float("nan")
    end: str = ""
    trail: Trail = field(default_factory=no_trail, repr=False)

    def __len__(self) -> int:
        return int(self.parameter.size)

    @property
    def stable(self) -> AnyArray:
        """Where no direction grows."""
        return self.unstable == 0

    def stable_segments(self) -> list[int]:
        """Points from which to the next one states are stable; a special point between is an end of both kinds."""
        special = np.zeros(len(self), dtype=bool)
        special[[point.place for point in self.special]] = True
        stable = self.stable
        first, second = stable[:-1], stable[1:]
        return [int(i) for i in np.flatnonzero((first & (second | special[1:])) | (second & special[:-1]))]

    def state(self, point: int) -> StationaryState:
        """The state at a point of it."""
        model = self.family.make(float(self.parameter[point]))
        moments = self.moments[point]
        return StationaryState(state_from_moments(model, moments[np.isfinite(moments)]), max(self.mode, 1))

    def states_at(self, parameter: float) -> list[StationaryState]:
        """All its states at a value of the parameter, by Newton's method from its points, in its order."""
        return [state for _, state in self._found_at(parameter)]

    def at(self, parameter: float, side: str | None = None) -> StationaryState:
        """Its state at a value of the parameter; where several are there, `side`: upper, lower or oblate."""
        return choose(self.states_at(parameter), side, f"{self.name} at {parameter:.6g}", self.nearest(parameter))

    def cluster_rates(self) -> Float:
        """`(point, 2)`: for a branch of two clusters on the circle, the rates at which they move against each other and
        at which they exchange mass; NaN for the uniform state."""
        uniform = (float("nan"), float("nan"))
        found = [cluster_rates(self.state(i)) if self.amplitude[i] > 0 else uniform for i in range(len(self))]
        return np.array(found)

    def rates_cross(self) -> list[float]:
        """Values of the parameter at which these two are equal."""
        return rates_cross(self)

    def nearest(self, parameter: float) -> str:
        """Where it is, and where its special points are."""
        reach = f"it is there from {self.parameter.min():.6g} to {self.parameter.max():.6g}"
        told = sorted(self.special, key=lambda point: abs(point.parameter - parameter))[:2]
        return "; ".join([reach, *(str(point) for point in told)])

    def plot(self, path: str | Path | None = None) -> Figure:
        """States along it, its leading rates, and eigenfunctions of its most unstable state."""
        figure: Figure = lookup("view", "branch")(self, path)
        return figure

    def _found_at(self, parameter: float) -> list[tuple[int, StationaryState]]:
        offset = self.parameter - parameter
        crossed = np.flatnonzero((offset[:-1] == 0) | (offset[:-1] * offset[1:] < 0))
        found = [(int(i), solve_between(self, int(i), parameter)) for i in crossed]
        if len(self) and offset[-1] == 0:
            found.append((len(self) - 1, self.state(len(self) - 1)))
        return [(i, state) for i, state in found if state is not None]


def meeting(branches: list[Branch]) -> list[Branch]:
    """The branches; special points of the first, the uniform state, with the numbers of those that meet it there."""
    uniform, *others = branches
    met = []
    for point in uniform.special:
        numbers = [branch.number for branch in others if _meets(branch, point.parameter)]
        met.append(replace(point, branches=(0, *numbers)))
    return [replace(uniform, special=met), *others]


def _meets(branch: Branch, parameter: float) -> bool:
    bare = ~np.nan_to_num(branch.moments[:, 1:]).any(axis=1)
    width = _SAME_PLACE * (branch.family.high - branch.family.low)
    return bool(np.any(bare & (np.abs(branch.parameter - parameter) < width)))


def observed_state(observable: Observable, state: StationaryState, equation: Equation) -> dict[str, float | Float]:
    """What an observable says of a state of that equation."""
    return observable.evaluate(Instant(0.0, state.measure, equation, _at_rest))


def _at_rest() -> float:
    """The speed of a stationary state."""
    return 0.0


@dataclass(frozen=True, eq=False)
class Diagram(Result):
    """All branches of a problem over a range of its parameter; `outcome` says whether the search came to its end.

    >>> import mfpde
    >>> problem = mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 5},
    ...     "bifurcation": {"parameter": "kappa", "range": [0.15, 0.25], "branches": [1]},
    ... })
    >>> low, high = mfpde.bifurcate(problem).coexistence
    >>> round(float(low), 9), round(float(high), 9)          # the fold, and kappa_1 = beta / I_1(beta)
    (0.184300683, 0.205459957)
    """

    problem: Problem
    parameter: str
    range: tuple[float, float]
    branches: list[Branch]
    outcome: Outcome = ENDED
    provenance: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def special(self) -> list[tuple[Branch, SpecialPoint]]:
        """The special points of all branches."""
        return [(branch, point) for branch in self.branches for point in branch.special]

    @property
    def messages(self) -> list[str]:
        """What is to be said of its branches: which are vertical, which stalled and where."""
        told = []
        for branch in self.branches:
            if branch.vertical:
                told.append(
                    f"{branch.name} is vertical: at {branch.parameter[0]:.10g} every amplitude up to "
                    f"{branch.vertical_until:.4g} is a stationary state"
                )
            if "stalled" in branch.end:
                at = branch.parameter[-1]
                told.append(
                    f"{branch.name} stalled at {at:.10g}, amplitude {branch.amplitude[-1]:.6g}; that state is kept"
                )
        return told

    @property
    def coexistence(self) -> tuple[float, float] | None:
        """The range of the parameter in which two or more stable states are, up to rotations; None without one."""
        return coexistence(self.branches)

    def branch(self, name: int | str) -> Branch:
        """By number, or by mode: `uniform` or `mode 1`."""
        for branch in self.branches:
            if name in (branch.number, branch.name):
                return branch
        known = ", ".join(f"{branch.number}: {branch.name}" for branch in self.branches)
        raise ProblemError.at("branch", f"there is no branch {name!r}; known: {known}")

    def observed(self, branch: Branch, name: str) -> Float:
        """An observable, such as `order-parameter` or `entropy`, at each point of a branch.

        >>> import mfpde
        >>> diagram = mfpde.bifurcate(mfpde.Problem.from_dict({
        ...     "geometry": {"kind": "circle"},
        ...     "attention": {"kind": "unnormalized", "beta": 0},
        ...     "bifurcation": {"parameter": "kappa", "range": [1, 4], "branches": [1]},
        ... }))
        >>> found = diagram.observed(diagram.branches[1], "order-parameter")
        >>> float(np.abs(found - diagram.branches[1].amplitude).max()) < 1e-12
        True
        """
        if name not in members("observable"):
            raise MfpdeError(f"there is no observable {name!r}")
        observable = lookup("observable", name)()
        values = []
        for point, parameter in enumerate(branch.parameter):
            equation = equation_at(self.problem.equation, self.parameter, float(parameter))
            why = observable.unfit(equation)
            if why is not None:
                raise MfpdeError(f"{name}: {why}")
            found = observed_state(observable, branch.state(point), equation).get(name)
            if found is None or np.ndim(found):
                raise MfpdeError(f"{name} is more than one number")
            values.append(found)
        return np.array(values)

    def summary(self) -> Summary:
        """How many branches, points and special points there are, and what was found."""
        points = sum(len(branch) for branch in self.branches)
        names = {branch.name: f"{len(branch)} points, {int(branch.stable.sum())} stable" for branch in self.branches}
        coexistence = (
            {} if self.coexistence is None else {"several stable": "{:.10g} to {:.10g}".format(*self.coexistence)}
        )
        return Summary(
            extent={self.parameter: f"{self.range[0]:g} to {self.range[1]:g}", **coexistence},
            contents=names,
            counts={"branches": len(self.branches), "points": points, "special points": len(self.special)},
            data=self.to_dict(),
        )

    def citations(self) -> list[str]:
        """Keys of the papers behind it."""
        law = self.problem.equation.law
        own = () if law is None else law.citations
        return list(dict.fromkeys([*own, "bertini2010", "carrillo2020", "shalova2024"]))

    def to_xarray(self) -> xarray.Dataset:
        """Everything over `point`, with the number of its branch, as in the file (needs the `analysis` extra)."""
        import xarray

        names = ("parameter", "amplitude", "free_energy", "unstable", "residual", "quadratic_residual")
        arrays = {name: ("point", np.concatenate([getattr(b, name) for b in self.branches])) for name in names}
        numbers = np.repeat([branch.number for branch in self.branches], [len(branch) for branch in self.branches])
        orders = max(branch.moments.shape[1] for branch in self.branches)
        wide = [
            np.pad(b.moments, ((0, 0), (0, orders - b.moments.shape[1])), constant_values=np.nan) for b in self.branches
        ]
        tables = {"branch": ("point", numbers), "moments": (("point", "order"), np.concatenate(wide))}
        return xarray.Dataset({**tables, **arrays}, attrs={"parameter": self.parameter, "range": self.range})

    def plot(self, path: str | Path | None = None, quantity: str = "amplitude") -> Figure:
        """Branches over the parameter: stable solid, unstable dashed, special points marked and labelled."""
        figure: Figure = lookup("view", "diagram")(self, path, quantity)
        return figure

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write it as HDF5."""
        written: Path = lookup("archive", "write-diagram")(self, path, force)
        return written

    def to_dict(self) -> dict[str, Any]:
        """What was found, as plain data."""
        return {
            "parameter": self.parameter,
            "range": list(self.range),
            "outcome": self.outcome.kind,
            "branches": [
                {
                    "number": branch.number,
                    "name": branch.name,
                    "points": len(branch),
                    "stable": bool(branch.stable.any()),
                    "special": [
                        {"kind": p.kind, "type": p.type, "parameter": p.parameter, "breaks": p.breaks}
                        for p in branch.special
                    ],
                }
                for branch in self.branches
            ],
        }
