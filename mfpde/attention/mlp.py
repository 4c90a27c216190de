"""The feed-forward block between attention layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.matrices import array_of, finite
from mfpde.attention.pointwise import PointwiseDrift
from mfpde.coefficients import MatrixInTime
from mfpde.errors import ProblemError
from mfpde.registry import register
from mfpde.specification import Vector
from mfpde.typing import Float

__all__ = ["Mlp"]


@register("drift", "mlp")
class Mlp(PointwiseDrift):
    """`g(x) = W s(U x + b) + c`, a perceptron with one hidden layer that moves every token on its own.

    U is `(rows, d)`, b `(rows,)` and c `(d,)` (0 by default), W `(d, rows)`; numbers are multiples of the identity.
    `activation` s: `tanh`, `relu` (max(0, z)) or `gelu` (z times the normal distribution function). On spheres it is
    projected. *Good values:* |W| |U| about 1. *Fails:* with relu and gelu it can grow like `e^{|W||U|t}`.

    >>> import mfpde
    >>> mfpde.Mlp(W=2, U=1, b=[0.5], activation="relu").drift(mfpde.Line(), [0.5, -3.0])
    array([2., 0.])
    """

    citations: ClassVar[tuple[str, ...]] = ("vaswani2017",)
    kind: Literal["mlp"] = "mlp"
    W: MatrixInTime = Field(default=1.0, description="output matrix, (d, rows)")
    U: MatrixInTime = Field(default=1.0, description="input matrix, (rows, d)")
    b: Vector | None = Field(default=None, description="bias, one number for each row of U; 0 by default")
    c: Vector | None = Field(default=None, description="output bias, one number for each coordinate; 0 by default")
    activation: Literal["tanh", "relu", "gelu"] = Field(default="gelu", description="tanh, relu or gelu")

    @model_validator(mode="after")
    def _finite(self) -> Mlp:
        finite(self, ("W", "U"))
        for name, bias in (("b", self.b), ("c", self.c)):
            if bias is not None and not np.isfinite(bias).all():
                raise ValueError(f"{name} must be finite")
        return self

    @property
    def kinked(self) -> bool:
        return self.activation == "relu"

    def check_dimension(self, dimension: int) -> None:
        self._layers(dimension)
        self._output_bias(dimension)

    def outputs(self, x: Float) -> Float:
        outer, inner, bias = self._layers(x.shape[1])
        return _ACTIVATIONS[self.activation][0](x @ inner.T + bias) @ outer.T + self._output_bias(x.shape[1])

    def output_jacobians(self, x: Float) -> Float:
        outer, inner, bias = self._layers(x.shape[1])
        slopes = _ACTIVATIONS[self.activation][1](x @ inner.T + bias)
        return np.einsum("ih,mh,hj->mij", outer, slopes, inner, optimize=True)

    def _output_bias(self, dimension: int) -> Float:
        bias = np.zeros(dimension) if self.c is None else np.array(self.c)
        if bias.shape != (dimension,):
            raise ProblemError.at("drift.c", f"has shape {bias.shape}; tokens in R^{dimension} need {(dimension,)}")
        return bias

    def _layers(self, dimension: int) -> tuple[Float, Float, Float]:
        self.need_constant()
        inner = array_of("drift.U", self.U, dimension)
        outer = array_of("drift.W", self.W, inner.shape[0] if inner.ndim else dimension, dimension)
        rows = outer.shape[1] if outer.ndim else dimension
        inner = float(inner) * np.eye(dimension) if inner.ndim == 0 else inner
        outer = float(outer) * np.eye(dimension) if outer.ndim == 0 else outer
        bias = np.zeros(inner.shape[0]) if self.b is None else np.array(self.b)
        for name, array, wanted in (
            ("U", inner, (rows, dimension)),
            ("W", outer, (dimension, rows)),
            ("b", bias, (rows,)),
        ):
            if array.shape != wanted:
                raise ProblemError.at(
                    f"drift.{name}", f"has shape {array.shape}; tokens in R^{dimension} and {rows} rows need {wanted}"
                )
        return outer, inner, bias


def _gelu(z: Float) -> Float:
    return z * _normal(z)


def _gelu_slope(z: Float) -> Float:
    return _normal(z) + z * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


def _normal(z: Float) -> Float:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


_ACTIVATIONS: dict[str, tuple[Callable[[Float], Float], Callable[[Float], Float]]] = {
    "tanh": (np.tanh, lambda z: 1 / np.cosh(np.minimum(np.abs(z), 350.0)) ** 2),
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float)),
    "gelu": (_gelu, _gelu_slope),
}
