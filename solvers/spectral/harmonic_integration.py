"""A solution by harmonics on its way, whatever its law: calls, what is said of their end, rest, and what resumes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from mfpde.activity import doing
from mfpde.contracts import Accuracy, Integration, Progress, State
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.spectral.cut_data import NOT_CUT, Cut, smooth_from
from mfpde.solvers.spectral.degree_limits import STEPS_BETWEEN_LOOKS, Limits
from mfpde.solvers.stepping.steady_state import REST_SHARE, Rest
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.equation import Equation
    from mfpde.solvers.spectral import Spectral

__all__ = ["HarmonicIntegration"]


class Steps(Protocol):
    """What makes the steps."""

    time: float

    @property
    def step(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def rejected(self) -> int: ...

    @property
    def evaluations(self) -> int: ...

    @property
    def cost(self) -> float:
        """Microseconds of one attempt."""

    def advance(self, target: float, attempts: int) -> State: ...

    def arrays(self) -> dict[str, AnyArray]: ...

    def restore(self, arrays: dict[str, AnyArray]) -> None: ...


class HarmonicIntegration(Integration):
    """With as many degrees as the tolerance asks for."""

    #: what a first call spends its time on
    first_activity: ClassVar[str]

    def __init__(
        self, settings: Spectral, equation: Equation, axis: int, limits: Limits, last_break: float = 0.0
    ) -> None:
        self._settings, self._equation = settings, equation
        self._limits = limits
        self._cut, self._axis = NOT_CUT, axis
        self._rest = Rest(REST_SHARE * settings.tolerance, last_break)
        self._amplification = Amplification(equation.autonomous)

    # -- what a kind of solution says
    # -----------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _steps(self) -> Steps:
        """What makes the steps."""

    @property
    @abstractmethod
    def _most(self) -> int:
        """The largest degree."""

    @property
    @abstractmethod
    def _modes(self) -> int:
        """As many as there are now, counted as in `max_modes`."""

    @property
    @abstractmethod
    def _diffusion(self) -> float:
        """That damps what is cut off the initial measure."""

    @property
    @abstractmethod
    def _finest(self) -> str:
        """What the largest degree is called."""

    @abstractmethod
    def _shown_points(self) -> int:
        """Points on the axis of the layout that show all degrees of the present state."""

    def _farther(self) -> str:
        """What else follows a density that has become too narrow."""
        return ""

    @abstractmethod
    def _look_for_rest(self, budget: int) -> bool:
        """False when the look takes more than that budget."""

    def _pass_over(self, target: float) -> None:
        """To a time without steps."""
        self._steps.time = target

    @abstractmethod
    def _arrays(self) -> dict[str, AnyArray]:
        """What says which space it is."""

    # -- the contract
    # -----------------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        return self._steps.time

    def _lengthen_axis(self) -> None:
        """Until it shows all degrees."""
        while self._axis < self._shown_points():
            self._axis *= 2

    def advance(self, target: float, budget: int) -> Progress:
        doing(self.first_activity)
        steps = self._steps
        if steps.steps % STEPS_BETWEEN_LOOKS == 0 and self._rest.due(self.time) and not self._look_for_rest(budget):
            return Progress(State.UNDER_WAY)
        if self._rest.found:
            self._pass_over(target)
        stands = steps.advance(target, max(1, int(budget / steps.cost)))
        if stands is State.REACHED and not (self._cut.hides_modes and self._still_rough(target)):
            self._amplification.see(self.residual())
            message = self._cut.message(self._settings.max_modes, self._diffusion, self._settings.tolerance)
            return Progress(State.REACHED, message)
        if stands in (State.REACHED, State.RESOLUTION_LOST):
            return Progress(
                State.RESOLUTION_LOST,
                f"the density has become narrower than {self._finest} can show",
                "stop earlier, add noise (a smaller noise.kappa), or raise solver.max_modes" + self._farther(),
            )
        if stands is State.NOT_FINITE:
            return Progress(
                State.NOT_FINITE,
                "the step size has shrunk to nothing",
                "check the size of the coefficients against time.until",
            )
        return Progress(State.UNDER_WAY)

    def _still_rough(self, time: float) -> bool:
        """Whether degrees of the initial measure beyond the limit can matter at that time: only noise damps them."""
        diffusion = self._diffusion
        return time > 0 and (diffusion == 0 or time < smooth_from(self._most, diffusion, self._settings.tolerance))

    def state(self) -> dict[str, AnyArray]:
        return {
            **self._steps.arrays(),
            **self._arrays(),
            "shown": np.array([self._axis]),
            "cut": np.array(self._cut),
            **self._rest.arrays(),
            **self._amplification.arrays(),
        }

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        hides_modes, error = state["cut"]
        self._cut, self._axis = Cut(bool(hides_modes), float(error)), int(state["shown"][0])
        self._steps.restore(dict(state))
        self._rest.restore(state)
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._cut.accuracy(self._settings.tolerance, self._amplification)

    def statistics(self) -> dict[str, float]:
        steps = self._steps
        return {
            "modes": float(self._modes),
            "steps": float(steps.steps),
            "rejected": float(steps.rejected),
            "evaluations": float(steps.evaluations),
            "step": steps.step,
        }
