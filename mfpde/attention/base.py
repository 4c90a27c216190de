"""Attention: kernels between tokens, weighed by value matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.affine import AffineDrift
from mfpde.attention.law import Law, concrete
from mfpde.attention.masking import positions_of, visible_groups
from mfpde.attention.matrices import finite, square
from mfpde.coefficients import MatrixInTime
from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Geometry, Queries, Scattered
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.attention.head import Head
    from mfpde.attention.layer import LipschitzConstant

__all__ = ["Attention", "Term"]


@dataclass(frozen=True, eq=False)
class Term:
    """One kernel of an attention, the matrix `W V` that its mean is multiplied with, and whether positions mask it."""

    head: Head
    value: Float
    masked: bool = False

    def means(self, measure: Measure, queries: Queries, positions: AnyArray | None) -> Float:
        """`int k(x, y) y dmu(y)`, `(d, *shape)`."""
        if not self.masked:
            return self.head.means(measure, queries)
        return self.head.masked_means(measure, queries, positions_of(measure, queries, positions))

    def plain_means(self, measure: Measure, points: Float, positions: AnyArray | None) -> Float:
        """The same by plain sums."""
        return self._by_positions(self.head.plain_means, measure, points, positions)

    def pair_matrix(self, measure: Measure) -> Float:
        """`k(x_i, y_j) w_j` between the measure's nodes, 0 where positions mask it."""
        if not self.masked:
            return self.head.pair_matrix(measure)
        positions = positions_of(measure, measure.space.queries(measure.nodes()[0]), None)
        matrix = np.zeros((positions.size, positions.size))
        for rows, seen, share in visible_groups(measure, positions):
            there = positions <= positions[rows[0]]
            picked = np.searchsorted(np.flatnonzero(there), rows)
            matrix[np.ix_(rows, there)] = self.head.share_of(share) * self.head.pair_matrix(seen)[picked]
        return matrix

    def mean_jacobians(self, measure: Measure, points: Float, positions: AnyArray | None) -> Float:
        """`D_x int k(x, y) y dmu(y)`, `(m, d, d)`."""
        return self._by_positions(self.head.mean_jacobians, measure, points, positions)

    def _by_positions(
        self, asked: Callable[[Measure, Float], Float], measure: Measure, points: Float, positions: AnyArray | None
    ) -> Float:
        """What is asked of a measure at points, of what each of them sees of it."""
        if not self.masked:
            return asked(measure, points)
        groups = list(visible_groups(measure, positions_of(measure, measure.space.queries(points), positions)))
        parts = [self.head.share_of(share) * asked(seen, points[rows]) for rows, seen, share in groups]
        return np.concatenate(parts)[np.argsort(np.concatenate([rows for rows, _, _ in groups]))]


class Attention(Law):
    """A sum of kernels, each with a value matrix: `G_mu(x) = sum_h W_h V_h int k_h(x, y) y dmu(y)`, projected on
    spheres (physics section 2)."""

    weight: MatrixInTime | None = Field(default=None, description="W_h of a head of multi-head attention, default 1")

    @model_validator(mode="after")
    def _finite_weight(self) -> Self:
        finite(self, ("weight",))
        return self

    @abstractmethod
    def own_terms(self, dimension: int) -> list[Term]:
        """Its kernels with their value matrices for tokens in R^d, before its weight."""

    def terms(self, dimension: int) -> tuple[Term, ...]:
        """Its kernels with their value matrices `W V` for tokens in R^d, found once."""
        if dimension not in self._terms_of:
            self._terms_of[dimension] = self._weighted_terms(dimension)
        return self._terms_of[dimension]

    @cached_property
    def _terms_of(self) -> dict[int, tuple[Term, ...]]:
        """Those for the dimensions that were asked for."""
        return {}

    def _weighted_terms(self, dimension: int) -> tuple[Term, ...]:
        self.need_constant()
        own = self.own_terms(dimension)
        if self.weight is None:
            return tuple(own)
        weight = square("weight", self.weight, dimension)
        return tuple(Term(term.head, weight @ term.value, term.masked) for term in own)

    def slices(self) -> tuple[float, ...] | None:
        """Positions at which the density of tokens is known, where it acts between tokens that have some."""
        return None

    def faults(self, path: tuple[str | int, ...]) -> list[Fault]:
        """What is wrong with how it is put together, below that path."""
        return []

    @property
    def symmetries(self) -> frozenset[str]:
        """What its drift goes along with: `permutations` of the tokens; `linear maps` x -> Tx, which `in_coordinates`
        describes; `translations`, `G_{mu + c}(x + c) = G_mu(x) + V c`."""
        return frozenset({"permutations"})

    def in_coordinates(self, matrix: AnyArray) -> Self:
        """The same attention in the coordinates `x' = T x`: its drift of T mu at T x is T times the drift of mu at x.

        For an orthogonal T that commutes with its matrices it is the same law.
        """
        raise ProblemError.at("attention", f"{type(self).__name__} does not say what it is in other coordinates")

    def check_constant(self, geometry: Geometry) -> None:
        for term in self.terms(geometry.ambient_dimension):
            term.head.check_head(geometry)

    def check_speed(self, geometry: Geometry) -> None:
        for term in self.terms(geometry.ambient_dimension):
            term.head.check_speed(geometry)

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        for term in self.terms(measure.ambient_dimension):
            if term.head is not self:
                for seen, before in _views(measure, previous) if term.masked else [(measure, previous)]:
                    term.head.prepare(seen, before)

    def check_scores(self, measure: Measure, queries: Queries) -> None:
        for term in self.terms(measure.ambient_dimension):
            if term.head is not self:
                term.head.check_scores(measure, queries)

    def outputs(self, measure: Measure, queries: Queries, positions: AnyArray | None = None) -> Float:
        terms = self.terms(measure.ambient_dimension)
        parts = [queries.transformed(term.value, term.means(measure, queries, positions)) for term in terms]
        return sum(parts[1:], parts[0])

    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        measure = concrete(measure)
        x = measure.space.points(points)
        queries, output = (
            Scattered(x, measure.space, np.shape(points)),
            np.zeros((x.shape[0], measure.ambient_dimension)),
        )
        for term in self.terms(measure.ambient_dimension):
            output += term.plain_means(measure, x, positions) @ term.value.T
        return queries.answered(queries.tangent(output.T))

    def output_jacobians(self, measure: Measure, points: Float, positions: AnyArray | None = None) -> Float:
        dimension = measure.ambient_dimension
        slopes = np.zeros((points.shape[0], dimension, dimension))
        for term in self.terms(dimension):
            slopes += term.value @ term.mean_jacobians(measure, points, positions)
        return slopes

    def matrix(self, measure: Measure) -> Float:
        """`k(x_i, y_j) w_j` between the measure's own nodes, `(n, n)`, rows of sum 1 where k is normalised; of several
        heads `(heads, n, n)`. For looking at it: n^2 numbers."""
        measure = concrete(measure)
        matrices = [term.pair_matrix(measure) for term in self.terms(measure.ambient_dimension)]
        return matrices[0] if len(matrices) == 1 else np.stack(matrices)

    def jacobian_product(self, measure: Measure, directions: AnyArray, transpose: bool = False) -> Float:
        """What all drifts `G_mu(x_i)` of the measure's nodes change by when the nodes move in these `directions`, in
        their shape `(n, d)`: as queries and as keys. With `transpose`, the transposed map.

        Time n^2 d, memory n d: no matrix is formed (sinkhorn keeps its kernel, n^2). On spheres directions are tangent
        and derivatives covariant.
        """
        from mfpde.attention.layer import Layer

        layer = Layer(self, measure)
        change = layer.transposed(directions) if transpose else layer.product(directions)
        return change.reshape(np.shape(directions))

    def lipschitz(
        self, measure: Measure, tolerance: float = 1e-6, seed: int = 0, iterations: int = 300
    ) -> LipschitzConstant:
        """The local Lipschitz constant of one layer, `x -> (G_mu(x_i))_i` for the measure's nodes, in the norm `|x|^2 =
        sum_i w_i |x_i|^2` (equal weights: the Euclidean one of [castin2024]): the largest singular value of its
        derivative, to a relative error of about `tolerance`.

        A float with `error`, `iterations`, `converged` and `direction`. Iterative, from a random start of that `seed`;
        never forms the derivative, whose n d columns would not fit: 1e4 tokens of 768 dimensions take minutes.
        """
        from mfpde.attention.layer import Layer

        return Layer(self, measure).lipschitz(tolerance, seed, iterations)

    def gaussian_unfit(self, dimension: int) -> str | None:
        reasons = [
            "its tokens have positions" if term.masked else term.head.gaussian_unfit_head
            for term in self.terms(dimension)
        ]
        return next(filter(None, reasons), None)

    def gaussian_drift(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        reason = self.gaussian_unfit(mean.size)
        if reason is not None:
            raise ProblemError.at("attention", f"has no closed form for Gaussians: {reason}")
        total = AffineDrift(np.zeros(mean.size), np.zeros((mean.size, mean.size)))
        for term in self.terms(mean.size):
            total = total + term.head.gaussian_mean(mean, covariance, factor).times(term.value)
        return total


def _views(measure: Measure, previous: Measure | None) -> Iterator[tuple[Measure, Measure | None]]:
    """What positions see of the measure, and saw of an earlier one, where that is kept."""
    for position in measure.views:
        yield (
            measure.up_to(position)[0],
            previous.up_to(position)[0] if previous is not None and previous.views else None,
        )
