"""Interaction energy relative to that of one cluster: a number for every beta."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, multiple_of_identity
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["EnergyShare"]

_LEAST_EXPONENT = 1.0  # of e^beta, from which on it is taken out of numerator and denominator


@register("observable", "energy-share")
class EnergyShare(Observable):
    """`E / E_1`, E_1 = `(e^beta - 1) / (2 beta)` the energy of all tokens in one place: `iint (e^{beta <x,y>} - 1) dmu
    dmu / (e^beta - 1)`, for softmax and unnormalized attention with A = beta I, V a multiple of I, on circle and
    spheres.

    Where the observable `energy` overflows, beyond beta = 700, it is the staircase still: clusters of masses m_i that
    are far apart have `sum_i m_i^2`. Without noise it never decreases. At beta = 0 it is `|int x dmu|^2`. Fails: flat
    spaces, other matrices, a mask.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=2000))
    >>> two = mfpde.Particles([0.0, 1.0], [0.25, 0.75], geometry=mfpde.Circle())
    >>> round(EnergyShare().evaluate(Instant(0.0, two, equation, lambda: 0.0))["energy-share"], 9)
    0.625
    """

    kind: Literal["energy-share"] = "energy-share"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2024")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"energy-share": Series("interaction energy relative to that of one cluster", label="energy / largest")}

    def unfit(self, equation: Equation) -> str | None:
        dimension = equation.geometry.ambient_dimension
        terms = () if equation.attention is None else equation.attention.terms(dimension)
        if not equation.geometry.flat and len(terms) == 1 and terms[0].head.plain and not terms[0].masked:
            matrices = terms[0].head.query_matrix(dimension), terms[0].value
            if None not in map(multiple_of_identity, matrices):
                return None
        return "it is one of softmax or unnormalized attention on circle and spheres, A and V multiples of the identity"

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        equation, measure, reason = instant.equation, instant.measure, self.unfit(instant.equation)
        if equation.attention is None or reason is not None:
            raise ProblemError.at("observe", f"energy-share: {reason}")
        matrix = equation.attention.terms(measure.ambient_dimension)[0].head.query_matrix(measure.ambient_dimension)
        beta, weights = float(matrix[0, 0]), measure.nodes()[1]
        if beta == 0:
            return {"energy-share": float(measure.mean @ measure.mean)}
        logs = np.concatenate([measure.tilt(queries, matrix)[0].ravel() for queries in measure.node_queries()])
        if beta < _LEAST_EXPONENT:
            shares = np.expm1(logs) / np.expm1(beta)
        else:
            shares = (np.exp(logs - beta) - np.exp(-beta)) / -np.expm1(-beta)
        return {"energy-share": float(weights @ shares)}
