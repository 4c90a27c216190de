"""The Gaussian measure."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Geometry, euclidean, need_space
from mfpde.measure.initial.base import Initial, fields_like_properties
from mfpde.measure.normal import Normal
from mfpde.registry import register
from mfpde.specification import Matrix, Real, Vector

__all__ = ["Gaussian"]

#: of the smallest to the largest eigenvalue: below it the smallest is rounding
_SINGULAR_RATIO = 1e-15


with fields_like_properties("mean", "covariance"):

    @register("initial", "gaussian")
    class Gaussian(Initial):
        """`N(m, S)`, density `e^{-<x - m, S^{-1} (x - m)> / 2} / sqrt(det(2 pi S))`, on the line, the plane, any R^d.

        `covariance` S is symmetric and positive semi-definite, or a number, for that multiple of the identity. Good
        values: any. Fails: a singular S has no density, so that only particles and closed forms can follow it.

        >>> gaussian = Gaussian(mean=[0.5, 0], covariance=[[1, 0.3], [0.3, 0.5]])
        >>> gaussian.log_laplace([[1.0, 0.0]])          # <w, m> + <w, S w> / 2
        array([1.])
        >>> gaussian.covariance
        array([[1. , 0.3],
               [0.3, 0.5]])
        """

        kind: Literal["gaussian"] = "gaussian"
        mean: Real | Vector = Field(description="m; a number on the line")
        covariance: Matrix = Field(description="S; or a number, for that multiple of the identity")

        @property
        def density_unfit(self) -> str | None:
            given = self.__dict__["covariance"]  # of any dimension where it is a number
            values = np.linalg.eigvalsh(self.covariance) if isinstance(given, tuple) else (given, given)
            singular = values[-1] >= 0 and abs(values[0]) <= _SINGULAR_RATIO * values[-1]
            return "a Gaussian on a point or a line has no density" if singular else None

        def natural_geometry(self) -> Geometry:
            dimension = np.size(self.__dict__["mean"])
            return euclidean(dimension)

        def on(self, geometry: Geometry) -> Normal:
            need_space(geometry)
            if not geometry.flat:
                raise self.unfit(geometry, "von-mises")
            try:
                return Normal(self.__dict__["mean"], self.__dict__["covariance"], geometry)
            except ProblemError as error:
                raise ProblemError(Fault(("initial", *fault.path), fault.message) for fault in error.faults) from None
