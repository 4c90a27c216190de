"""How far out attention looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.attention.head import Head
from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["AttentionTilt"]

#: queries are tokens so many standard deviations from the mean
_QUERIES = 3.0


@register("observable", "attention-tilt")
class AttentionTilt(Observable):
    """`q = |S A|`, S the covariance: a token x attends to the tokens near `m + S A x`, q times as far out as itself.

    Of several heads the largest; for l2 attention `A = 2 K^T Q`, and S is that of `e^{-|Ky|^2} mu`. Above 1 attention
    looks at the tails of mu: particles then see their extreme sample, and a box loses what it cuts off. On a box,
    `attention-tilt-edge` is the share of the tilted measure `e^{<Ax, y>} mu` in its two outermost cells, the largest of
    the tokens x three standard deviations out; NaN without a box. Good values: q below 1, an edge below the tolerance.
    Fails: kernels that are not exponential.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Softmax(A=0.5))
    >>> gaussian = mfpde.Gaussian(mean=0, covariance=3)
    >>> AttentionTilt().evaluate(Instant(0.0, gaussian, equation, lambda: 0.0))
    {'attention-tilt': 1.5, 'attention-tilt-edge': nan}
    """

    kind: Literal["attention-tilt"] = "attention-tilt"
    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    spaces: ClassVar[tuple[str, ...]] = ("line", "plane", "space")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "attention-tilt": Series("|S A|, how far out attention looks", label="tilt of attention, |S A|"),
            "attention-tilt-edge": Series(
                "largest share of a tilted measure in the outermost cells",
                label="tilted mass at the edge",
                scale="magnitude",
            ),
        }

    def unfit(self, equation: Equation) -> str | None:
        misplaced = super().unfit(equation)
        if misplaced is not None or _heads(equation):
            return misplaced
        return "it tells of exponential attention (softmax, l2, sinkhorn, unnormalized)"

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        measure, heads = instant.measure, _heads(instant.equation)
        if not heads:
            raise ProblemError.at("observe", f"attention-tilt: {self.unfit(instant.equation)}")
        covariance, dimension = measure.covariance, measure.ambient_dimension
        tilt = max(float(np.linalg.norm(_seen(head, covariance) @ head.query_matrix(dimension), 2)) for head in heads)
        spread, axes = np.linalg.eigh(covariance)
        away = _QUERIES * axes * np.sqrt(np.maximum(spread, 0.0))
        queries = np.concatenate([measure.mean + away.T, measure.mean - away.T])
        edge = max(measure.share_at_edge(queries @ head.query_matrix(dimension).T) for head in heads)
        return {"attention-tilt": tilt, "attention-tilt-edge": edge}


def _heads(equation: Equation) -> list[Head]:
    terms = () if equation.law is None else equation.law.terms(equation.geometry.ambient_dimension)
    return [term.head for term in terms if term.head.tilts]


def _seen(head: Head, covariance: Float) -> Float:
    """Covariance of what the head weighs the tokens by."""
    form = head.key_form(covariance.shape[0])
    if form is None:
        return covariance
    return np.asarray(np.linalg.solve(np.eye(covariance.shape[0]) + 2 * covariance @ form, covariance))
