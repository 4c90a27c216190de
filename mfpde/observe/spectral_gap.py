"""How fast the slowest perturbation of the present law decays."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.geometry.sphere_series import associated_legendre, legendre_derivatives
from mfpde.registry import register
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.attention import Convolution
    from mfpde.equation import Equation
    from mfpde.measure import Measure

__all__ = ["SpectralGap"]

_CIRCLE_MODES = (24, 48, 96, 192, 384)  # of the Galerkin matrix, tried in turn: the last has 768 rows, a second
_SPHERE_DEGREES = (6, 9, 13, 18, 24)  # the same on S^2: the last has 624 rows
_AGREEMENT = 1e-9  # of the gap with one number of modes and the next, relative to 1 / kappa + |gap|
_NULL_SHARE = 1e-7  # of the largest: a rotation that moves the law less than that is one of its symmetries


@register("observable", "spectral-gap")
class SpectralGap(Observable):
    """`-max Re(eigenvalues)` of the equation linearised at the present law mu, rotations of mu left out.

    The linearised operator is `L eta = Lap eta / kappa - div(eta G_mu) - div(mu dG_mu[eta])` on densities eta of mass
    0. Rotations `d mu / d angle` are neutral at a stationary state: L is taken on the orthogonal complement (in L^2) of
    these directions, where its eigenvalues are all others. At a stationary state this is the state's leading rate with
    its sign turned: positive is stable, and perturbations decay like `e^{-gap t}`. Elsewhere it says whether
    neighbouring solutions approach each other now.

    Accuracy: 1e-9 relative to `1 / kappa` for laws that 384 modes of the circle, degree 24 of S^2 resolve. Fails:
    without noise, for kernels that are no convolution, on spheres in other than three dimensions.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=0), noise={"kappa": 1})
    >>> values = SpectralGap().evaluate(Instant(0.0, mfpde.Uniform(), equation, lambda: 0.0))
    >>> round(values["spectral-gap"], 12)          # 1 / kappa - 1 / 2
    0.5
    """

    kind: Literal["spectral-gap"] = "spectral-gap"
    citations: ClassVar[tuple[str, ...]] = ("bertini2010",)
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere")
    looks_at: ClassVar[tuple[str, ...]] = ("density",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"spectral-gap": Series("decay rate of the slowest perturbation", units="1/time", scale="balance")}

    def unfit(self, equation: Equation) -> str | None:
        found = super().unfit(equation)
        if found is not None:
            return found
        if equation.geometry.ambient_dimension > 3:
            return "it is made for the circle and the sphere in three dimensions"
        if not equation.noise.diffuses:
            return "without noise perturbations have no discrete rates; give noise: {kappa: ..}"
        if equation.drift is not None:
            return "it is made for equations without a drift of its own"
        if equation.law is not None and equation.law.convolution(equation.geometry) is None:
            return "it is made for interactions and for attention that is a convolution: A and V multiples of I"
        return None

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        equation = instant.equation
        law, diffusion = equation.law, equation.noise.diffusion
        convolution = None if law is None else law.convolution(equation.geometry)
        value = last = np.nan
        make, sizes = (_circle, _CIRCLE_MODES) if equation.geometry.angular else (_sphere, _SPHERE_DEGREES)
        for size in sizes:
            last, value = value, _gap(make(size), instant.measure, convolution, diffusion)
            if abs(value - last) < _AGREEMENT * (diffusion + abs(value)):
                break
        return {"spectral-gap": value}


class _Waves(NamedTuple):
    """Orthonormal functions of mass 0 at the nodes of a quadrature of mass 1: `values` (node, function), `slopes` along
    orthonormal `directions`, (c, node, function) and (c, node, native component), their `degrees`, and `turns`, the
    fields of rotations, (c, node, rotation)."""

    points: Float
    shares: Float
    values: Float
    slopes: Float
    directions: Float
    degrees: AnyArray
    turns: Float


def _gap(waves: _Waves, measure: Measure, convolution: Convolution | None, diffusion: float) -> float:
    values, slopes, heavy = waves.values, waves.slopes, waves.shares[:, None]
    ratio = measure.evaluate(waves.points)
    ratio = ratio / (waves.shares @ ratio)
    matrix = np.diag(-diffusion * waves.degrees * (waves.degrees + slopes.shape[0] - 1.0))
    if convolution is not None:
        drift, level = _drift(waves, measure, convolution)
        seen = np.zeros((3, waves.degrees.size))
        inside = waves.degrees <= convolution.degree
        seen[0, inside] = convolution.potential[waves.degrees[inside]]
        if convolution.normaliser is not None:
            seen[1, inside] = convolution.normaliser[waves.degrees[inside]]
        if convolution.sines is not None:  # of cos(k theta) and sin(k theta) as of e^{ik theta}
            seen[2, inside] = (waves.degrees * convolution.sines[np.minimum(waves.degrees, convolution.degree)])[inside]
        for slope, speed in zip(slopes, drift, strict=True):
            change = (slope * seen[0] + values * seen[2] - values * seen[1] * speed[:, None]) / level[:, None]
            matrix += slope.T @ (heavy * (speed[:, None] * values + ratio[:, None] * change))
    turned = sum(slope.T @ (heavy * ratio[:, None] * turn) for slope, turn in zip(slopes, waves.turns, strict=True))
    keep = _complement(np.asarray(turned))
    return -float(np.linalg.eigvals(keep.T @ matrix @ keep).real.max())


def _drift(waves: _Waves, measure: Measure, convolution: Convolution) -> tuple[Float, Float]:
    """v along the directions, `(c, node)`, and `N * mu`."""
    native, level = convolution.slopes_and_levels(waves.points, measure.harmonics(convolution.degree))
    return np.einsum("ni,cni->cn", native, waves.directions) / level, level


def _complement(directions: Float) -> Float:
    """An orthonormal basis of what is orthogonal to the directions that are not zero."""
    left, sizes, _ = np.linalg.svd(directions, full_matrices=True)
    if sizes[0] < _NULL_SHARE:  # a uniform law; what it turns into is itself
        return np.eye(directions.shape[0])
    return left[:, int((sizes > _NULL_SHARE * sizes[0]).sum()) :]


@lru_cache(maxsize=len(_CIRCLE_MODES))
def _circle(modes: int) -> _Waves:
    count = 4 * modes
    theta = 2 * np.pi * np.arange(count) / count
    order = np.arange(1, modes + 1)
    phase = np.outer(theta, order)
    values = np.sqrt(2) * np.hstack([np.cos(phase), np.sin(phase)])
    slopes = np.sqrt(2) * np.hstack([-order * np.sin(phase), order * np.cos(phase)])
    ones, degrees = np.ones((1, count, 1)), np.concatenate([order, order])
    return _Waves(theta[:, None], np.full(count, 1 / count), values, slopes[None], ones, degrees, ones)


@lru_cache(maxsize=len(_SPHERE_DEGREES))
def _sphere(degree: int) -> _Waves:
    latitudes = (3 * degree) // 2 + 2
    cosines, weights = gauss_on_sphere(latitudes, 3)
    longitude = np.pi * np.arange(2 * latitudes) / latitudes
    table = associated_legendre(cosines, degree)
    parts = [table, *legendre_derivatives(table)]
    order, level = np.nonzero(np.tril(np.ones((degree + 1, degree + 1))).T)
    shown = [part[order, level].T[:, None, :] for part in parts]
    even, odd = np.cos(np.outer(longitude, order)), np.sin(np.outer(longitude, order))
    size = np.where(order == 0, 1.0, np.sqrt(2))
    zonal, turned = level > 0, order > 0
    columns = []
    for part, first, second in ((shown[0], even, odd), (shown[1], even, odd), (shown[2], -odd, even)):
        both = [(part * (size * wave))[:, :, kept] for wave, kept in ((first, zonal), (second, turned))]
        columns.append(np.concatenate(both, axis=2).reshape(-1, zonal.sum() + turned.sum()))
    sines = np.sqrt((1 - cosines) * (1 + cosines))
    height, side = np.repeat(cosines, longitude.size), np.repeat(sines, longitude.size)
    c, s = np.tile(np.cos(longitude), latitudes), np.tile(np.sin(longitude), latitudes)
    points = np.column_stack([side * c, side * s, height])
    east = np.column_stack([-s, c, np.zeros(c.size)])
    directions = np.stack([np.cross(east, points), east])
    turns = np.einsum("cni,rni->cnr", directions, np.cross(np.eye(3)[:, None, :], points[None]))
    shares = np.repeat(weights, longitude.size) / (longitude.size * weights.sum())
    degrees = np.concatenate([level[zonal], level[turned]])
    return _Waves(points, shares, columns[0], np.stack(columns[1:]), directions, degrees, turns)
