"""What observables of tokens have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.contracts.observable import Instant, Observable
from mfpde.errors import ProblemError
from mfpde.measure import Measure, Particles
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["MOST_OF_MATRIX", "OfAttention", "OfTokens", "seen_tokens", "unit_vectors"]

#: tokens whose attention matrix is made
MOST_OF_MATRIX = 4096


class OfTokens(Observable):
    """Something that point masses have, and densities have not."""

    looks_at: ClassVar[tuple[str, ...]] = ("particles",)


class OfAttention(OfTokens):
    """Something of the attention matrices `P_ij = k(x_i, x_j) w_j / sum_j' k(x_i, x_j') w_j'`, of several heads the
    mean."""

    def unfit(self, equation: Equation) -> str | None:
        misplaced = super().unfit(equation)
        if misplaced is not None:
            return misplaced
        terms = () if equation.attention is None else equation.attention.terms(equation.geometry.ambient_dimension)
        if terms and all(term.head.normalised or term.head.tilts for term in terms):
            return None
        return "it tells of attention whose rows are probabilities (softmax, l2, sinkhorn, unnormalized)"

    def most_tokens(self, equation: Equation) -> int | None:
        return MOST_OF_MATRIX

    def matrices(self, instant: Instant) -> list[Float]:
        """P of each head, `(n, n)`."""
        reason, attention = self.unfit(instant.equation), instant.equation.attention
        if attention is None or reason is not None:
            raise ProblemError.at("observe", f"{self.kind}: {reason}")
        measure = seen_tokens(instant)
        attention.prepare(measure)
        found = [term.pair_matrix(measure) for term in attention.terms(measure.ambient_dimension)]
        return [pairs / pairs.sum(axis=1, keepdims=True) for pairs in found]


def seen_tokens(instant: Instant) -> Measure:
    """Tokens as attention sees them, after the normalization of the equation."""
    scheme, measure = instant.equation.normalization, instant.measure
    if scheme is None:
        return measure
    vectors, weights = measure.embedded_nodes()
    if instant.equation.geometry.flat:
        vectors = scheme.directions(vectors)
    return Particles(scheme.seen(vectors), weights, positions=measure.positions)


def unit_vectors(instant: Instant) -> tuple[Float, Float]:
    """Directions of the tokens `(n, d)` and their weights; tokens at 0 have none and are left out."""
    vectors, weights = instant.measure.embedded_nodes()
    lengths = np.linalg.norm(vectors, axis=1)
    there = lengths > 0
    return vectors[there] / lengths[there, None], weights[there] / weights[there].sum()
