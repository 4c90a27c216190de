"""Parallel hyperplanes on which tokens gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Planes"]

#: of the largest modulus of an eigenvalue of V: nearer ones are no simple eigenvalue
_SIMPLE = 1e-6


@register("observable", "planes")
class Planes(OfTokens):
    """Hyperplanes `<f, x> = c` on which the tokens lie, f the left eigenvector of V to its eigenvalue of largest real
    part: values of `<f, x>` with gaps between them of more than `tolerance` times their range count (`planes`), and
    `planes-width` is the root mean square distance from them, in units of the range.

    When that eigenvalue is simple and positive, rescaled tokens `e^{-tV} x` tend to at most three parallel hyperplanes
    [geshkovski2023, Theorem 3.1]. V is the sum of the heads' value matrices. Fails: circle and spheres; eigenvalues
    that are not real, or not simple.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> law = mfpde.Softmax(A=1, V=[[2, 0], [0, 1]])
    >>> tokens = mfpde.Particles([[1.0, 3.0], [1.0, -2.0], [-1.0, 0.0], [-1.0, 5.0]])
    >>> Planes().evaluate(Instant(0.0, tokens, mfpde.Equation(geometry=mfpde.Plane(), attention=law), lambda: 0.0))
    {'planes': 2.0, 'planes-width': 0.0}
    """

    kind: Literal["planes"] = "planes"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2023",)
    spaces: ClassVar[tuple[str, ...]] = ("plane", "space")
    tolerance: Real = Field(default=0.05, gt=0, lt=1, description="least gap between two, of the range")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "planes": Series("parallel hyperplanes of tokens", label="hyperplanes", scale="count"),
            "planes-width": Series(
                "distance of tokens from them", label="distance from hyperplanes", scale="magnitude"
            ),
        }

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or _unfit_value(equation)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        reason = self.unfit(instant.equation)
        if reason is not None:
            raise ProblemError.at("observe", f"planes: {reason}")
        vectors, weights = instant.measure.embedded_nodes()
        values, columns = np.linalg.eig(_value(instant.equation).T)
        heights = vectors @ columns[:, int(np.argmax(values.real))].real
        span = float(np.ptp(heights))
        if span == 0:
            return {"planes": 1.0, "planes-width": 0.0}
        order = np.argsort(heights, kind="stable")
        labels = np.concatenate([[0], np.cumsum(np.diff(heights[order]) > self.tolerance * span)])
        masses = np.bincount(labels, weights[order])
        means = np.bincount(labels, weights[order] * heights[order]) / masses
        squares = weights[order] @ (heights[order] - means[labels]) ** 2
        return {"planes": float(labels[-1] + 1), "planes-width": float(np.sqrt(squares)) / span}


def _value(equation: Equation) -> Float:
    dimension = equation.geometry.ambient_dimension
    terms = () if equation.attention is None else equation.attention.terms(dimension)
    return np.asarray(sum((term.value for term in terms), np.zeros((dimension, dimension))))


def _unfit_value(equation: Equation) -> str | None:
    if equation.attention is None:
        return "it tells of attention, whose V has the directions"
    values = np.linalg.eigvals(_value(equation))
    first = int(np.argmax(values.real))
    others = np.delete(values, first)
    simple = np.abs(others - values[first]).min() > _SIMPLE * np.abs(values).max()
    return None if simple and values[first].imag == 0 else "V needs a real, simple eigenvalue of largest real part"
