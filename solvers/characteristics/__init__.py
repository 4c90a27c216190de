"""Characteristics: quadrature nodes of the initial measure, moved by the velocity."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.registry import register
from mfpde.specification import Real, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.characteristics.measure import CarriedMeasure
    from mfpde.solvers.forms import Written
    from mfpde.typing import AnyArray

__all__ = ["Characteristics"]


@register("solver", "characteristics")
class Characteristics(Solver):
    """`x' = G_mu(x)` for Gauss nodes of the initial measure, and `d/dt log rho = -div G` along the way back to it.

    Without noise, for every kernel, on the line, the plane, the circle and spheres. `tolerance` is a promise: at every
    output time the relative error of moments, and of the density where it is not far out in the tails, stays below ten
    times it. Good values: 1e-11 (the default) to 1e-6 (quick). There are as many nodes as that takes, found by
    comparing with more; should more than `max_nodes` be needed, the run ends "resolution lost". The density at m points
    costs as much as m tokens moved along the whole way. Where tilts look far into the tails, |S A| well above 1, data
    that stay Gaussian lend their nodes the exact ones, and mixtures of Gaussians on the line those of their widest
    components. Fails: noise; kernels with a kink (relu) on the plane and the circle at small tolerances; other data
    with tails so wide.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "line"},
    ...     "attention": {"kind": "softmax", "A": 1, "V": -1},
    ...     "initial": {"kind": "uniform", "box": [[-1, 1]]},
    ...     "solver": {"kind": "characteristics"},
    ...     "time": {"until": 1, "save_every": 0.5},
    ... }))
    >>> run.measure(-1).covariance.round(6), run.measure(-1).evaluate([0.0]).round(6)
    (array([[0.201874]]), array([0.646495]))
    """

    kind: Literal["characteristics"] = "characteristics"
    citations: ClassVar[tuple[str, ...]] = ("castin2025", "hairer1993")
    counts: ClassVar[tuple[str, ...]] = ("steps", "nodes")
    preference: ClassVar[int] = -1
    shows: ClassVar[str] = "characteristics"
    follows_clusters: ClassVar[bool] = True

    tolerance: Real = Field(default=1e-11, ge=1e-13, le=1e-2, description="a tenth of the error that is promised")
    cells: Whole | None = Field(
        default=None,
        ge=8,
        le=4096,
        description="along each axis of a grid that follows the mass and shows the density (line and plane); without "
        "it run.density is unknown, and pictures show nodes",
    )
    max_nodes: Whole = Field(default=20_000, ge=16, le=2_000_000, description="most nodes a run may use")

    def unfit(self, equation: Equation) -> str | None:
        if equation.noise.diffuses:
            return "with noise tokens do not follow the velocity; finite-volume and spectral know noise"
        if self.cells is not None and not equation.geometry.counts_as("line", "plane"):
            raise ProblemError.at("solver.cells", "show densities on the line and the plane only")
        return None if equation.law is None else equation.law.token_unfit(equation.geometry, noisy=False)

    def check_scales(self, task: InitialValueProblem) -> None:
        from mfpde.solvers.scales import check_scales

        check_scales(task)

    @property
    def shown_cells(self) -> int | None:
        return self.cells

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.characteristics.integration import CharacteristicsIntegration

        return CharacteristicsIntegration.begun(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.characteristics.integration import CharacteristicsIntegration

        return CharacteristicsIntegration.resumed(self, task, state)

    @staticmethod
    def carried(written: Written) -> CarriedMeasure:
        """The measure of a snapshot, which its density is traced back from."""
        from mfpde.solvers.characteristics.written import carried

        return carried(written)
