"""An interaction potential written as an expression in the angle between two tokens: values, slopes, coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from mfpde.attention.pair_quadrature import kinks_of, pair_nodes
from mfpde.attention.quadratic import quadratic_of
from mfpde.attention.singular import singular_place
from mfpde.errors import ProblemError
from mfpde.geometry import Harmonics
from mfpde.measure.expression import COORDINATES, Expression
from mfpde.measure.jet import JET_FUNCTIONS, Jet
from mfpde.measure.wide import WIDE_FUNCTIONS, WIDE_PI, Wide, rounded
from mfpde.typing import Float, Truths

__all__ = ["PAIR_VARIABLES", "Degrees", "PairPotential"]

#: what expressions of interactions are written in: of the angle between tokens, or of their distance in R^d
PAIR_VARIABLES = ("cosine", "angle", "r")
_MOST_DEGREES = {2: 1024}  # on the circle, as many as its solver uses unless told
_MOST_DEGREES_ON_SPHERES = 512  # elsewhere
_FIRST_DEGREES = 64  # of the first quadrature, four times as many in each that follows
_ROUNDING = 8 * float(np.finfo(float).eps)  # of the mean of |W|: smaller coefficients are rounding
#: last coefficients, relative to the mean of |W|, of a smooth W; larger ones belong to a kink or a singularity
_SMOOTH_NOISE_MAX = 1e-13
_AGREEMENT = 1e-12  # of coefficients by two quadratures, relative to the mean of |W|
_COINCIDENT = 1e-60  # angle in place of 0, at which quotients such as sin(angle)/angle have their limits
_MAX_SLOPE = 1e3  # at coincident tokens, relative to slopes elsewhere: steeper ones are infinite
_KINK_SLOPE = 1e-9  # at angle 0, relative to slopes elsewhere, of a W with a kink there
_SLOPE_MARGIN = 0.01  # of the largest of some thousand slopes, for those between them
_DISTANCES_CHECKED = 10.0  # up to which a potential in r is looked at before a run
_DISTANCES_OF_POLES = 40.1  # up to which poles are searched for
_CLOSEST_POLE = 1e-3  # distance; nearer to 0 tokens meet themselves, which `token_unfit` is for
_SHARE_BEFORE_OVERFLOW = 0.9  # of the distance at which W overflows, which is none
_EVEN_TO = 1e-12  # of W, relative: its values at an angle and at minus that angle
_PART_ROUNDING = 4 * float(np.finfo(float).eps)  # of W, in its even and odd parts


@dataclass(frozen=True, eq=False)
class Degrees:
    """`W_k`, k = 0, 1, .., of `W = sum_k W_k N_k P_k(cosine)`; `rest`: root mean square of what degrees beyond leave of
    W, relative to that of W minus its mean; 0 where nothing is left but rounding. `power`: they fall like k^-power.
    `sines`: on the circle `S_k` of a part `sum_k 2 S_k sin(k angle)`, as many; None of even W."""

    potential: Float
    rest: float
    power: float
    sines: Float | None = None


@dataclass(frozen=True)
class PairPotential:
    """W of an expression in `cosine` and `angle`, the angle between two tokens, from 0 to pi; on flat spaces in their
    distance `r`, which is then in place of angles.

    Angles are given by the distance `near` to the nearer one of 0 and pi, and whether that is pi (`opposite`), so that
    `1 - cosine` keeps its digits for tokens that are close. On the circle W may depend on the sign of the angle, from
    the token that exerts the force to the one that feels it; `part`: of which values are, for angles from 0 to pi.

    >>> hat = PairPotential("maximum(0, 1 - angle)")
    >>> hat.jets(np.array([0.25]), np.array([False]))[1]          # its slope
    array([-1.])
    """

    text: str
    part: Literal["whole", "even", "odd"] = "whole"

    @cached_property
    def expression(self) -> Expression:
        """Parsed; coordinates of one token are told from the angle between two."""
        try:
            parsed = Expression(self.text, PAIR_VARIABLES)
        except ProblemError as error:
            raise _of_one_token(self.text) or error from None
        if not parsed.names:
            raise ProblemError.at(
                "interaction.expression", f"{self.text!r} is constant: it uses none of cosine, angle and r"
            )
        return parsed

    # -- values
    # ----------------------------------------------------------------------------------------------------------------

    def values(self, near: Float, opposite: Truths) -> Float:
        """W at angles, or that part of it."""
        here = self._signed_values(near, opposite, 1.0)
        if self.part == "whole":
            return here
        there = self._signed_values(near, opposite, -1.0)
        part = 0.5 * (here - there if self.part == "odd" else here + there)
        part[np.abs(part) <= _PART_ROUNDING * (np.abs(here) + np.abs(there))] = 0.0
        return part

    def _signed_values(self, near: Float, opposite: Truths, sign: float) -> Float:
        found = self.expression.walked(self._variables(near, opposite, sign), WIDE_FUNCTIONS)
        return np.broadcast_to(np.asarray(rounded(found), dtype=float), near.shape).copy()

    def jets(self, near: Float, opposite: Truths, sign: float = 1.0) -> tuple[Float, Float, Float]:
        """W and its first two derivatives by the angle, which has that sign."""
        near = np.maximum(near, _COINCIDENT)
        wide = self._variables(near, opposite, sign)
        sine, cosine = sign * np.sin(near), np.where(opposite, -np.cos(near), np.cos(near))
        variables = {
            "cosine": Jet(wide["cosine"], -sine, -cosine),
            "angle": Jet(wide["angle"], 1.0, 0.0),
            "r": Jet(near, 1.0, 0.0),
        }
        found = Jet.of(self.expression.walked({**wide, **variables}, JET_FUNCTIONS))
        return found.spread(near.shape)

    def _variables(self, near: Float, opposite: Truths, sign: float) -> dict[str, Any]:
        half = np.sin(0.5 * near)
        cosine, angle = Wide.total(1.0, -2 * half * half), WIDE_PI - near
        return {
            "cosine": Wide(*(np.where(opposite, -part, part) for part in (cosine.high, cosine.low))),
            "angle": Wide(
                sign * np.where(opposite, angle.high, near), sign * np.where(opposite, angle.low, np.zeros_like(near))
            ),
            "r": near,
            "pi": WIDE_PI,
        }

    # -- what it is
    # ------------------------------------------------------------------------------------------------------------

    @cached_property
    def turns(self) -> bool:
        """Whether it depends on the sign of the angle, which has none on spheres but one on the circle."""
        if "angle" not in self.expression.names:
            return False
        angles = np.linspace(0.05, np.pi, 50)[:-1]
        here, there = (self._at(sign * angles) for sign in (1.0, -1.0))
        with np.errstate(invalid="ignore"):
            return bool((np.abs(here - there) > _EVEN_TO * (np.abs(here) + np.abs(there))).any())

    def _at(self, angles: Float) -> Float:
        """W at signed angles, plainly."""
        found = self.expression({"angle": angles, "cosine": np.cos(angles), "r": angles})
        return np.broadcast_to(np.asarray(found, dtype=float), angles.shape)

    @cached_property
    def token_unfit(self) -> str | None:
        """Why tokens cannot move each other by it: a force, or W, that is infinite where two of them meet."""
        value, slope, _ = self.jets(np.zeros(1), np.zeros(1, dtype=bool))
        if np.isfinite([value, slope]).all() and abs(slope[0]) <= _MAX_SLOPE * self._usual_slope:
            return None
        flat = "r" in self.expression.names
        where, more = ("distance", "") if flat else ("angle", "; spectral solves for its density")
        return (
            f"interaction.expression {self.text} is singular, or its slope is, at {where} 0, where each token meets "
            f"itself{more}"
        )

    def check_meeting(self) -> None:
        """Fail where tokens cannot move each other by it: on flat spaces, whatever the solver."""
        if self.token_unfit is not None:
            rounded = "round it off, as log(r**2 + 0.01) does log(r)"
            raise ProblemError.at(
                "interaction.expression",
                f"is singular, or its slope is, at r = 0, where each token meets itself; {rounded}",
            )

    @cached_property
    def kinked(self) -> bool:
        """Of an expression in r: whether forces have kinks, or jump where tokens meet."""
        return abs(self._meeting_slope) > _KINK_SLOPE * self._usual_slope or kinks_of(self, _DISTANCES_CHECKED).size > 0

    @cached_property
    def collision(self) -> str | None:
        """Why tokens without noise cannot move each other by it: where W falls off with a kink they meet in finite
        time, and forces jump there."""
        slope = self._meeting_slope
        if not slope < -_KINK_SLOPE * self._usual_slope:
            return None
        distance = "r" if "r" in self.expression.names else "angle"
        return (
            f"interaction.expression {self.text} has a kink at {distance} 0, slope {slope:.3g}: without noise tokens "
            "meet in finite time, and forces jump there; give noise, or round it off, as sqrt(x**2 + 0.01) does abs(x)"
        )

    @cached_property
    def stiffness(self) -> tuple[float, float] | None:
        """(w, c) of `W = c + w r^2 / 2`; None of any other."""
        found = quadratic_of(self.expression, ("r",))
        return None if found is None or found.slope.any() else (float(found.bend[0, 0]), found.constant)

    @cached_property
    def _meeting_slope(self) -> float:
        """Where tokens meet."""
        return float(self.jets(np.zeros(1), np.zeros(1, dtype=bool))[1][0])

    @cached_property
    def _usual_slope(self) -> float:
        """The largest at angles that are not tiny."""
        near = np.linspace(0.01, 0.5 * np.pi, 2000)
        slopes = np.concatenate(
            [self.jets(near, np.full(near.size, side), sign)[1] for side in (False, True) for sign in self.signs]
        )
        return max(float(np.abs(slopes[np.isfinite(slopes)]).max(initial=0.0)), 1e-300)

    @property
    def signs(self) -> tuple[float, ...]:
        """Of the angles that matter."""
        return (1.0,) if self.part == "whole" else (1.0, -1.0)

    @property
    def largest_slope(self) -> float:
        """A bound of |W'|; infinite where it is at angle 0 or pi."""
        ends = [self.jets(np.zeros(1), np.full(1, side), sign)[1] for side in (False, True) for sign in self.signs]
        largest = max(float(np.abs(end[0])) for end in ends)
        if not largest <= _MAX_SLOPE * self._usual_slope:
            return np.inf
        return (1 + _SLOPE_MARGIN) * max(largest, self._usual_slope)

    def check_turn(self) -> None:
        """Fail where W jumps from one end of the circle to the other, where tokens are opposite."""
        if not self.turns:
            return
        here, there = (float(self._at(np.array([sign * np.pi]))[0]) for sign in (1.0, -1.0))
        size = max(float(np.abs(self._at(sign * np.linspace(0.05, np.pi, 50))).max()) for sign in (1.0, -1.0))
        if not abs(here - there) <= _EVEN_TO * size:
            raise ProblemError.at(
                "interaction.expression",
                f"is {here:.6g} at angle pi and {there:.6g} at -pi, which is the same angle; write abs(angle), cosine, "
                "or what has the period 2 pi, as sin(angle) has",
            )

    def check_distances(self) -> None:
        """Fail where W is not a finite number at some distance, or the same at all of them."""
        r = np.linspace(0.0, _DISTANCES_CHECKED, 2001)[1:]
        values, slopes, _ = self.jets(r, np.zeros(r.size, dtype=bool))
        last = int(np.flatnonzero(np.isfinite(values)).max(initial=0))
        wrong = np.isnan(values) | (~np.isfinite(values) & (np.arange(r.size) < last))  # at last it may overflow
        worst = int(np.argmax(wrong))
        if wrong[worst]:
            raise ProblemError.at(
                "interaction.expression",
                f"is {values[worst]:g} at r = {r[worst]:.6g}; a potential of two tokens is a finite number at every "
                "distance: maximum(0, ..) cuts one off",
            )
        pole = self._pole
        if pole is not None:
            raise ProblemError.at(
                "interaction.expression",
                f"is singular, or its slope is, near r = {pole:.6g}; a potential of two tokens is a finite number at "
                "every distance: round it off, as sqrt((r - 1)**2 + 0.01) does abs(r - 1)",
            )
        if not slopes.any():
            raise ProblemError.at(
                "interaction.expression",
                f"{self.text} is {values[-1]:g} at every distance up to {_DISTANCES_CHECKED:g}: it moves nothing",
            )

    @cached_property
    def _pole(self) -> float | None:
        """A distance, not 0, near which its slope grows for ever."""
        r = np.linspace(0.0, _DISTANCES_OF_POLES, 1001)[1:]
        with np.errstate(all="ignore"):
            finite = np.logical_and.reduce(np.isfinite(self.jets(r, np.zeros(r.size, dtype=bool))))
        most = _DISTANCES_OF_POLES if finite[-1] else _SHARE_BEFORE_OVERFLOW * r[np.flatnonzero(finite).max(initial=0)]

        def slopes(points: Float) -> Float:
            distances = np.abs(points[:, 0])
            found = self.jets(distances, np.zeros(distances.size, dtype=bool))[1]
            return np.where(distances > _CLOSEST_POLE, found, 0.0)[:, None]

        place = singular_place(slopes, 1, most)
        return None if place is None else float(abs(place[0]))

    def degrees(self, harmonics: Harmonics) -> Degrees:
        """Its coefficients on the circle or a sphere, by quadrature to rounding."""
        return _degrees(self, harmonics)


def _of_one_token(text: str) -> ProblemError | None:
    """What is wrong with an expression in coordinates of one token; None of any other."""
    try:
        names = Expression(text, (*PAIR_VARIABLES, *COORDINATES)).names
    except ProblemError:
        return None
    own = ", ".join(name for name in names if name in COORDINATES)
    return ProblemError.at(
        "interaction.expression",
        f"uses {own}, a coordinate of one token; it is a potential of two: write it in cosine or angle (the angle "
        "between them), on flat spaces in r (their distance); external takes coordinates",
    )


@lru_cache(maxsize=32)
def _degrees(potential: PairPotential, harmonics: Harmonics) -> Degrees:
    if harmonics.dimension > 2 or not potential.turns:
        return _of_part(potential, harmonics)
    even, odd = (_of_part(PairPotential(potential.text, part), harmonics) for part in ("even", "odd"))
    length = max(even.potential.size, odd.potential.size)
    cosines, sines = (np.pad(each.potential, (0, length - each.potential.size)) for each in (even, odd))
    return Degrees(cosines, max(even.rest, odd.rest), min(even.power, odd.power), sines)


def _of_part(potential: PairPotential, harmonics: Harmonics) -> Degrees:
    """By cosines of multiples of the angle, or on the circle of an odd part by sines."""
    most = _MOST_DEGREES.get(harmonics.dimension, _MOST_DEGREES_ON_SPHERES)
    count = _FIRST_DEGREES
    while True:
        found, kept = _cleaned(potential, harmonics, count)
        if kept < 3 * count // 4 or count >= most:
            break
        count = min(4 * count, most)
    _check_quadrature(potential, harmonics, found)
    if kept < 3 * count // 4:
        return Degrees(found[: max(kept, 1) + 1], 0.0, np.inf)
    return Degrees(found, *_tail(found, harmonics))


def _cleaned(potential: PairPotential, harmonics: Harmonics, count: int) -> tuple[Float, int]:
    """Coefficients up to that degree, zeros where they are rounding, and the last of them that is none."""
    nodes = pair_nodes(potential, harmonics.dimension, count)
    found, size = nodes.moments(harmonics, count), nodes.size
    ending = float(np.abs(found[-count // 4 :]).max())
    noise = 4 * ending if ending < _SMOOTH_NOISE_MAX * size else 0.0
    found[np.abs(found) < max(noise, _ROUNDING * size)] = 0.0
    return found, int(np.flatnonzero(found).max(initial=0))


def _check_quadrature(potential: PairPotential, harmonics: Harmonics, found: Float) -> None:
    """By panels that are a third shorter."""
    nodes = pair_nodes(potential, harmonics.dimension, found.size - 1, shorter=1.5)
    off = float(np.abs(found - nodes.moments(harmonics, found.size - 1)).max())
    if off > _AGREEMENT * nodes.size:
        raise ProblemError.at(
            "interaction.expression",
            f"its coefficients are not found: two quadratures differ by {off / nodes.size:.1g} of the mean of |W|; "
            "write kinks by abs, minimum and maximum, and peaks no narrower than 0.01",
        )


def _tail(found: Float, harmonics: Harmonics) -> tuple[float, float]:
    """Of coefficients that fall like a power of the degree: the share of the mean square that is beyond, and the power;
    from the mean squares of the last half and of the quarter before."""
    degree = found.size - 1
    squares = found**2 * harmonics.multiplicities(degree)
    last, before = squares[degree // 2 :].sum(), squares[degree // 4 : degree // 2].sum()
    ratio = min(float(last / before), 0.999)  # of mean squares in octaves
    beyond = last * ratio / (1 - ratio)
    slope = -np.log2(ratio) + 1  # of the mean square of one degree
    power = 0.5 * (slope + harmonics.dimension - 2)
    return float(np.sqrt(beyond / (squares[1:].sum() + beyond))), float(power)
