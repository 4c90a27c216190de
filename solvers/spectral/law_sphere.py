"""Laws on S^2: convolutions by degree, and kernels between the few points that tell apart what they see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.attention import Convolution
from mfpde.attention.base import Term
from mfpde.geometry import Harmonics
from mfpde.geometry.gauss import gauss_legendre
from mfpde.solvers.spectral.law_grids import RingGrid
from mfpde.solvers.spectral.law_part import DECAYED, Part, bounds_of, kernel_between, pull_of_uniform, seen_by
from mfpde.solvers.spectral.sphere_basis import SphereBasis
from mfpde.solvers.spectral.sphere_data import gauss_points
from mfpde.transform.legendre import RingTransform
from mfpde.transform.regular_grid import STENCIL, RegularGrid, interpolated
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import Float

__all__ = ["ConvolutionOnSphere", "HalfSpaces", "PairsOnSphere", "parts_on_sphere"]

_FIRST_DEGREE = 12  # of harmonics that a kernel is looked for in
_PAIRS_MAX = 2**24  # of points between which a kernel is kept: 128 MiB
_ROWS = 32  # of a kernel whose harmonics show where they end
_PLACES_PER_DEGREE = 6  # of interpolated rings: of a degree 16 points miss 6e-6 at the last, 1e-10 at its half


class ConvolutionOnSphere(Part):
    """`v = grad (W * mu) / N * mu`."""

    def __init__(self, convolution: Convolution, grid: RingGrid) -> None:
        self._grid, self.bound = grid, convolution.bound
        self._degree = min(convolution.degree, grid.degree)
        self._transform = grid.transform_of(self._degree)
        degrees = np.minimum(self._transform.orders.degree.astype(int), self._degree)
        self._potential = convolution.potential[degrees]
        self._pull = pull_of_uniform(convolution, grid)
        self._normaliser = None if convolution.normaliser is None else convolution.normaliser[degrees]

    @property
    def cost(self) -> float:
        return 2.0 * self._grid.cost

    def velocity(self, values: Float, densities: Float) -> Float:
        return np.stack([self._of(self._grid.seen(each, self._degree)) for each in values])

    def _of(self, low: Float) -> Float:
        slopes = self._transform.gradient(low * self._potential).reshape(2, -1)
        if self._normaliser is None:
            return np.asarray(slopes + self._pull)
        return _quotient(slopes, self._transform.synthesize(low * self._normaliser).ravel(), self.bound)


class PairsOnSphere(Part):
    """Kernels between the points of a coarse grid, which sees as many harmonics as they have."""

    def __init__(self, terms: Sequence[Term], degree: int, grid: RingGrid, masses: Float, masked: bool) -> None:
        self._terms, self._degree, self._grid = terms, degree, grid
        self._masses, self._masked = masses, masked
        self.bound = sum(bounds_of(terms))
        count = ring_length(2 * degree + 4) // 2
        count += count % 2
        cosines, weights = gauss_legendre(count)
        self._points = gauss_points(count)
        self._weights = np.repeat(weights[::-1] / (2 * count), 2 * count)
        self._shape = (count, 2 * count)
        self._coarse = RingTransform(degree + 1, cosines, weights, 2 * count)
        self._fine = grid.transform_of(degree + 1)
        self._kernels = [kernel_between(term, self._points, self._points) for term in terms]

    @classmethod
    def of(cls, terms: Sequence[Term], grid: RingGrid, masses: Float, masked: bool) -> PairsOnSphere | None:
        """None where a kernel depends on the measure, or has too many harmonics."""
        degrees = [_degree_of(term) for term in terms]
        if not terms or None in degrees:
            return None
        return cls(terms, max(degree for degree in degrees if degree is not None), grid, masses, masked)

    @property
    def cost(self) -> float:
        return 2e-3 * len(self._terms) * self._weights.size**2 * self._masses.size + 5.0 * self._grid.cost

    def velocity(self, values: Float, densities: Float) -> Float:
        low = np.stack([self._grid.seen(each, self._degree + 1) for each in values])
        seen = seen_by(np.stack([self._coarse.synthesize(each).ravel() for each in low]), self._masses, self._masked)
        total = np.zeros((len(values), 3, self._grid.weights.size))
        for term, kernel in zip(self._terms, self._kernels, strict=True):
            assert kernel is not None  # noqa: S101 - `of` has seen to that
            for number, density in enumerate(seen):
                masses = self._weights * density
                fields = self._refined(
                    kernel @ (masses[:, None] * np.column_stack([self._points, np.ones(masses.size)]))
                )
                means = _quotient(fields[:3], fields[3], 1.0) if term.head.normalised else fields[:3]
                total[number] += term.value @ means
        return np.einsum("cnd,sdn->scn", self._grid.frame, total)

    def _refined(self, fields: Float) -> Float:
        """From the coarse points `(m, 4)` to those of the grid, `(4, n)`."""
        rows = [self._coarse.analyze(np.ascontiguousarray(each.reshape(self._shape))) for each in fields.T]
        return np.stack([self._fine.synthesize(each).ravel() for each in rows])


class HalfSpaces(Part):
    """ReLU kernels, exactly: with the convolution Phi of mu with `max(0, t)^2 / 2`,

    `int max(0, <w, y>) y dmu = |w| (grad Phi + 2 Phi w / |w|)` at `w / |w|`, for w = Ax at every point (the gradient in
    w of `int max(0, <w, y>)^2 / 2 dmu`, which is homogeneous of degree two). Transforms make it on equispaced rings,
    from which it is interpolated to the directions of Ax: L^3 operations and some thousand a point, in place of the
    (L + 1)^2 of sums over all harmonics.
    """

    def __init__(self, term: Term, grid: RingGrid, masses: Float, masked: bool) -> None:
        self._term, self._grid, self._masses, self._masked = term, grid, masses, masked
        self.bound = sum(bounds_of([term]))
        tilts = grid.vectors @ term.head.query_matrix(3).T
        self._sizes = np.linalg.norm(tilts, axis=1)
        directions = np.where(self._sizes[:, None] > 0, tilts, grid.vectors)
        self._places = np.stack(
            [
                np.arctan2(np.hypot(directions[:, 0], directions[:, 1]), directions[:, 2]),
                np.arctan2(directions[:, 1], directions[:, 0]) % (2 * np.pi),
            ],
            axis=-1,
        )
        x, weights = gauss_legendre(grid.degree + 2)
        half = 0.5 * (1 + x)
        #: of `max(0, t)^2 / 2` by degree [Funk and Hecke]: half of all cosines are positive
        by_degree = Harmonics(3).zonal(half, grid.degree) @ (0.5 * weights * 0.5 * half**2)
        self._multipliers = by_degree[grid.degrees]
        self._rings = _EquispacedRings(grid.degree)

    @property
    def cost(self) -> float:
        return (0.5 * self._sizes.size + 3.0 * self._rings.cost) * self._masses.size

    def velocity(self, values: Float, densities: Float) -> Float:
        return np.stack([self._of(each) for each in seen_by(values, self._masses, self._masked)])

    def _of(self, low: Float) -> Float:
        means = self._sizes * self._rings.squared_slopes(low * self._multipliers, self._places)
        return np.einsum("cnd,dn->cn", self._grid.frame, self._term.value @ means)


class _EquispacedRings:
    """Functions up to a degree on rings at equal distances, and at any points by polynomials of degree 15 between."""

    def __init__(self, degree: int) -> None:
        places = ring_length(_PLACES_PER_DEGREE * max(degree, _FIRST_DEGREE))
        self._count, self._spacing = places // 2, 2 * np.pi / places
        colatitude = self._spacing * (np.arange(self._count) + 0.5)
        self._transform = RingTransform(degree, np.cos(colatitude)[::-1], np.ones(self._count), places)
        longitude = self._spacing * np.arange(places)
        cos, sin = np.cos(colatitude)[:, None], np.sin(colatitude)[:, None]
        turn = np.stack([np.cos(longitude), np.sin(longitude)])[:, None]
        self._outward = np.concatenate([sin * turn, np.broadcast_to(cos, (1, self._count, places))])
        self._south = np.concatenate([cos * turn, np.broadcast_to(-sin, (1, self._count, places))])
        self._east = turn

    @property
    def cost(self) -> float:
        """Microseconds of one synthesis."""
        return 1e-2 * self._outward[0].size

    def squared_slopes(self, values: Float, points: Float) -> Float:
        """`grad f + 2 f y` at points y given by colatitude and longitude, `(3, n)`: the gradient in space of
        `|y|^2 f(y / |y|)`."""
        south, east = self._transform.gradient(values)
        fields = south * self._south + 2 * self._transform.synthesize(values) * self._outward
        fields[0] -= east * self._east[1, 0]
        fields[1] += east * self._east[0, 0]
        turned = np.roll(fields, self._count, axis=-1)  # beyond a pole a meridian goes on half a turn away
        around = np.concatenate([turned[:, STENCIL - 1 :: -1], fields, turned[:, : -STENCIL - 1 : -1]], axis=1)
        around = np.pad(around, ((0, 0), (0, 0), (STENCIL, STENCIL)), mode="wrap")
        start = self._spacing * np.array([0.5 - STENCIL, -float(STENCIL)])
        return interpolated(points, around, RegularGrid(start, self._spacing, around.shape[1:]))


class Several(Part):
    """The sum of some."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.bound = sum(part.bound for part in parts)

    @property
    def cost(self) -> float:
        return sum(part.cost for part in self._parts)

    def velocity(self, values: Float, densities: Float) -> Float:
        found = [part.velocity(values, densities) for part in self._parts]
        return np.asarray(sum(found[1:], found[0]))


def parts_on_sphere(terms: Sequence[Term], grid: RingGrid, masses: Float, masked: bool) -> Part | None:
    """Kernels that are the same for every measure; None where one is not, or has too many harmonics."""
    kinked = [term for term in terms if term.head.pair_kernel == "relu"]
    smooth = [term for term in terms if term.head.pair_kernel != "relu"]
    parts: list[Part] = [HalfSpaces(term, grid, masses, masked) for term in kinked]
    if smooth:
        pairs = PairsOnSphere.of(smooth, grid, masses, masked)
        if pairs is None:
            return None
        parts.append(pairs)
    return Several(parts) if parts else None


def _quotient(vectors: Float, levels: Float, bound: float) -> Float:
    """`vectors / level`, no longer than the bound that holds for every measure where levels have sunk below
    roundoff."""
    sizes = np.linalg.norm(vectors, axis=0)
    known = (levels > 0) & (sizes <= bound * levels)
    share = np.divide(bound, sizes, out=np.zeros_like(sizes), where=(sizes > 0) & (levels > 0))
    return vectors * np.where(known, 1 / np.where(known, levels, 1.0), share)


def _degree_of(term: Term) -> int | None:
    """The last degree that is more than rounding in a kernel, as a function of x and of y."""
    degree = _FIRST_DEGREE
    while 4 * (degree + 2) ** 4 <= _PAIRS_MAX:
        count = ring_length(2 * degree + 4) // 2
        count += count % 2
        points = gauss_points(count)
        some = points[:: max(1, len(points) // _ROWS)]
        one, other = (kernel_between(term, *pair) for pair in ((some, points), (points, some)))
        if one is None or other is None:
            return None
        transform = RingTransform(degree, *gauss_legendre(count), 2 * count)
        basis = SphereBasis(degree, 0)
        rows = [*one, *other.T]
        sizes = np.max([basis.sizes(transform.analyze(row.reshape(count, 2 * count))) for row in rows], axis=0)
        sizes /= max(float(sizes.max()), np.finfo(float).tiny)
        if sizes[-degree // 4 :].max() <= DECAYED:
            return int(np.flatnonzero(sizes > DECAYED).max(initial=0)) + 1
        degree = 3 * degree // 2
    return None
