"""Local maxima of what attention sees of the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, multiple_of_identity
from mfpde.measure import Measure, Particles
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["ScoreModes"]

_NO_BETA = "it tells of one head of softmax or unnormalized attention whose A is a positive number"
#: points of the grid on which the score changes sign, for each width beta^{-1/2} of the kernel
_POINTS = 32
#: of that grid
_MOST_POINTS = 2**22


@register("observable", "score-modes")
class ScoreModes(OfTokens):
    """Number of modes of the kernel density behind attention with A = beta I: of `sum_j w_j e^{beta cos(theta -
    theta_j)}` on the circle, of `sum_j w_j e^{-beta (x - x_j)^2 / 2}` on the line.

    Where the score, its logarithmic derivative, changes sign downwards: on a grid with 32 points for each width
    `beta^{-1/2}`. Uniform tokens on the circle have about `sqrt(3 beta / 2)` once there are many, normal ones on the
    line of order `sqrt(beta log beta)` [rigollet2025]. Fails: other spaces; A that is no positive number.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Softmax(beta=20))
    >>> three = mfpde.Particles([0.0, 2.0, 2.1], geometry=mfpde.Circle())
    >>> ScoreModes().evaluate(Instant(0.0, three, equation, lambda: 0.0))
    {'score-modes': 2.0}
    """

    kind: Literal["score-modes"] = "score-modes"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2025")
    spaces: ClassVar[tuple[str, ...]] = ("circle", "line")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"score-modes": Series("modes of the score", label="modes of the score", scale="count")}

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or (_NO_BETA if _beta(equation) is None else None)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        beta = _beta(instant.equation)
        if beta is None:
            raise ProblemError.at("observe", f"score-modes: {_NO_BETA}")
        round_ = instant.measure.space.angular
        score = (_on_circle if round_ else _on_line)(instant.measure, beta)
        rising = np.append(score > 0, score[:1] > 0) if round_ else np.pad(score > 0, 1, constant_values=(True, False))
        return {"score-modes": float((rising[:-1] & ~rising[1:]).sum())}


def _beta(equation: Equation) -> float | None:
    dimension = equation.geometry.ambient_dimension
    terms = () if equation.attention is None else equation.attention.terms(dimension)
    if len(terms) != 1 or not terms[0].head.plain or terms[0].masked:
        return None
    beta = multiple_of_identity(terms[0].head.query_matrix(dimension))
    return beta if beta is not None and beta > 0 else None


def _count(width: float) -> int:
    wanted = int(np.ceil(_POINTS * width)) + 2
    if wanted > _MOST_POINTS:
        raise ProblemError.at("observe", f"score-modes: a grid of {wanted:,} points is beyond {_MOST_POINTS:,}")
    return wanted


def _on_circle(measure: Measure, beta: float) -> Float:
    """`d/dtheta log Z` on a grid of angles, up to the factor beta."""
    count = max(64, _count(2 * np.pi * np.sqrt(beta)))
    # half a step off 0, where the extrema of given tokens often are
    angles = (np.arange(count) + 0.5) * (2 * np.pi / count)
    means = measure.tilt(measure.space.queries(angles), beta * np.eye(2))[1].reshape(2, -1)
    return np.asarray(np.cos(angles) * means[1] - np.sin(angles) * means[0])


def _on_line(measure: Measure, beta: float) -> Float:
    """`d/dx log f` between the first and the last token, up to the factor beta."""
    places = measure.nodes()[0][:, 0]
    low, high = float(places.min()), float(places.max())
    count = _count((high - low) * np.sqrt(beta))
    # about the middle of the tokens: factors e^{-beta y^2 / 2} keep their digits
    middle = 0.5 * (low + high)
    x = low - middle + (high - low) * (np.arange(count) + 0.5) / count
    moved = Particles(places - middle, measure.nodes()[1], measure.space)
    means = moved.tilt(moved.space.queries(x), beta * np.eye(1), -0.5 * beta * (places - middle) ** 2)[1]
    return np.asarray(means.ravel() - x)
