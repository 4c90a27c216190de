"""A solution of any law on circle and spheres on its way: matrices, heads, positions, drifts, coefficients in time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.contracts import PROMISED, Accuracy, Integration
from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure import Measure, Positioned
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.forms.positioned import positioned_layout
from mfpde.solvers.spectral.cut_data import NOT_CUT, Cut
from mfpde.solvers.spectral.degree_limits import Limits, degrees_for
from mfpde.solvers.spectral.harmonic_integration import HarmonicIntegration
from mfpde.solvers.spectral.law_flow import Flow
from mfpde.solvers.spectral.law_grids import Grid
from mfpde.solvers.spectral.law_part import bounds_of
from mfpde.solvers.spectral.law_spaces import Space, restored_space, space_of
from mfpde.solvers.spectral.law_stepping import LawStepping
from mfpde.solvers.stepping.steady_state import PUSH, Rest
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.spectral import Spectral

__all__ = ["LawIntegration"]

_SPARE_DEGREES = 4  # beyond those of the initial measure
_FIRST_DEGREE_MAX = 40  # of a guess: 128 points hold it


class LawIntegration(HarmonicIntegration):
    """`dc_lm/dt = -D l (l + d - 2) c_lm + int grad conj(Y_lm) . v dmu` for any velocity v, one law for each position of
    masked attention."""

    first_activity = "compiling, or reading, the steps of general laws"

    def __init__(
        self, settings: Spectral, equation: Equation, space: Space, positions: Float | None, masses: Float
    ) -> None:
        self._space, self._flow = space, Flow(equation, positions, masses)
        limits = Limits.of(settings.tolerance)
        super().__init__(settings, equation, space.axis_points, limits, max(self._flow.breaks, default=0.0))
        self._stepping = self._begin_stepping()

    def _begin_stepping(self) -> LawStepping:
        flow = Flow(self._equation, self._flow.positions, self._flow.masses)
        return LawStepping(flow, self._space.grid, self._space.kept, self._limits, self._most)

    @classmethod
    def begun(cls, settings: Spectral, task: InitialValueProblem) -> LawIntegration:
        """At t = 0."""
        slices = task.initial.slices
        most = settings.max_modes - int(task.equation.geometry.counts_as("circle"))
        space, found = space_of(task.equation, [law for _, _, law in slices], most)
        places = [place for place, _, _ in slices if place is not None]
        masses = np.array([share for _, share, _ in slices])
        space.check_room(settings.max_modes)
        made = cls(settings, task.equation, space, np.array(places) if places else None, masses)
        degree = max(_last(each, made._limits.truncation) for each in found)
        made._cut = made._cut_of([law for _, _, law in slices], found, degree)
        top = degrees_for(max(degree + _SPARE_DEGREES, space.least_degree, made._degree_of_rest()), most)
        grid = space.grid(top, top)
        values = np.stack([space.packed(grid, each) for each in found])
        values /= values[:, :1, :1]
        doing("integrating kernels against harmonics")
        made._stepping.lay(top, top, values)
        made._stepping.first_step(settings.tolerance)
        return made

    def _degree_of_rest(self) -> int:
        """Of `e^{z cos theta}`, z = |v| / D: a state that noise and a velocity as large as the bound could keep, whose
        modes fall like `e^{-k^2 / (2 z)}`. To begin with it saves changes, which cost more than the degrees."""
        law, diffusion = self._equation.law, self._diffusion
        if law is None or diffusion == 0 or self._space.unit != "modes":
            return 0
        ratio = sum(bounds_of(law.at(0.0).terms(2))) / diffusion
        return int(min(_FIRST_DEGREE_MAX, math.sqrt(2.0 * ratio * -math.log(self._limits.truncation))))

    @classmethod
    def resumed(cls, settings: Spectral, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> LawIntegration:
        """As it was left."""
        positions, masses = (np.asarray(state[name]) for name in ("positions", "masses"))
        space = restored_space(state, task.equation.geometry)
        made = cls(settings, task.equation, space, positions if positions.size else None, masses)
        made.restore(state)
        return made

    def _cut_of(self, laws: list[Measure], found: list[Float | Complex], degree: int) -> Cut:
        """What the initial measures have beyond the degrees that may be used."""
        most, tolerance = self._most, self._settings.tolerance
        if degree <= 15 * most // 16:
            return NOT_CUT
        if not self._equation.noise.diffuses or self._equation.noise.diffusion_at(0.0) == 0:
            raise ProblemError.at(
                "initial",
                f"has harmonics beyond solver.max_modes = {self._settings.max_modes} (edges, point masses or very "
                "narrow peaks), and without noise nothing smooths them; give a finite noise.kappa, a smoother density, "
                "or a larger max_modes",
            )
        error = max(self._space.cut_error(law, each) for law, each in zip(laws, found, strict=True))
        return Cut(True, error if error > PROMISED * tolerance else 0.0)

    # -- the contract
    # ---------------------------------------------------------------------------------------------------------------

    @property
    def _steps(self) -> LawStepping:
        return self._stepping

    @property
    def _most(self) -> int:
        return self._settings.max_modes - (self._space.unit == "modes")

    @property
    def _modes(self) -> int:
        return self._stepping.grid.degree + (self._space.unit == "modes")

    @property
    def _diffusion(self) -> float:
        return self._equation.noise.diffusion_at(0.0)

    @property
    def _finest(self) -> str:
        return f"{self._settings.max_modes} {self._space.unit}"

    def _farther(self) -> str:
        if self._equation.noise.diffuses:
            return ""
        follows = "characteristics goes on" if self._equation.geometry.ambient_dimension <= 3 else "particles goes on"
        return f"; solver.kind: {follows} into clusters of any width"

    def _shown_points(self) -> int:
        return self._space.points_for(self._stepping.grid.degree)

    def _arrays(self) -> dict[str, AnyArray]:
        positions = self._flow.positions
        return {
            **self._space.arrays(),
            "positions": np.zeros(0) if positions is None else positions,
            "masses": self._flow.masses,
        }

    @property
    def layout(self) -> Layout:
        self._lengthen_axis()
        single, positions = self._space.layout(self._axis), self._flow.positions
        return single if positions is None else positioned_layout(single, positions.tolist())

    # -- rest
    # -----------------------------------------------------------------------------------------------------------------

    def _look_for_rest(self, budget: int) -> bool:
        return self._rest.look(self, budget)

    def fastest_rate(self) -> float:
        """Of the linear part, and of transport."""
        return self._stepping.fastest_rate()

    def pushed(self) -> LawIntegration:
        """A copy of the densities times `1 + PUSH h`, with an h of low degree that has all symmetries."""
        copied, mine = copy(self), self._stepping
        copied._stepping = copied._begin_stepping()
        copied._rest, copied._amplification = Rest(0.0), Amplification(autonomous=False)
        values = np.stack([self._space.pushed(mine.grid, each, PUSH) for each in mine.split(mine.state)])
        copied.restore({**self.state(), "harmonics": values})
        copied._stepping.restart()
        copied._rest.never()
        return copied

    def distance(self, other: Integration) -> float:
        """`(int |rho - rho'|^2 / int rho^2)^{1/2}`, of all positions."""
        assert isinstance(other, LawIntegration)  # noqa: S101 - a copy
        here, there = self._stepping, other._stepping
        larger = max((here.grid, there.grid), key=lambda grid: grid.degree)
        mine, theirs = (_on(each, larger) for each in (here, there))
        apart, whole = (np.linalg.norm([larger.sizes(row) for row in each]) for each in (mine - theirs, mine))
        return float(apart / whole)

    # -- what it shows
    # ----------------------------------------------------------------------------------------------------------------

    def _values(self) -> Float:
        """Coefficients `(slices, 2, size)`."""
        return self._stepping.split(self._stepping.state)

    def measure(self) -> Measure:
        self._lengthen_axis()
        flow = self._flow
        laws = [self._space.measure(self._stepping.grid, each, self._axis) for each in self._values()]
        return laws[0] if flow.positions is None else Positioned(flow.positions, laws, flow.masses)

    def fields(self) -> dict[str, Float]:
        self._lengthen_axis()
        densities = [self._space.density(self._stepping.grid, each, self._axis) for each in self._values()]
        if self._flow.positions is None:
            return {"density": densities[0]}
        return {"density": np.stack([m * each for m, each in zip(self._flow.masses, densities, strict=True)])}

    def residual(self) -> float:
        """A bound of `int |d_t mu|`: the root of the mean square."""
        found = [np.linalg.norm(self._stepping.grid.sizes(each)) for each in self._stepping.slope()]
        return float(self._flow.masses @ np.array(found))

    def accuracy(self) -> Accuracy:
        found = super().accuracy()
        if found.kept and self._stepping.kinked:
            return Accuracy(found.promised, None, None, "kernel")
        self._lengthen_axis()
        grid, count, promised = self._stepping.grid, self._axis, found.promised
        off = max(self._space.pole_error(grid, each, count) for each in self._values())
        if found.kept and promised is not None and off > promised:
            return Accuracy(promised, off, kept=None, cause="poles")
        return found


def _last(found: Float | Complex, truncation: float) -> int:
    """The last degree that matters."""
    sizes = np.abs(found) if np.ndim(found) == 1 else np.abs(found).max(axis=1) * np.sqrt(2 * np.arange(len(found)) + 1)
    return int(np.flatnonzero(sizes > 0.03 * truncation * sizes.sum())[-1])


def _on(stepping: LawStepping, grid: Grid) -> Float:
    """Its coefficients on another grid."""
    return np.stack([stepping.grid.carried(each, grid) for each in stepping.split(stepping.state)])
