"""What attention through `<Ax, y>` is written with."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.head import Head
from mfpde.attention.matrices import as_rows, moved, one_way_to_say_it, product, rectangular, same_rows, square
from mfpde.coefficients import MatrixInTime, NumberInTime
from mfpde.geometry import multiple_of_identity
from mfpde.typing import AnyArray, Float

__all__ = ["Bilinear"]


class Bilinear(Head):
    """Attention through `<Ax, y>`, A multiplying the query x; `A = K^T Q`, or `beta` for A = beta I, V = I."""

    beta: NumberInTime | None = Field(default=None, description="inverse temperature, not negative: A = beta I, V = I")
    A: MatrixInTime | None = Field(default=None, description="the matrix of `<Ax, y>`; it multiplies the query x")
    Q: MatrixInTime | None = Field(default=None, description="query matrix; with K, `A = K^T Q`")
    K: MatrixInTime | None = Field(default=None, description="key matrix")
    V: MatrixInTime = Field(default=1.0, description="value matrix")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Bilinear:
        one_way_to_say_it(self)
        return self

    def check_shapes(self, dimension: int) -> None:
        if self.Q is not None and self.K is not None:
            same_rows(self.K, self.Q, dimension)
        else:
            square("A", self.beta if self.A is None else self.A, dimension)

    def query_matrix(self, dimension: int) -> Float:
        if self.Q is not None and self.K is not None:
            return product(self.K, self.Q, dimension)
        return square("A", self.beta if self.A is None else self.A, dimension)

    def features(self, dimension: int) -> tuple[Float, Float]:
        if self.Q is None or self.K is None:
            return super().features(dimension)
        return rectangular("Q", self.Q, dimension), rectangular("K", self.K, dimension)

    @property
    def symmetries(self) -> frozenset[str]:
        return frozenset({"permutations", "linear maps"})

    def in_coordinates(self, matrix: AnyArray) -> Self:
        back = np.linalg.inv(matrix)
        query = as_rows(back.T @ self.query_matrix(back.shape[0]) @ back)
        return self.altered({"beta": None, "Q": None, "K": None, "A": query, **moved(self, matrix, "V")})

    def value_matrix(self, dimension: int) -> Float:
        return square("V", self.V, dimension)

    def multiples(self, dimension: int) -> tuple[float, float] | None:
        """a and c of `A = a I` and `V = c I`, its weight included, where they are that on R^d."""
        query, value = self.query_matrix(dimension), self.terms(dimension)[0].value
        found = multiple_of_identity(query), multiple_of_identity(value)
        return None if found[0] is None or found[1] is None else (found[0], found[1])

    def scores(self, queries: Float, keys: Float) -> Float:
        """`<A x_i, y_j>`, `(m, n)`."""
        return queries @ self.query_matrix(queries.shape[1]).T @ keys.T
