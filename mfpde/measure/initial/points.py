"""Point masses, written in a problem file or in a file of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from zlib import error as ZlibError  # noqa: N812

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Circle, Geometry, euclidean
from mfpde.measure.initial.base import Initial, fields_like_properties
from mfpde.measure.particles import Particles
from mfpde.measure.positioned import Positioned
from mfpde.registry import register
from mfpde.specification import Vector, _nested
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
        """Point masses from `values` (numbers in the file) or from a `file` (text or .npy, one point per row), with
        optional `weights`.

        On the circle a point is an angle, on the sphere a unit vector. Point masses have no density: a spectral
        solver needs noise to show what becomes of them.

        >>> Points(values=[0.0, 3.14159265]).mean.round(6)
        array([0., 0.])
        """

        kind: Literal["points"] = "points"
        pointlike: ClassVar[bool] = True
        values: Annotated[tuple[tuple[float, ...], ...] | None, BeforeValidator(_rows)] = Field(
            default=None, description="the points: angles, or one list for each"
        )
        file: str | None = Field(default=None, description="where they are, one point per row: text or .npy")
        weights: Vector | None = Field(default=None, description="one for each point; equal by default")
        positions: Vector | None = Field(default=None, description="where each stands in [0, 1], for masked attention")

        @model_validator(mode="after")
        def _one_source(self) -> Points:
            if (self.values is None) == (self.file is None):
                raise ValueError("points need either values or a file, and not both")
            return self

        @property
        def density_unfit(self) -> str | None:
            return "point masses have no density"

        def natural_geometry(self) -> Geometry:
            components = 1 if self.values is None else len(self.values[0])
            return Circle() if components == 1 else euclidean(components)

        def on(self, geometry: Geometry) -> Particles:
            points = np.array(self.values) if self.file is None else _read_points(self.file)
            try:
                return Particles(points, _array(self.weights), geometry, _array(self.__dict__["positions"]))
            except ProblemError as error:
                raise ProblemError(
                    Fault(("initial", *self._key(fault)), fault.message) for fault in error.faults
                ) from None

        def _key(self, fault: Fault) -> tuple[str | int, ...]:
            """Points are written under `values`, or in a file."""
            return ("file" if self.values is None else "values",) if fault.path == ("points",) else fault.path

        def over_positions(self, geometry: Geometry, positions: Sequence[float]) -> Positioned:
            """At their own positions, where they have them."""
            if self.__dict__["positions"] is None:
                return super().over_positions(geometry, positions)
            own = self.on(geometry)
            places = np.array(self.__dict__["positions"])
            unique = np.unique(places)
            groups = [places == place for place in unique]
            slices = [Particles(own.points[here], own.weights[here], geometry) for here in groups]
            return Positioned(unique, slices, np.array([own.weights[here].sum() for here in groups]))


def _array(values: tuple[float, ...] | None) -> Float | None:
    return None if values is None else np.array(values)


def _read_points(file: str) -> Float:
    path = Path(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of an empty file
            if path.suffix != ".npy":
                return np.loadtxt(path, ndmin=2)
            with path.open("rb") as stream:  # numpy.load would open archives as well
                return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    except UserWarning:
        raise ProblemError.at("initial.file", f"{file} holds no points") from None
    except OSError as error:
        raise ProblemError.at("initial.file", f"cannot read {file}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError, LZMAError, ZlibError) as error:
        raise ProblemError.at("initial.file", f"{file} does not hold points: {error}") from None
