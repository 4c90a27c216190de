"""Point masses, written in a problem file or in a file of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, Any, Literal
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Circle, Geometry, euclidean
from mfpde.measure.base import Measure
from mfpde.measure.initial.base import Initial, fields_like_properties
from mfpde.measure.initial.mixture import together
from mfpde.measure.initial.von_mises import VonMises
from mfpde.measure.normal import Normal
from mfpde.measure.particles import Particles
from mfpde.measure.positioned import Positioned
from mfpde.measure.random_points import Recipe, check_recipe, points_of_recipe
from mfpde.registry import register
from mfpde.specification import Intervals, Real, Vector, Whole, _nested
from mfpde.typing import Float

__all__ = ["Points"]


def _rows(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    flat = isinstance(value, list | tuple) and not any(isinstance(item, list | tuple) for item in value)
    return tuple((item,) for item in _nested(value, 1)) if flat else _nested(value, 2)


with fields_like_properties("positions"):

    @register("initial", "points")
    class Points(Initial):
        """Point masses from `values` (numbers in the file), from a `file` (one point per row: text, .csv, .npy, or the
        arrays `points` and, where there are, `weights` of an .npz) or drawn at `random`, with optional `weights`.

        On the circle a point is an angle, on the sphere a unit vector. Point masses have no density: a spectral
        solver needs noise to show what becomes of them. A `width` smooths each of them, to a von Mises(-Fisher) law of
        concentration `1/width^2` on circle and spheres, and to `N(point, width^2 I)` elsewhere: width is the standard
        deviation in each direction, on circle and spheres for small ones.

        Drawn are `count` points by a `seed`: `uniform-sphere` (unit vectors), `normal` (on R^d; `scale` is the standard
        deviation), `box` (uniform; default [-1, 1] in each coordinate, on the circle all angles) or `equiangular` (unit
        vectors, `<x_i, x_j> = cosine` for all i != j, turned at random: -1/(n-1) <= cosine <= 1, n <= d, or n = d + 1
        at the least cosine).

        >>> Points(values=[0.0, 3.14159265]).mean.round(6)
        array([0., 0.])
        """

        kind: Literal["points"] = "points"
        values: Annotated[tuple[tuple[float, ...], ...] | None, BeforeValidator(_rows)] = Field(
            default=None, description="the points: angles, or one list for each"
        )
        file: str | None = Field(
            default=None, description="where they are, one point per row: text, .csv, .npy or .npz"
        )
        random: Recipe | None = Field(default=None, description="the law by which they are drawn")
        count: Whole | None = Field(default=None, ge=1, description="random: how many")
        seed: Whole | None = Field(default=None, ge=0, lt=2**64, description="random: of their coordinates, default 0")
        scale: Real | None = Field(default=None, gt=0, lt=np.inf, description="normal: standard deviation, default 1")
        box: Intervals | None = Field(default=None, description="box: one pair `[from, to]` per coordinate")
        cosine: Real | None = Field(default=None, ge=-1, le=1, description="equiangular: of the angle between any two")
        weights: Vector | None = Field(default=None, description="one for each point; equal by default")
        width: Real | None = Field(
            default=None, ge=1e-3, lt=np.inf, description="to which each point is smoothed: a standard deviation"
        )
        positions: Vector | None = Field(default=None, description="where each stands in [0, 1], for masked attention")

        @model_validator(mode="after")
        def _one_source(self) -> Points:
            if sum(source is not None for source in (self.values, self.file, self.random)) != 1:
                raise ValueError("points need one of values, file and random")
            check_recipe(self)
            return self

        @property
        def pointlike(self) -> bool:  # type: ignore[override]
            """Whether it has no density."""
            return self.width is None

        @property
        def density_unfit(self) -> str | None:
            return "point masses have no density; a width smooths them" if self.pointlike else None

        def natural_geometry(self) -> Geometry:
            components = len(self.values[0]) if self.values is not None else len(self.box or (1,))
            return Circle() if components == 1 else euclidean(components)

        def on(self, geometry: Geometry) -> Measure:
            masses = self._masses(geometry)
            return masses if self.width is None else _smoothed(masses, self.width, geometry)

        def _masses(self, geometry: Geometry) -> Particles:
            points = self._points(geometry)
            try:
                return Particles(points, self._weights(), geometry, _array(self.__dict__["positions"]))
            except ProblemError as error:
                raise ProblemError(
                    Fault(("initial", *self._key(fault)), fault.message) for fault in error.faults
                ) from None

        def _points(self, geometry: Geometry) -> Float:
            if self.random is not None:
                return points_of_recipe(self, geometry)
            return np.array(self.values) if self.file is None else _read_points(self.file)

        def _weights(self) -> Float | None:
            """As they are written, or those of the archive in which the points are."""
            if self.weights is not None or self.file is None or Path(self.file).suffix != ".npz":
                return _array(self.weights)
            with np.load(self.file, allow_pickle=False) as archive:
                return np.asarray(archive["weights"], dtype=float) if "weights" in archive.files else None

        def _key(self, fault: Fault) -> tuple[str | int, ...]:
            """Points are written under `values`, or in a file."""
            source = "random" if self.random is not None else "file" if self.values is None else "values"
            return (source,) if fault.path == ("points",) else fault.path

        def over_positions(self, geometry: Geometry, positions: Sequence[float]) -> Positioned:
            """At their own positions, where they have them."""
            if self.__dict__["positions"] is None:
                return super().over_positions(geometry, positions)
            own = self._masses(geometry)
            places = np.array(self.__dict__["positions"])
            unique = np.unique(places)
            groups = [places == place for place in unique]
            masses = [Particles(own.points[here], own.weights[here], geometry) for here in groups]
            width = self.width
            slices = masses if width is None else [_smoothed(each, width, geometry) for each in masses]
            return Positioned(unique, slices, np.array([own.weights[here].sum() for here in groups]))


def _smoothed(masses: Particles, width: float, geometry: Geometry) -> Measure:
    points, weights = masses.nodes()
    if geometry.flat:
        parts: list[Measure] = [Normal(point, width**2 * np.eye(point.size), geometry) for point in points]
    else:
        parts = [VonMises(direction=point, concentration=width**-2).on(geometry) for point in points]
    return together(weights / weights.sum(), parts)


def _array(values: tuple[float, ...] | None) -> Float | None:
    return None if values is None else np.array(values)


def _archived(path: Path) -> Float:
    """The array `points` of an archive, or its only one."""
    with np.load(path, allow_pickle=False) as archive:
        name = "points" if "points" in archive.files else archive.files[0] if len(archive.files) == 1 else None
        if name is None:
            raise ValueError(f"has no array 'points' but {', '.join(map(repr, archive.files)) or 'none at all'}")
        return np.asarray(archive[name])


def _read_points(file: str) -> Float:
    path = Path(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of an empty file
            if path.suffix == ".npz":
                return _archived(path)
            if path.suffix != ".npy":
                return np.loadtxt(path, ndmin=2, delimiter="," if path.suffix == ".csv" else None)
            with path.open("rb") as stream:  # numpy.load would open archives as well
                return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    except UserWarning:
        raise ProblemError.at("initial.file", f"{file} holds no points") from None
    except FileNotFoundError:
        raise ProblemError.at("initial.file", f"there is no file {file}") from None
    except OSError as error:
        raise ProblemError.at("initial.file", f"cannot read {file}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError, LZMAError, ZlibError, BadZipFile) as error:
        raise ProblemError.at("initial.file", f"{file} does not hold points: {error}") from None
