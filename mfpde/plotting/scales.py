"""How densities, times and angles lie on axes and colour bars, so that narrow and fast things stay legible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from mfpde.plotting.style import ALARM, DASHES, THIN_LINE, label
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Normalize

__all__ = ["UNIFORM", "DensityScale", "TimeScale", "angle_axis"]

#: density of the uniform measure on the circle
UNIFORM = 1 / (2 * np.pi)


@dataclass(frozen=True)
class DensityScale:
    """Densities from `low` to `high`, drawn in proportion to `((rho - low) / (high - low)) ** exponent`.

    The exponent is 1 (a plain linear scale) until clusters are so narrow that the `usual` density, that of the uniform
    measure, would fall below a sixth of the scale; then it is chosen so that it stays at a quarter. Such a scale begins
    at zero.
    """

    low: float
    high: float
    exponent: float = 1.0
    below: bool = False
    usual: float = UNIFORM
    units: str = "1/rad"

    @classmethod
    def of(cls, density: Float, usual: float = UNIFORM, units: str = "1/rad") -> DensityScale:
        """The scale for these densities; what is not finite is left out."""
        finite = density[np.isfinite(density)]
        if finite.size == 0:
            return cls(0.0, 2 * usual, usual=usual, units=units)
        least, most = float(finite.min()), float(finite.max())
        if most - least <= 1e-6 * abs(most):
            return cls(0.0, 2 * most if most > 0 else 1.0, usual=usual, units=units)
        if 0 < most - least < 0.5 * most:
            return cls(least, most, usual=usual, units=units)
        exponent = 1.0
        if most > 6 * usual:
            exponent = max(0.05 * round(20 * np.log(0.25) / np.log(usual / most)), 0.15)
        return cls(0.0, max(most, 1e-300), float(exponent), least < -1e-3 * most, usual, units)

    @property
    def linear(self) -> bool:
        return self.exponent == 1.0

    @property
    def extend(self) -> Literal["neither", "min"]:
        """What the colour bar has to admit: densities below its lower end."""
        return "min" if self.below else "neither"

    def linear_unless_narrow(self) -> DensityScale:
        """For a curve, whose height is easier to read than a colour: linear up to thirty times the uniform density."""
        return replace(self, exponent=1.0, below=False) if self.high < 30 * self.usual else self

    def norm(self) -> Normalize:
        """The same for colours."""
        from matplotlib.colors import Normalize, PowerNorm

        return Normalize(self.low, self.high) if self.linear else PowerNorm(self.exponent, self.low, self.high)

    def short_name(self) -> str:
        """What an axis says."""
        return self._plain_name() + ("" if self.linear else ", power scale")

    def name(self) -> str:
        """What a colour bar says."""
        plain = self._plain_name()
        return plain if self.linear else f"{plain} (power scale, exponent {self.exponent:.2g})"

    def _plain_name(self) -> str:
        return f"density [{self.units}]" if self.units else "density"

    def ticks(self) -> list[float]:
        """0 and round numbers up to `high`, at least a ninth of the scale apart; powers of ten come first."""
        top = int(np.floor(np.log10(self.high)))
        kept = {0.0: 0.0}
        for step in (1, 5, 2):
            for decade in range(top, top - 9, -1):
                value = step * 10.0**decade
                place = (value / self.high) ** self.exponent
                if place <= 1 and all(abs(place - other) >= 1 / 9 for other in kept.values()):
                    kept[value] = place
        return sorted(kept)

    def lay_out(self, axes: Axes) -> None:
        """Make it the vertical axis."""
        margin = 1.05
        if self.linear:
            span = self.high - self.low
            axes.set_ylim(self.low - (0.05 * span if self.low else 0.0), self.high + 0.05 * span)
        else:
            power, high = self.exponent, self.high

            def forward(density: AnyArray) -> AnyArray:
                return np.sign(density) * (np.abs(density) / high) ** power

            def inverse(place: AnyArray) -> AnyArray:
                return np.sign(place) * np.abs(place) ** (1 / power) * high

            axes.set_yscale("function", functions=(forward, inverse))
            axes.set_yticks(self.ticks(), [f"{tick:g}" for tick in self.ticks()])
            axes.set_ylim(0.0, high * margin ** (1 / power))
        axes.set_ylabel(self.short_name())


@dataclass(frozen=True)
class TimeScale:
    """Times on an axis: linear, or linear up to `threshold` and logarithmic from there on. `blow_up` is marked."""

    first: float
    last: float
    threshold: float | None = None
    blow_up: float | None = None

    @classmethod
    def of(cls, times: Float, blow_up: float | None = None) -> TimeScale:
        """Logarithmic when it spans over two decades and most times would be crowded into the first tenth otherwise."""
        first, last = float(times[0]), float(times[-1])
        positive = times[times > 0]
        crowded = times.size >= 6 and first >= 0 and np.quantile(times, 0.6) < 0.1 * last and last > 100 * positive[0]
        threshold = float(positive[0]) if crowded else None
        return cls(first, last if blow_up is None else max(last, blow_up), threshold, blow_up)

    def forward(self, times: AnyArray) -> Float:
        """Where times are on the axis, up to scale."""
        if self.threshold is None:
            return np.asarray(times, dtype=float)
        ratio = np.asarray(times) / self.threshold
        return np.where(ratio < 1, 0.5 * ratio, 0.5 + np.log10(np.maximum(ratio, 1)))

    def inverse(self, places: AnyArray) -> Float:
        """Times at these places."""
        if self.threshold is None:
            return np.asarray(places, dtype=float)
        return self.threshold * np.where(places < 0.5, 2 * places, 10.0 ** np.maximum(places - 0.5, 0))

    def edges(self, times: Float) -> Float:
        """Borders between times, halfway on the axis; the first and the last time are borders themselves."""
        if times.size == 1:
            return np.array([times[0], times[0] + max(abs(times[0]), 1.0)])
        places = self.forward(times)
        return np.concatenate([times[:1], self.inverse(0.5 * (places[1:] + places[:-1])), times[-1:]])

    def nearest(self, times: Float, count: int) -> list[int]:
        """Indices of the times nearest to `count` places spread evenly over the axis."""
        places = self.forward(times)
        wanted = np.linspace(places[0], places[-1], count)
        after = np.clip(np.searchsorted(places, wanted), 1, max(times.size - 1, 1))
        nearer = wanted - places[after - 1] <= places[np.minimum(after, times.size - 1)] - wanted
        return [int(index) for index in np.minimum(np.where(nearer, after - 1, after), times.size - 1)]

    def lay_out(self, axes: Axes) -> None:
        """Make it the horizontal axis."""
        if self.threshold is not None:
            axes.set_xscale("symlog", linthresh=self.threshold, linscale=0.5)
        if self.last > self.first:
            axes.set_xlim(self.first, self.last)
        else:
            axes.set_xlim(self.first, self.first + max(abs(self.first), 1.0))
            axes.set_xticks([self.first])
        axes.set_xlabel(label("time"))
        if self.blow_up is not None:
            axes.axvline(self.blow_up, color=ALARM, lw=THIN_LINE, ls=DASHES, clip_on=False)


def angle_axis(axis: Axis) -> None:
    """0 to 2 pi in quarter turns."""
    quarters = [0, np.pi / 2, np.pi, 3 * np.pi / 2, 2 * np.pi]
    axis.set_ticks(quarters, labels=["0", "π/2", "π", "3π/2", "2π"])
