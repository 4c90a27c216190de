"""Weighted points."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from zlib import error as ZlibError  # noqa: N812

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from mfpde.arguments import numbers
from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Circle, Geometry, Queries, Scattered, euclidean, need_space
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.damping import LogFactors, Pair, values_at
from mfpde.measure.initial import Initial, fields_like_properties
from mfpde.measure.positioned import Positioned
from mfpde.registry import register
from mfpde.specification import Vector, _nested
from mfpde.streams import random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["Particles", "Points"]


class Particles(Measure):
    """`mu = sum_i w_i delta_{x_i}`. Weights default to 1/n; no geometry means R^d. `positions` s_i are for masked
    attention.

    >>> Particles([[0.0, 1.0], [2.0, 1.0]]).mean
    array([1., 1.])
    """

    pointlike: ClassVar[bool] = True

    def __init__(
        self,
        points: AnyArray,
        weights: AnyArray | None = None,
        geometry: Geometry | None = None,
        positions: AnyArray | None = None,
    ) -> None:
        given = numbers("points", points)
        if geometry is None:
            if given.ndim not in (1, 2) or given.size == 0:
                raise ProblemError.at("points", f"must have shape (n, d) with n and d at least 1, not {given.shape}")
            if not np.isfinite(given).all():
                raise ProblemError.at("points", "must be finite")
            self.points = given.reshape(given.shape[0], -1)
        else:
            need_space(geometry)
            self.points = geometry.points(given)
        self.weights = _weights(weights, self.points.shape[0])
        self._geometry = geometry
        self._positions = _positions(positions, self.points.shape[0])

    @property
    def positions(self) -> Float | None:
        return self._positions

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self.points, self.weights

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        found, native = None, queries.native
        if matrix is not None and native is not None and self._geometry is not None:
            factors = None if log_factors is None else values_at(log_factors, self.embedded_nodes()[0])
            found = self._geometry.tilted_mean(matrix, native, self.points, self.weights, factors)
        return super().tilt(queries, matrix, log_factors) if found is None else (found[1], queries.laid(found[0]))

    def sizes(self) -> Float:
        return Scattered(self.points).sizes()

    def fingerprint(self) -> bytes:
        """Of its arrays, which belong to whoever made them."""
        digest = hashlib.blake2b(self.points.tobytes(), digest_size=16)
        digest.update(self.weights.tobytes())
        return digest.digest()

    @property
    def compact(self) -> bool:
        return True

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        points = self.embedded_nodes()[0][self.weights > 0]
        return points.min(axis=0), points.max(axis=0)

    def evaluate(self, points: AnyArray) -> Float:
        raise ProblemError.at("measure", "point masses have no density")

    def sample(self, count: int, seed: int = 0) -> Float:
        uniform = random_stream(count, seed).random(count)
        chosen = np.searchsorted(np.cumsum(self.weights), uniform * self.weights.sum(), side="right")
        return self.points[np.minimum(chosen, self.weights.size - 1)]


def _weights(given: AnyArray | None, count: int) -> Float:
    if count == 0:
        raise ProblemError.at("points", "must be at least one")
    if given is None:
        return np.full(count, 1 / count)
    weights = numbers("weights", given)
    if weights.shape != (count,):
        raise ProblemError.at("weights", f"must have shape ({count},), one for each point, not {weights.shape}")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise ProblemError.at("weights", "must be finite, not negative and not all zero")
    return weights / weights.sum()


def _positions(given: AnyArray | None, count: int) -> Float | None:
    if given is None:
        return None
    positions = numbers("positions", given)
    if positions.shape != (count,) or not np.isfinite(positions).all():
        raise ProblemError.at(
            "positions", f"must be finite and have shape ({count},), one for each point, not {positions.shape}"
        )
    return positions


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
