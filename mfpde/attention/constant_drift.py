"""A drift that is the same everywhere."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from mfpde.attention.matrices import finite
from mfpde.attention.pointwise import PointwiseDrift
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.specification import Matrix
from mfpde.typing import Float

__all__ = ["Constant"]


def _as_rows(value: Any) -> Any:
    """A list of numbers as a matrix of one row."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    flat = isinstance(listed, list | tuple) and not any(isinstance(each, list | tuple) for each in listed)
    return [list(listed)] if flat else value


_SCHEMA = {
    "anyOf": [
        {"type": "number"},
        {"type": "array", "items": {"type": "number"}},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    ]
}


@register("drift", "constant")
class Constant(PointwiseDrift):
    """`g(x) = value` on flat spaces, d numbers (one number on the line); on circle and spheres a rotation, `g(x) = M
    x`.

    There a number is the rate at which the first two coordinates turn: of the angle on the circle, of the longitude on
    S^2. A skew-symmetric matrix M is any rotation; on S^2 `M x = omega x x` for an angular velocity omega. *Good
    values:* any. *Fails:* nowhere.

    >>> import mfpde
    >>> mfpde.Constant(value=0.5).drift(mfpde.Circle(), [0.0, 1.0])
    array([0.5, 0.5])
    >>> mfpde.Constant(value=[1, 0]).drift(mfpde.Plane(), [[3.0, 4.0]])
    array([[1., 0.]])
    """

    citations: ClassVar[tuple[str, ...]] = ()
    kind: Literal["constant"] = "constant"
    value: Annotated[Matrix, BeforeValidator(_as_rows), WithJsonSchema(_SCHEMA)] = Field(
        description="velocity, d numbers; on circle and spheres a rotation rate, or a skew-symmetric matrix"
    )

    @model_validator(mode="after")
    def _finite(self) -> Constant:
        finite(self, ("value",))
        return self

    def check(self, geometry: Geometry) -> None:
        given, dimension = np.asarray(self.value, dtype=float), geometry.ambient_dimension
        if geometry.flat and given.shape != (1, dimension) and not (given.ndim == 0 and dimension == 1):
            raise ProblemError.at("drift.value", f"must be {dimension} numbers on {geometry.name}, a velocity")
        if geometry.flat or given.ndim == 0:
            return
        if given.shape != (dimension, dimension) or (given != -given.T).any():
            raise ProblemError.at(
                "drift.value",
                f"must be a rotation rate on {geometry.name}: a number, or a skew-symmetric matrix of shape "
                f"{(dimension, dimension)}",
            )

    def check_dimension(self, dimension: int) -> None:
        """Everything is in `check`, which knows the space."""

    def outputs(self, x: Float) -> Float:
        given, dimension = np.asarray(self.value, dtype=float), x.shape[1]
        if given.shape == (1, dimension):
            return np.broadcast_to(given, x.shape).copy()
        return np.full(x.shape, float(given)) if dimension == 1 else x @ self._rotation(dimension).T

    def output_jacobians(self, x: Float) -> Float:
        dimension = x.shape[1]
        turns = dimension > 1 and np.shape(self.value) != (1, dimension)
        slope = self._rotation(dimension) if turns else np.zeros((dimension, dimension))
        return np.broadcast_to(slope, (*x.shape, dimension)).copy()

    def _rotation(self, dimension: int) -> Float:
        given = np.asarray(self.value, dtype=float)
        if given.ndim:
            return given
        rotation = np.zeros((dimension, dimension))
        rotation[1, 0], rotation[0, 1] = float(given), -float(given)
        return rotation
