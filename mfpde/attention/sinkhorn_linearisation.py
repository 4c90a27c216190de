"""The derivative of doubly stochastic attention, whose potentials depend on all tokens."""

from __future__ import annotations

import numpy as np

from mfpde.attention.base import Term
from mfpde.attention.linearisation import HeadVariation, Lift, run_all
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.typing import Float

__all__ = ["BalancedVariation"]

#: the kernel is a matrix of 8 n^2 bytes
_MAX_TOKENS = 12_000
#: of conjugate gradients for the potentials: relative residual, and iterations
_RESIDUAL, _MAX_STEPS = 1e-13, 2000


class BalancedVariation(HeadVariation):
    """Potentials by differentiating what defines them: `(I - P* P) dg = P* a - b`, a and b the means of the slopes of
    the scores t over keys and over queries, P the kernel as an operator and P* its adjoint with respect to mu."""

    def __init__(self, term: Term, measure: Measure) -> None:
        if term.masked:
            raise ProblemError.at("attention", "the derivative of masked sinkhorn attention is not known")
        super().__init__(term, measure)
        count = self.x.shape[0]
        if count > _MAX_TOKENS:
            raise ProblemError.at(
                "measure", f"has {count} nodes: the derivative of sinkhorn attention needs 8 n^2 bytes; take samples"
            )
        self.kernel = np.empty((count, count))

        def work(here: slice) -> None:
            self.kernel[here] = self.couplings(here)[0]

        run_all(work, self.blocks)
        self._root = np.sqrt(self.weights)

    def factor_slopes(self, directions: Float) -> Float:
        over_keys = np.empty(self.x.shape[0])
        parts = np.empty((len(self.blocks), self.x.shape[0]))
        left, right = self.score_factors(directions)

        def work(block: int) -> None:
            here = self.blocks[block]
            slopes = self.kernel[here] * (left[here] @ right.T)
            over_keys[here] = slopes.sum(axis=1)
            parts[block] = self.weights[here] @ slopes

        run_all(work, range(len(self.blocks)))
        return self._solved((self.weights * over_keys) @ self.kernel - parts.sum(axis=0))

    def score_lift(self, pulled: Float) -> Lift:
        wanted = np.sum((self.kernel.T @ pulled) * self.x, axis=1)
        wanted -= self.kernel.T @ np.sum(pulled * self.centre, axis=1)
        potential = self._solved(wanted)
        averaged = self.kernel @ potential
        return lambda here, pairs: (
            (self.weights[here] * averaged[here])[:, None] * pairs - (self.weights[here, None] * pairs * potential)
        )

    def _solved(self, wanted: Float) -> Float:
        """q with `w (I - P* P) q = wanted`, of mean 0, by conjugate gradients for `sqrt(w) q`."""
        inverse = np.divide(1.0, self._root, out=np.zeros_like(self._root), where=self._root > 0)

        def apply(vector: Float) -> Float:
            return vector - inverse * ((self.weights * (self.kernel @ (inverse * vector))) @ self.kernel)

        right = inverse * wanted
        right -= self._root * (self._root @ right) / self.weights.sum()
        solution, residual = np.zeros_like(right), right.copy()
        direction, size = residual.copy(), float(right @ right)
        goal = _RESIDUAL**2 * size
        for _ in range(_MAX_STEPS):
            if size <= goal:
                return inverse * solution
            image = apply(direction)
            length = size / float(direction @ image)
            solution += length * direction
            residual -= length * image
            residual -= self._root * (self._root @ residual) / self.weights.sum()
            size, before = float(residual @ residual), size
            direction = residual + (size / before) * direction
        raise ProblemError.at(
            "attention", "the derivative of the potentials of sinkhorn attention cannot be found: A is too large"
        )
