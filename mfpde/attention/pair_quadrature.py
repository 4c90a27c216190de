"""Quadrature over the angle between two tokens that integrates kinks and integrable singularities to rounding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Harmonics
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.adaptive_quadrature import of_any_item
from mfpde.measure.edge_search import crossings
from mfpde.typing import Complex, Float, Truths

if TYPE_CHECKING:
    from mfpde.attention.pair_potential import PairPotential

__all__ = ["PairNodes", "kinks_of", "pair_nodes"]

_POINTS = 20  # Gauss points of a panel
_PANEL_PER_DEGREE = 16.0  # length of a panel times the degree: of waves that the points resolve to rounding
_HALVINGS = {"inside": 42, "end": 60, "singular": 250}  # of panels towards a kink, to the digits that places have
_SEARCHED = 4096  # angles between which kinks are searched for
_SHARE_MAX = {"inside": 1e-9, "end": 1e-12, "singular": 1e-12}  # of int |W|, of the last panel at a singularity
_PRODUCTS_BEFORE_POWER = 64  # products that make powers of e^{i angle}, before one is computed anew: rounding adds up
_DIVERGING_RATIO = 0.98  # of |W| on one halved panel to the one before, from which on it has no integral


@dataclass(frozen=True, eq=False)
class PairNodes:
    """Angles by their distance to the nearer of 0 and pi, weights of sum 1 for the uniform measure, values of W, or of
    its `odd` part."""

    near: Float
    opposite: Truths
    weights: Float
    values: Float
    odd: bool = False

    @property
    def size(self) -> float:
        """`int |W|`."""
        return float(np.einsum("n,n->", self.weights, np.abs(self.values)))

    def moments(self, harmonics: Harmonics, degree: int) -> Float:
        """`int W P_k` over the uniform measure of mass 1, k = 0 .. degree; of an odd W with sin(k angle) in place of
        P_k.

        By einsum, not BLAS, whose bits depend on the number of threads."""
        weighted, found = self.weights * self.values, np.empty(degree + 1)
        if harmonics.dimension == 2:
            signed = np.where(self.opposite, -weighted, weighted)
            wave, turn = np.ones(weighted.size, dtype=complex), np.exp(1j * self.near)
            for k in range(degree + 1):
                found[k] = np.einsum("n,n->", signed if (k + self.odd) % 2 else weighted, _part(wave, self.odd))
                wave = wave * turn if (k + 1) % _PRODUCTS_BEFORE_POWER else np.exp(1j * (k + 1) * self.near)
            return found
        cosine = np.where(self.opposite, -np.cos(self.near), np.cos(self.near))
        for k, values in enumerate(harmonics.each_zonal(cosine, degree)):
            found[k] = np.einsum("n,n->", weighted, values)
        return found


def _part(wave: Complex, odd: bool) -> Float:
    return wave.imag if odd else wave.real


def pair_nodes(potential: PairPotential, dimension: int, degree: int, shorter: float = 1.0) -> PairNodes:
    """Gauss panels, halved again and again towards 0, pi and kinks, and so short that degrees up to that are
    integrated to rounding."""
    longest = _PANEL_PER_DEGREE / (shorter * max(degree, 1))
    cuts = np.array([0.0, *kinks_of(potential, np.pi), np.pi])
    parts = []
    for low, high in pairwise(cuts):
        middle = 0.5 * (low + high)
        parts += [_half(potential, dimension, low, middle, longest), _half(potential, dimension, high, middle, longest)]
    near, opposite, weights, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return PairNodes(near, opposite, weights / _area(dimension), values, potential.part == "odd")


@lru_cache(maxsize=64)
def kinks_of(potential: PairPotential, high: float) -> Float:
    """Angles, or distances, below the highest where W may have an edge or a kink."""

    def values(kink: object, sign: float) -> object:
        return of_any_item(lambda t: np.nan_to_num(kink({"cosine": np.cos(t), "angle": sign * t, "r": t})))  # type: ignore[operator]

    kinks = [values(kink, sign) for kink in potential.expression.kinks for sign in potential.signs]
    found = crossings(kinks, np.zeros(1), np.full(1, high), _SEARCHED)[1]  # type: ignore[arg-type]
    places = np.unique(found)
    inside = places[(places > 1e-9) & (places < high - 1e-9)]  # 1 - cosine and the like vanish at the ends themselves
    return inside[np.concatenate([[True], np.diff(inside) > 1e-12])] if inside.size else inside


Half = tuple[Float, Truths, Float, Float]


def _half(potential: PairPotential, dimension: int, corner: float, middle: float, longest: float) -> Half:
    """From a corner, where W may be singular, to the middle of the interval."""
    at_end = corner in (0.0, np.pi)
    for depth in ("end", "singular") if at_end else ("inside",):
        near, opposite, weights, panel = _panels(dimension, corner, middle, longest, _HALVINGS[depth])
        values = potential.values(near, opposite)
        if not np.isfinite(values).all():
            worst = int(np.argmin(np.isfinite(values)))
            angle = np.pi - near[worst] if opposite[worst] else near[worst]
            raise ProblemError.at(
                "interaction.expression", f"is not a finite number at angle = {angle:.6g}: {values[worst]:g}"
            )
        shares = np.bincount(panel, np.abs(weights * values))
        if shares[0] <= _SHARE_MAX[depth] * shares.sum():
            return near, opposite, weights, values
    ratio = float(shares[1] / shares[2]) if shares[2] > 0 else 0.0
    reason = "has no integral" if ratio > _DIVERGING_RATIO else "is integrable so barely that they are not found"
    raise ProblemError.at(
        "interaction.expression",
        f"its coefficients are not finite: |W| {reason} near angle = {corner:.6g}; give coefficients, or a W that is "
        "bounded there",
    )


def _panels(
    dimension: int, corner: float, middle: float, longest: float, halvings: int
) -> tuple[Float, Truths, Float, np.ndarray]:
    """Nodes with their weights, and by how many halvings their panel is away from the corner's."""
    length = abs(middle - corner)
    ends = length * np.concatenate([[0.0], 2.0 ** np.arange(-halvings, 1)])
    pieces = np.maximum(np.ceil(np.diff(ends) / longest), 1).astype(int)
    panel = np.repeat(np.arange(pieces.size), pieces)
    width = (np.diff(ends) / pieces)[panel]
    start = ends[panel] + width * (np.arange(panel.size) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    points, shares = gauss_legendre(_POINTS)
    away = (start[:, None] + 0.5 * width[:, None] * (1 + points)).ravel()
    weights = (width[:, None] * shares).ravel()
    if corner in (0.0, np.pi):
        near, opposite = away, np.full(away.size, corner != 0.0)
        beyond = near > 0.5 * np.pi
        near, opposite = np.where(beyond, np.pi - near, near), opposite ^ beyond
    else:
        angle = corner + np.sign(middle - corner) * away
        opposite = angle > 0.5 * np.pi
        near = np.where(opposite, np.pi - angle, angle)
    return near, opposite, weights * np.sin(near) ** (dimension - 2), np.repeat(panel, _POINTS)


def _area(dimension: int) -> float:
    """`int_0^pi sin^{d-2}`."""
    return float(np.sqrt(np.pi) * np.exp(lgamma(0.5 * (dimension - 1)) - lgamma(0.5 * dimension)))
