"""Densities on spheres by their values at Gauss colatitudes: on S^2 with longitudes, on S^{d-1} about an axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Axis, Harmonics, HarmonicSeries, Sphere, SphereSeries
from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.measure.axisymmetric import turned_about
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.basins import Cluster, basins_about_axis, clusters_on_sphere
from mfpde.measure.density_grid import DensityGrid, known, relative_entropy
from mfpde.measure.particles import Particles
from mfpde.measure.rules import about, about_plane, around_axis, of_sphere, sphere_count
from mfpde.streams import uniform_rows
from mfpde.typing import AnyArray, Float

__all__ = ["ProfileDensity", "SphereGridDensity"]

_NODES_MAX = 10_000_000  # about an axis, half a gigabyte in R^6
_MOST_COLATITUDES = 256  # of refined grids: the tables of their harmonics grow like the third power


class _GaussDensity(Measure):
    """What both have in common: harmonics up to a degree, and grids that show them."""

    _geometry: Sphere

    #: the harmonics up to the degree that the values determine
    series: HarmonicSeries
    colatitudes: int

    @abstractmethod
    def _grid(self, colatitudes: int) -> DensityGrid: ...

    @property
    def by_degree(self) -> bool:
        return True

    def density_grids(self, quantity: str) -> Iterator[DensityGrid]:
        count = self.colatitudes
        while count <= max(self.colatitudes, _MOST_COLATITUDES):
            yield self._grid(count)
            count *= 2

    def relative_entropy(self) -> float:
        return relative_entropy(self.density_grids("entropy"))

    def entropy(self) -> float:
        return self._geometry.harmonics.log_area - self.relative_entropy()

    def evaluate(self, points: AnyArray) -> Float:
        """By its harmonics."""
        ones = np.ones(self.series.degree + 1)
        levels = self.series.slopes_and_levels(self.space.points(points), np.zeros(1), ones)[1]
        return levels / np.exp(self._geometry.harmonics.log_area)

    def sample(self, count: int, seed: int = 0) -> Float:
        """Of its nodes."""
        return Particles(*self.nodes(), self._geometry).sample(count, seed)


class SphereGridDensity(_GaussDensity):
    """On S^2, `values` at n Gauss colatitudes and 2 n longitudes: a sum of harmonics of degree below n.

    >>> round(SphereGridDensity(np.full((8, 16), 1 / (4 * np.pi))).entropy(), 6)          # log(4 pi)
    2.531024
    """

    def __init__(self, values: Float) -> None:
        self._geometry = Sphere()
        self.values = values
        self.colatitudes = values.shape[0]

    @cached_property
    def series(self) -> SphereSeries:  # type: ignore[override]
        return SphereSeries.of_grid(self.values, self.colatitudes - 1)

    @cached_property
    def _weights(self) -> Float:
        count = self.colatitudes
        share = gauss_on_sphere(count, 3)[1][::-1]
        return np.repeat(share[:, None] * (2 * np.pi / count), 2 * count, axis=1)

    @property
    def mass(self) -> float:
        return float((self.values * self._weights).sum())

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """Those of the grid, where the density is above the roundoff of its peak."""
        weights = (self._weights * np.where(known(self.values), self.values, 0.0)).ravel()
        return self._points, weights / weights.sum()

    @property
    def _points(self) -> Float:
        count = self.colatitudes
        angle = np.repeat(Axis.of_colatitudes(count).values, 2 * count)
        longitude = np.tile(Axis.of_angles("longitude", 2 * count, "longitude").values, count)
        side = np.sin(angle)
        return np.column_stack([side * np.cos(longitude), side * np.sin(longitude), np.cos(angle)])

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        basins = clusters_on_sphere(self.values, self._points, (self._weights * self.values).ravel(), prominence)
        return [Cluster(basin.mean, basin.mass, basin.width) for basin in basins if basin.mass >= least]

    def density_nodes(self) -> tuple[Float, Float]:
        return (self.values * self._weights).ravel(), self.values.ravel()

    def harmonics(self, degree: int) -> SphereSeries:
        return self.series.resized(degree)

    def _grid(self, colatitudes: int) -> DensityGrid:
        return _SphereGrid(self.series, colatitudes)


class _SphereGrid(DensityGrid):
    def __init__(self, series: SphereSeries, colatitudes: int) -> None:
        self._series, self._count = series, colatitudes

    @property
    def shares(self) -> Float:
        return np.repeat(gauss_on_sphere(self._count, 3)[1][::-1] / (2 * self._count), 2 * self._count)

    @cached_property
    def excess(self) -> Float:
        return (self._series.without_mass().on_grid(self._count)).ravel()

    def slopes(self) -> Float:
        return self._series.slopes_on_grid(self._count).reshape(2, -1)

    def curvatures(self) -> Float:
        return self._series.multiplied(-Harmonics(3).eigenvalues(self._series.degree)).on_grid(self._count).ravel()

    def pulls(self, potential: Float, external: HarmonicSeries | None = None) -> Float:
        found = self._series.slopes_on_grid(self._count, potential).reshape(2, -1)
        return found if external is None else found + external.slopes_on_nodes(self._count)


class ProfileDensity(_GaussDensity):
    """On S^{d-1}, a function of the angle to an axis: `values` at n Gauss colatitudes about it, a polynomial of degree
    below n in the cosine."""

    def __init__(self, values: Float, axis: AnyArray, geometry: Sphere) -> None:
        self._geometry = geometry
        self.values, self.axis = values, geometry.points(np.atleast_2d(axis))[0]
        self.colatitudes = values.size
        cosines, self._shares = (each[::-1] for each in gauss_on_sphere(values.size, geometry.dimension))
        area = np.exp(geometry.harmonics.log_area)
        #: `int P_k(<x, axis>) dmu`
        self.moments: Float = area * geometry.harmonics.zonal(cosines, values.size - 1) @ (self._shares * values)
        self.series = geometry.series_about_axes(self.axis[None], self.moments[None])

    @property
    def mass(self) -> float:
        return float(self.moments[0])

    @property
    def mean(self) -> Float:
        return np.asarray(self.moments[1] / self.moments[0] * self.axis)

    @property
    def covariance(self) -> Float:
        """From `<t^2> = (1 + (d - 1) <P_2>) / d` of the cosine t."""
        dimension, along = self.axis.size, np.outer(self.axis, self.axis)
        first, second = self.moments[1:3] / self.moments[0]
        square = (1 + (dimension - 1) * second) / dimension
        return (square - first**2) * along + (1 - square) / (dimension - 1) * (np.eye(dimension) - along)

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        angle = Axis.of_colatitudes(self.values.size, self.axis.size).values
        needed = angle.size * (sphere_count(self.axis.size - 1, 2 * angle.size) if self.axis.size > 2 else 2)
        if needed > _NODES_MAX:
            message = f"needs {needed:.2g} nodes about its axis in R^{self.axis.size}, more than {_NODES_MAX:.0e}"
            raise ProblemError.at("measure", message)
        around, weights = of_sphere(self.axis.size - 1, 2 * angle.size)
        return about(self.axis, around_axis(angle, around)), np.outer(self._masses, weights).ravel()

    def nodes_towards(self, vector: Float) -> tuple[Float, Float] | None:
        if self.axis.size <= 3:
            return None
        angle = Axis.of_colatitudes(self.values.size, self.axis.size).values
        points, weights = about_plane(self.axis, vector, angle, 2 * self.values.size)
        return points, np.outer(self._masses, weights).ravel()

    def sample(self, count: int, seed: int = 0) -> Float:
        """Angles by their distribution function, linear between the Gauss angles."""
        angle = Axis.of_colatitudes(self.values.size, self.axis.size).values
        ends = np.concatenate([[0.0], 0.5 * (angle[1:] + angle[:-1]), [np.pi]])
        below = np.concatenate([[0.0], np.cumsum(self._masses)])
        return turned_about(self.axis, np.interp(uniform_rows(count, 1, seed)[:, 0], below, ends), seed)

    @property
    def _masses(self) -> Float:
        """At the Gauss angles, of sum 1."""
        masses = self._shares * np.where(known(self.values), self.values, 0.0)
        return masses / masses.sum()

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        """Around a pole, or along a ring: of each the mean, on the axis, and the width, from `|x| = 1`."""
        relative = np.exp(self._geometry.harmonics.log_area) * np.where(known(self.values), self.values, 0.0)
        masses, cosines = self._shares * relative, np.cos(Axis.of_colatitudes(self.values.size, self.axis.size).values)
        found = []
        for here in basins_about_axis(relative, prominence):
            mass = float(masses[here].sum())
            if mass >= least:
                height = float(masses[here] @ cosines[here]) / mass
                found.append(Cluster(height * self.axis, mass, float(np.sqrt((1 - height**2) / self.axis.size))))
        return found

    def density_nodes(self) -> tuple[Float, Float]:
        area = np.exp(self._geometry.harmonics.log_area)
        return area * self._shares * self.values, self.values

    def harmonics(self, degree: int) -> HarmonicSeries:
        length = max(0, degree + 1 - self.moments.size)
        return self._geometry.series_about_axes(self.axis[None], np.pad(self.moments[: degree + 1], (0, length))[None])

    def _grid(self, colatitudes: int) -> DensityGrid:
        return _ProfileGrid(self.moments, self._geometry.harmonics, colatitudes)


class _ProfileGrid(DensityGrid):
    def __init__(self, moments: Float, harmonics: Harmonics, colatitudes: int) -> None:
        self._harmonics, self._degree = harmonics, moments.size - 1
        self._strengths = harmonics.multiplicities(self._degree) * moments
        self._cosines, self._weights = (each[::-1] for each in gauss_on_sphere(colatitudes, harmonics.dimension))

    @property
    def shares(self) -> Float:
        return self._weights

    @cached_property
    def excess(self) -> Float:
        return self._strengths[1:] @ self._harmonics.zonal(self._cosines, self._degree)[1:]

    def slopes(self) -> Float:
        return self._downhill(self._strengths)

    def curvatures(self) -> Float:
        factors = -self._harmonics.eigenvalues(self._degree) * self._strengths
        return factors @ self._harmonics.zonal(self._cosines, self._degree)

    def pulls(self, potential: Float, external: HarmonicSeries | None = None) -> Float:
        shown = min(potential.size, self._strengths.size)
        return self._downhill(potential[:shown] * self._strengths[:shown])

    def _downhill(self, strengths: Float) -> Float:
        """`d / d colatitude`."""
        slopes = strengths @ self._harmonics.slopes(self._cosines, strengths.size - 1)
        return -np.sqrt((1 - self._cosines) * (1 + self._cosines))[None] * slopes
