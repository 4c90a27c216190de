"""Tokens with one cosine between any two: an equation for the cosine, and one for their norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.geometry import multiple_of_identity
from mfpde.normalization import Scheme
from mfpde.registry import register
from mfpde.specification import Real

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.attention.base import Term
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["Equiangular"]


@register("solver", "equiangular")
class Equiangular(Solver):
    """`rho' = 2 k (1 - rho) ((n-1) rho + 1) / s`: n tokens of equal weights whose cosines are all rho, under attention
    whose matrices are multiples of the identity (physics section 7).

    With `k_0`, `k` the shares of a token itself and of each other one in its attention, `a = k_0 + (n-1) rho k` is what
    attention is along the token; s and r' are those of the `normalization`, which may be any. The logarithm of
    `(1 + (n-1) rho) / (1 - rho)` is what is stepped, so that distances between tokens that have all but merged keep
    their digits. Snapshots are the tokens themselves: in the frame of the initial ones they never leave the plane
    of each with the mean. `tolerance` is a tenth of the relative error of their positions. In R^d tokens have the norms
    that they are given, on circle and spheres 1 at the start. Fails: other initial data, weights, masks,
    noise, a pointwise drift, a gain; norms that reach 0 in finite time.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "sphere", "dimension": 4},
    ...     "attention": {"kind": "softmax", "beta": 1},
    ...     "initial": {"kind": "points", "random": "equiangular", "count": 4, "cosine": 0.1},
    ...     "solver": {"kind": "equiangular"},
    ...     "time": {"until": 3, "save": False},
    ... }))
    >>> bool(0.9 < run.positions[-1, 0] @ run.positions[-1, 1] < 1)
    True
    """

    kind: Literal["equiangular"] = "equiangular"
    citations: ClassVar[tuple[str, ...]] = ("karagodin2025", "geshkovski2025", "hairer1993")
    preference: ClassVar[int] = -10
    shows: ClassVar[str] = "particles"
    normalizations: ClassVar[frozenset[str]] = frozenset(get_args(Scheme))

    tolerance: Real = Field(default=1e-11, ge=1e-13, le=1e-2, description="a tenth of the relative error of positions")

    def unfit(self, equation: Equation) -> str | None:
        initial = equation.initial
        if initial is not None and not initial.pointlike:
            return "it starts from tokens with equal angles, initial: {kind: points, random: equiangular}"
        return _misplaced(equation) or _unfit_law(equation)

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.reduced.equiangular_steps import EquiangularIntegration

        return EquiangularIntegration(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.reduced.equiangular_steps import EquiangularIntegration

        integration = EquiangularIntegration(self, task)
        integration.restore(state)
        return integration


def _misplaced(equation: Equation) -> str | None:
    """Why tokens do not keep equal angles there."""
    scheme = equation.normalization
    if equation.geometry.flat and scheme is None:
        return "tokens in R^d keep equal angles under a normalization only: post, pre, peri, mix, ngpt or sqrt"
    if scheme is not None and scheme.gain is not None:
        return "a gain of LayerNorm does not keep angles equal"
    return None


def _unfit_law(equation: Equation) -> str | None:
    attention, dimension = equation.attention, equation.geometry.ambient_dimension
    if equation.noise.diffuses:
        return "noise does not keep angles equal"
    if equation.drift is not None:
        return "a pointwise drift does not keep angles equal"
    if attention is None:
        return "it is made for attention"
    try:
        terms = [term for time in (0.0, *attention.breaks()) for term in attention.at(time).terms(dimension)]
        return next(filter(None, (_unfit_term(term, dimension) for term in terms)), None)
    except ProblemError as error:
        return "; ".join(str(fault) for fault in error.faults)


def _unfit_term(term: Term, dimension: int) -> str | None:
    if term.masked or term.head.pair_kernel is None:
        return "angles stay equal under kernels of the scores alone, without masks: softmax, unnormalized"
    form = term.head.key_form(dimension)
    matrices = (term.head.query_matrix(dimension), term.value, *(() if form is None else (form,)))
    if any(multiple_of_identity(matrix) is None for matrix in matrices):
        return "angles stay equal where the matrices of attention are multiples of the identity"
    return None
