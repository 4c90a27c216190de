"""How fast a law of tokens gains interaction energy."""

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

__all__ = ["EnergyGrowth"]

_MOST_DIMENSIONS = 3  # of the space around spheres on which a density has few enough nodes


@register("observable", "energy-growth")
class EnergyGrowth(Observable):
    """`dE/dt` of the observable `energy`: `int |v|^2 dmu` under unnormalized attention, `int Z |v|^2 dmu` under
    softmax, `Z(x) = int e^{a <x,y>} dmu(y)` (physics section 3); A = a I, V = v I.

    Never negative. Fails: noise, a normalization, a pointwise drift, matrices that are no multiples of the identity;
    softmax where Z overflows is infinite. Of tokens in any space, of densities on circle and sphere.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=0))
    >>> two = mfpde.Particles([0.0, 1.5707963267948966], geometry=mfpde.Circle())
    >>> round(EnergyGrowth().evaluate(Instant(0.0, two, equation, lambda: 0.0))["energy-growth"], 12)
    0.25
    """

    kind: Literal["energy-growth"] = "energy-growth"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2024")
    looks_at: ClassVar[tuple[str, ...]] = ("particles", "density")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "energy-growth": Series(
                "gain of interaction energy per unit time", "1/time", label="gain of energy", scale="magnitude"
            )
        }

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        space = equation.geometry
        few = space.harmonics is not None and space.ambient_dimension <= _MOST_DIMENSIONS
        return self.looks_at if few else ("particles",)

    def unfit(self, equation: Equation) -> str | None:
        misplaced = super().unfit(equation)
        if misplaced is not None:
            return misplaced
        noise = equation.noise.diffusion_at(0.0) > 0 or equation.noise.peculiar
        if noise or equation.normalization is not None or equation.drift is not None:
            return "the formula is one without noise, normalization and pointwise drift"
        dimension = equation.geometry.ambient_dimension
        terms = () if equation.attention is None else equation.attention.terms(dimension)
        if len(terms) == 1 and terms[0].head.plain and not terms[0].masked:
            matrices = terms[0].head.query_matrix(dimension), terms[0].value
            if None not in map(multiple_of_identity, matrices):
                return None
        return "the formula is one of softmax or unnormalized attention, A and V multiples of the identity"

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        equation, measure, reason = instant.equation, instant.measure, self.unfit(instant.equation)
        if equation.attention is None or reason is not None:
            raise ProblemError.at("observe", f"energy-growth: {reason}")
        head = equation.attention.terms(measure.ambient_dimension)[0].head
        points, weights = measure.nodes()
        velocity = equation.attention.any_drift(measure, points)
        squares = np.einsum("nc,nc->n", velocity, velocity)
        if head.normalised:
            logs = measure.tilt(measure.space.queries(points), head.query_matrix(measure.ambient_dimension))[0]
            with np.errstate(over="ignore"):
                squares = squares * np.exp(logs)
        return {"energy-growth": float(weights @ squares)}
