"""Order parameters: the Fourier modes of the law of angles, on spheres the sizes of degrees."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["ROUNDOFF", "OrderParameter", "phase"]

#: a mode of modulus below this has no phase
ROUNDOFF = 4 * float(np.finfo(float).eps)


@register("observable", "order-parameter")
class OrderParameter(Observable):
    """`r e^{i psi} = int e^{i k theta} dmu` for the `harmonic` k: series `order-parameter` (r) and
    `order-parameter-phase` (psi).

    Harmonic 1 is Kuramoto's, 1 for a single cluster and 0 for the uniform state; harmonic 2 is the nematic one, 1 for
    two opposite clusters, too. Higher harmonics carry their number, `order-parameter-2`. The phase lies in (-pi, pi];
    it is NaN where r is at roundoff. On spheres there is no phase, and r is `(|mu_k|^2 / N_k)^{1/2}`, N_k the number of
    harmonics of degree k: the length of the mean for k = 1, and for a law about an axis `|int P_k dmu|`.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> tilted = mfpde.VonMises(direction=0.5, concentration=2)
    >>> values = OrderParameter().evaluate(Instant(0.0, tilted, equation, lambda: 0.0))
    >>> {name: round(value, 6) for name, value in values.items()}          # I_1(2) / I_0(2)
    {'order-parameter': 0.697775, 'order-parameter-phase': 0.5}
    """

    kind: Literal["order-parameter"] = "order-parameter"
    citations: ClassVar[tuple[str, ...]] = ("bertini2010",)
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere")
    harmonic: int = Field(default=1, ge=1, le=10_000, description="k in `int e^{i k theta} dmu`")

    @property
    def name(self) -> str:
        """Name of the modulus' series."""
        return "order-parameter" if self.harmonic == 1 else f"order-parameter-{self.harmonic}"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        which = "order parameter" if self.harmonic == 1 else f"order parameter of harmonic {self.harmonic}"
        modulus = {self.name: Series(which, label="order parameter", scale="share")}
        if not geometry.angular:
            return modulus
        said = f"phase of the {which}"
        turning = Series(said, units="radian", label=said, scale="angle", direction_of=self.name)
        return {**modulus, f"{self.name}-phase": turning}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        if not instant.measure.space.angular:
            return {self.name: self._size(instant.measure)}
        mode = complex(instant.measure.harmonics(self.harmonic).coefficients[self.harmonic])
        return {self.name: abs(mode), f"{self.name}-phase": phase(mode)}

    def _size(self, measure: Measure) -> float:
        """Of a degree on a sphere."""
        if self.harmonic == 1:
            return float(np.linalg.norm(measure.mean))
        assert measure.space.harmonics is not None  # noqa: S101 - for the type checker
        power, number = (
            each[self.harmonic]
            for each in (
                measure.harmonics(self.harmonic).powers(),
                measure.space.harmonics.multiplicities(self.harmonic),
            )
        )
        return float(np.sqrt(power / number))


def phase(mode: complex) -> float:
    """psi in (-pi, pi] of the mode `c_k = r e^{-i psi}`, NaN when r is at roundoff."""
    return float(np.arctan2(-mode.imag + 0.0, mode.real)) if abs(mode) > ROUNDOFF else float("nan")
