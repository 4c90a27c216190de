"""A solution on a sphere on its way: all harmonics on S^2, or those about an axis in any dimension."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Convolution
from mfpde.contracts import PROMISED, Accuracy, Integration
from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.spectral.cut_data import NOT_CUT, Cut
from mfpde.solvers.spectral.degree_limits import SPHERE_STEP_SHARE, Limits, degrees_for, width_under
from mfpde.solvers.spectral.harmonic_integration import HarmonicIntegration
from mfpde.solvers.spectral.sphere_data import axis_of, profile_of, symmetry_of
from mfpde.solvers.spectral.sphere_shown import AboutAxis, OnSphere, Shown, table_with_room
from mfpde.solvers.spectral.sphere_stepping import Stepping
from mfpde.solvers.stepping.steady_state import PUSH, Rest
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.spectral import Spectral

__all__ = ["SphereIntegration"]

_SHORTEST_AXIS = 32  # colatitudes
_LINEAR_AMPLITUDE = 1e-12  # sum of all coefficients of degree > 0, below which their products are nothing beside them
_SPARE_DEGREES = 4  # beyond those of the initial measure
_PUSHED_DEGREES = 8  # of the function that a density is pushed by


class SphereIntegration(HarmonicIntegration):
    """`dc_lm/dt = -D l (l + d - 2) c_lm + int grad conj(Y_lm) . v dmu`, with as many degrees as the tolerance asks
    for."""

    first_activity = "compiling, or reading, the steps of the sphere"

    def __init__(self, settings: Spectral, equation: Equation, shown: Shown) -> None:
        self._shown = shown
        harmonics = equation.geometry.harmonics
        assert harmonics is not None  # noqa: S101 - for the type checker
        found = None if equation.law is None else equation.law.convolution(equation.geometry)
        convolution, diffusion = found or Convolution.none(harmonics), equation.noise.diffusion
        limits = Limits.of(settings.tolerance, width_under(convolution, diffusion), SPHERE_STEP_SHARE)
        super().__init__(settings, equation, _SHORTEST_AXIS, limits)
        self._stepping = shown.stepping(convolution, diffusion, limits, settings.max_modes)

    @classmethod
    def begun(cls, settings: Spectral, task: InitialValueProblem) -> SphereIntegration:
        """At t = 0."""
        shown, state, degree = _started(task, settings.max_modes)
        shown.check_room(settings.max_modes)
        made = cls(settings, task.equation, shown)
        stepping = made._stepping
        made._cut = made._cut_of(task, state, degree)
        top = degrees_for(max(degree, stepping.external_degree) + _SPARE_DEGREES, settings.max_modes)
        stepping.lay(*shown.laid(top, stepping.bandwidth or top, state))
        stepping.first_step(settings.tolerance)
        return made

    @classmethod
    def resumed(cls, settings: Spectral, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> SphereIntegration:
        """As it was left."""
        shown: Shown
        if "axis" in state:
            shown = AboutAxis(np.asarray(state["axis"]), bool(state["even"][0]))
        else:
            shown = OnSphere.restored(state["symmetry"])
        made = cls(settings, task.equation, shown)
        made.restore(state)
        return made

    def _cut_of(self, task: InitialValueProblem, state: Float | Complex, degree: int) -> Cut:
        """What the initial measure has beyond the degrees that may be used."""
        most, tolerance = self._settings.max_modes, self._settings.tolerance
        if degree <= 15 * most // 16:
            return NOT_CUT
        diffusion = self._stepping.diffusion
        if diffusion == 0:
            raise ProblemError.at(
                "initial",
                f"has degrees beyond solver.max_modes = {most} (edges, point masses or very narrow peaks), and without "
                "noise nothing smooths them; give a finite noise.kappa, a smoother density, or a larger max_modes",
            )
        error = self._shown.cut_error(task.initial, state)
        return Cut(True, error if error > PROMISED * tolerance else 0.0)

    # -- the contract
    # ---------------------------------------------------------------------------------------------------------------

    @property
    def _steps(self) -> Stepping:
        return self._stepping

    @property
    def _most(self) -> int:
        return self._settings.max_modes

    @property
    def _modes(self) -> int:
        return self._stepping.basis.degree

    @property
    def _diffusion(self) -> float:
        return self._stepping.diffusion

    @property
    def _finest(self) -> str:
        return f"degree {self._settings.max_modes}"

    def _farther(self) -> str:
        return "" if self._diffusion else "; solver.kind: particles follows tokens into clusters of any width"

    def _shown_points(self) -> int:
        return self._stepping.basis.degree + 1

    def _arrays(self) -> dict[str, AnyArray]:
        return self._shown.arrays()

    @property
    def layout(self) -> Layout:
        self._lengthen_axis()
        return self._shown.layout(self._axis)

    # -- rest
    # -----------------------------------------------------------------------------------------------------------------

    def _look_for_rest(self, budget: int) -> bool:
        self._rest.found = self._fades()
        return self._rest.found or self._rest.look(self, budget)

    def _fades(self) -> bool:
        """Whether the density is uniform but for degrees so small that each is known to decay, or to stay, by
        itself."""
        excited = self._stepping.basis.sizes(self._stepping.state)[1:]
        if self._stepping.external_degree or excited @ self._stepping.basis.peaks[1:] > _LINEAR_AMPLITUDE:
            return False
        return bool((self._stepping.uniform_rates()[1:][excited > 0] <= 0).all())

    def _pass_over(self, target: float) -> None:
        """Nothing moves, or degrees decay that feel nothing of each other."""
        stepping = self._stepping
        if self._fades():
            rates = np.minimum(stepping.uniform_rates(), 0.0)
            decay = np.exp(rates * (target - self.time))
            decay[0] = 1.0
            known = np.minimum(stepping.basis.degrees, stepping.basis.degree)
            stepping.state *= decay[known]
            stepping.restart()
        stepping.time = target

    def fastest_rate(self) -> float:
        """Of the linear part, and of the uniform state's growth."""
        growth = np.abs(self._stepping.convolution.growth_rates()).max()
        return float(self._stepping.rates.max(initial=0.0) + growth)

    def pushed(self) -> SphereIntegration:
        """A copy of the density times `1 + PUSH h`, with an h of low degree that has all symmetries."""
        copied = copy(self)
        mine, basis = self._stepping, self._stepping.basis
        change = np.zeros_like(mine.state)
        low = (basis.degrees > 0) & (basis.degrees <= _PUSHED_DEGREES * max(1, getattr(basis, "period", 1)))
        signs = np.cos(1.0 + 2.4 * np.arange(mine.state.size)).reshape(mine.state.shape)
        change[:, low] = PUSH * signs[:, low] / (1.0 + basis.degrees[low]) ** 2
        change *= self._shown.kept(basis)
        change[0, 0] = 1.0
        state = self._shown.product(basis, mine.state, change)
        state /= state[0, 0]
        copied._stepping = self._shown.stepping(mine.convolution, mine.diffusion, mine.limits, mine.most)
        copied._rest, copied._amplification = Rest(0.0), Amplification(autonomous=False)
        copied.restore({**self.state(), "harmonics": state})
        copied._rest.never()
        return copied

    def distance(self, other: Integration) -> float:
        """`(int |rho - rho'|^2 / int rho^2)^{1/2}`."""
        assert isinstance(other, SphereIntegration)  # noqa: S101 - a copy
        here, there = self._stepping, other._stepping
        larger = max((here.basis, there.basis), key=lambda basis: basis.degree)
        mine, theirs = here.basis.carried(here.state, larger), there.basis.carried(there.state, larger)
        return float(np.linalg.norm(larger.sizes(mine - theirs)) / np.linalg.norm(larger.sizes(mine)))

    # -- what it shows
    # ----------------------------------------------------------------------------------------------------------------

    def measure(self) -> Measure:
        self._lengthen_axis()
        return self._shown.measure(self._stepping.basis, self._stepping.state, self._axis)

    def fields(self) -> dict[str, Float]:
        self._lengthen_axis()
        return {"density": self._shown.density(self._stepping.basis, self._stepping.state, self._axis)}

    def residual(self) -> float:
        """A bound of `int |d_t mu|`: the root of the mean square."""
        return float(np.linalg.norm(self._stepping.basis.sizes(self._stepping.slope())))

    def accuracy(self) -> Accuracy:
        found = super().accuracy()
        self._lengthen_axis()
        off = self._shown.pole_error(self._stepping.basis, self._stepping.state, self._axis)
        promised = found.promised
        if found.kept and promised is not None and off > promised:
            return Accuracy(promised, off, kept=None, cause="poles")
        return found


def _external_table(equation: Equation) -> Complex | None:
    """Coefficients of the external potential by degree and order, where there is one."""
    law = equation.law
    found = None if law is None else law.convolution(equation.geometry)
    return None if found is None or found.external is None else np.asarray(found.external.coefficients.T)


def _started(task: InitialValueProblem, most: int) -> tuple[Shown, Float | Complex, int]:
    """The space of the solution, its first coefficients (a profile, or a table by degree and order), their degree."""
    external = _external_table(task.equation)
    if external is not None:  # it need not have the axis of the data
        table = table_with_room(task.initial, most)
        return OnSphere(symmetry_of(table, external)), table, len(table) - 1
    found = profile_of(task.initial, most)
    if found is None and task.equation.geometry.ambient_dimension > 3:
        raise ProblemError.at(
            "initial", "has no axis, and in more than three dimensions only densities about an axis can be solved"
        )
    if found is None:
        table = table_with_room(task.initial, most)
        found = axis_of(table)
        if found is None:
            return OnSphere(symmetry_of(table)), table, len(table) - 1
    profile = found.coefficients
    even = not np.abs(profile[1::2]).max(initial=0.0) > 0
    used = np.flatnonzero(np.abs(profile) > np.finfo(float).eps)
    return AboutAxis(found.axis, even), profile, int(used[-1])
