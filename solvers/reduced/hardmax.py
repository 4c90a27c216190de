"""The limit of infinite beta: only the closest pair of clusters moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.geometry import multiple_of_identity
from mfpde.registry import register
from mfpde.specification import Real

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.attention import Attention
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["Hardmax"]


@register("solver", "hardmax")
class Hardmax(Solver):
    """`x_i' = (m_j / m_i) P x_j`, `x_j' = (m_i / m_j) P x_i` for the closest pair of clusters, m their masses; nothing
    else moves: softmax attention on circle and spheres as beta goes to infinity (physics sections 7 and 12).

    Unnormalized attention has `x_i' = m_j P x_j`. Time is s of `dt = e^{beta (1 - <x_i, x_j>)} ds`, with the *present*
    inner product (for unnormalized attention `dt = e^{-beta <x_i, x_j>} ds`), and with `time: {clock: physical}` it is
    t at the beta of the problem; V = v I multiplies speeds by v. The angle
    obeys `phi' = -c sin phi`, c the sum of the two factors: it falls for ever, `tan(phi/2)` like `e^{-c s}`, so pairs
    nearer than `merge` are made one cluster, at the point to which they tend, and then the next pair moves. Everything
    is known in closed form: there are no steps. Of pairs that are equally close the first one moves; of opposite
    points none does.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "softmax", "beta": 1000},
    ...     "initial": {"kind": "points", "values": [0.0, 0.5, 3.0]},
    ...     "solver": {"kind": "hardmax"},
    ...     "time": {"until": 20, "save_at": [9]},
    ... }))
    >>> run.positions[1, :, 0].round(3), run.positions[2, :, 0].round(3)
    (array([0.795, 0.795, 0.819]), array([0.8, 0.8, 0.8]))
    """

    kind: Literal["hardmax"] = "hardmax"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2024", "rigollet2025")
    preference: ClassVar[int] = -11
    shows: ClassVar[str] = "particles"
    limit: ClassVar[bool] = True
    clocks: ClassVar[tuple[str, ...]] = ("pairing", "physical")
    normalizations: ClassVar[frozenset[str]] = frozenset({"post"})

    merge: Real = Field(default=1e-6, ge=1e-15, le=0.1, description="angle at which two clusters become one")

    def unfit(self, equation: Equation) -> str | None:
        initial, attention, scheme = equation.initial, equation.attention, equation.normalization
        if equation.geometry.flat:
            return "the limit is one of tokens on the circle and on spheres"
        if initial is not None and not initial.pointlike:
            return "it starts from tokens, initial: {kind: points}"
        if equation.noise.diffuses:
            return "with noise tokens leave the nearest one"
        if equation.drift is not None or (scheme is not None and (scheme.gain is not None or scheme.radius != 1)):
            return "it is made for attention alone, without a pointwise drift, a gain or a radius"
        return "it is made for attention" if attention is None else _unfit_attention(attention, equation)

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.reduced.pairing import PairingIntegration

        return PairingIntegration(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        integration = self.start(task)
        integration.advance(float(state["time"]), 0)
        return integration


def _unfit_attention(attention: Attention, equation: Equation) -> str | None:
    """Why it has not that limit."""
    dimension = equation.geometry.ambient_dimension
    if not attention.constant:
        return "the limit is one of coefficients that do not depend on time"
    try:
        terms = attention.terms(dimension)
    except ProblemError as error:
        return "; ".join(str(fault) for fault in error.faults)
    if len(terms) > 1 or terms[0].masked or terms[0].head.pair_kernel not in ("softmax", "unnormalized"):
        return "the limit is one of softmax or unnormalized attention, one head without mask"
    scales = multiple_of_identity(terms[0].head.query_matrix(dimension)), multiple_of_identity(terms[0].value)
    if any(scale is None or scale <= 0 for scale in scales):
        return "the limit is one of A and V that are positive multiples of the identity (or beta)"
    return None
