"""Gaussians by their moment equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.measure.initial.gaussian import Gaussian
from mfpde.registry import register
from mfpde.specification import Real

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["GaussianMoments"]

#: initial measures that are Gaussian, or may turn out to be when they are read
_PERHAPS_GAUSSIAN = {"gaussian", "snapshot"}


@register("solver", "gaussian")
class GaussianMoments(Solver):
    """`m' = c`, `S' = B S + S B^T + (2/kappa) I` where the drift of `N(m, S)` is `G(x) = c + B (x - m)`.

    That is so for softmax, l2, sinkhorn and linear attention, for their multi-head sums, and for relu with m = 0; with
    or without noise, in any dimension. Noise with a `matrix` D adds 2 D in place of `(2/kappa) I`.

    `tolerance` is a promise: at every output time the relative error of m, of S, of its determinant and of each of its
    eigenvalues stays below ten times it, at any condition of S in up to 16 dimensions. Good values: 1e-12 (the default)
    and above. A covariance or a mean that becomes infinite ends the run with the outcome "blow-up" and its time;
    otherwise the outcome says where the covariance tends: "to zero", "to a line", "to two lines" (either of them, as it
    starts: those with `<A u, u> = 0` in a plane on which `A + A^T` is indefinite), "to a plane", "at rest", "diverges",
    "turns". Fails: other kernels, other initial measures, mixtures (each component feels the other ones, and does not
    stay Gaussian), relu with a mean other than 0; variances beyond 1e120, or means beyond 1e100 (variances below 1e-280
    become 0); stiff problems in more than about fifteen dimensions are slow.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "line"},
    ...     "attention": {"kind": "softmax", "A": 1},
    ...     "initial": {"kind": "gaussian", "mean": 0, "covariance": 0.5},
    ...     "solver": {"kind": "gaussian"},
    ...     "time": {"until": 2, "save_every": 0.5},
    ... }))
    >>> run.outcome.kind, round(run.outcome.time, 10), run.measure(1).covariance          # S = 1 / (2 - 2 t)
    ('blow-up', 1.0, array([[1.]]))
    """

    kind: Literal["gaussian"] = "gaussian"
    citations: ClassVar[tuple[str, ...]] = ("castin2025", "hairer1993", "hairer1996")
    preference: ClassVar[int] = 1
    shows: ClassVar[str] = "gaussian"
    noises: ClassVar[frozenset[str]] = frozenset({"matrix"})

    tolerance: Real = Field(
        default=1e-12, ge=1e-13, le=1e-2, description="a tenth of the relative error of mean and covariance"
    )

    def unfit(self, equation: Equation) -> str | None:
        if not equation.geometry.flat:
            return "Gaussians live on the line, the plane and space"
        reason = equation.velocity.at(0.0).gaussian_unfit(equation.geometry.ambient_dimension)
        if reason is not None:
            return f"a Gaussian does not stay one: {reason}"
        if equation.initial is None:
            return None
        kind = getattr(equation.initial, "kind", "")
        if kind not in _PERHAPS_GAUSSIAN:
            return f"it needs the initial measure to be a gaussian, not {kind}"
        return _unfit_mean(equation, equation.initial) if isinstance(equation.initial, Gaussian) else None

    def check_scales(self, task: InitialValueProblem) -> None:
        from mfpde.solvers.gaussian.integration import check_scales

        check_scales(task)

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.gaussian.integration import GaussianIntegration

        return GaussianIntegration(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.gaussian.integration import GaussianIntegration

        integration = GaussianIntegration(self, task)
        integration.restore(state)
        return integration


def _unfit_mean(equation: Equation, initial: Gaussian) -> str | None:
    """Why a Gaussian with that mean does not stay one; asked of a point there."""
    try:
        mean = initial.on(equation.geometry).mean
    except ProblemError:  # told elsewhere
        return None
    try:
        with np.errstate(all="ignore"):
            equation.velocity.at(0.0).gaussian_drift(mean, np.zeros((mean.size, mean.size)))
    except ProblemError as error:
        return f"a Gaussian does not stay one: {'; '.join(str(fault) for fault in error.faults)}"
    return None
