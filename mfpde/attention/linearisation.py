"""How all drifts of a set of tokens change when the tokens move, as queries and as keys: a linear map and its
transpose, of which no matrix is formed.

With scores `s_ij = <A x_i, y_j> + g_j` and kernels k(s), the mean `o_i = sum_j w_j k_ij y_j` of one head changes under
directions u by `sum_j D_ij t_ij (y_j - c_i) + sum_j P_ij u_j`: `P = w k`, `D = w k'(s)`, `t_ij = <A u_i, y_j> +
<A x_i, u_j> + dg_j`, c the mean o where the kernel is normalised and 0 where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mfpde.attention.base import Term
from mfpde.blas import blas_in_one_thread
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["HeadVariation", "Lift", "run_all"]

#: pairs of tokens: bounds memory
_PAIRS_PER_BLOCK = 2**20
#: of rows, each summed in a fixed order: the same bits on any number of threads
_BLOCK_GROUPS = 4
#: n^2 d beyond which all matrix products but the scores are in single precision, twice as fast: an operator right to
#: about 1e-6 in place of 1e-15
_MIN_WORK_SINGLE_PRECISION = 2**35
#: stands for log 0 where -inf times 0 would be NaN
_LOG_OF_ZERO = -1e300

#: what potentials add to the moves of a block of rows in the transpose
Lift = Callable[[slice, AnyArray], AnyArray]


class HeadVariation:
    """The derivative of one term's drifts of all nodes of a measure, `(n, d)`, in directions `(n, d)` of R^d."""

    def __init__(self, term: Term, measure: Measure) -> None:
        self.head, self.value = term.head, term.value
        self.x, self.weights = measure.embedded_nodes()
        count = self.x.shape[0]
        self.kind = np.float32 if count**2 * self.x.shape[1] > _MIN_WORK_SINGLE_PRECISION else np.float64
        self.positions = measure.positions if term.masked else None
        self.queries, self.keys = self.head.features(self.x.shape[1])
        self.tilts, self.marks = self.x @ self.queries.T, self.x @ self.keys.T
        self.form = self.head.key_form(self.x.shape[1])
        factors = self.head.log_factors(measure)
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) if self.head.normalised else np.zeros(count)
        logs = np.maximum(logs if factors is None else logs + factors, _LOG_OF_ZERO)
        # two more columns make the product of features the logarithm of P itself
        self.left = np.column_stack([self.tilts, np.ones(count), np.zeros(count)])
        self.right = np.column_stack([self.marks, logs, np.ones(count)])
        rows = max(1, _PAIRS_PER_BLOCK // count)
        self.blocks = [slice(start, min(start + rows, count)) for start in range(0, count, rows)]
        self.means = np.empty(self.x.shape)
        run_all(self._find_means, self.blocks)
        self.centre = self.means if self.head.normalised else np.zeros(self.x.shape)

    def _find_means(self, here: slice) -> None:
        if self.head.normalised:
            scores = self._scores(here)
            peak = scores.max(axis=1)
            scores -= peak[:, None]
            self.left[here, -1] = -peak - np.log(np.exp(scores, out=scores).sum(axis=1))
        self.means[here] = self.couplings(here)[0] @ self.x

    def product(self, directions: Float) -> Float:
        """What the drifts change by, `(n, d)`."""
        out, slopes = np.empty(self.x.shape), self.factor_slopes(directions)
        values = self._in_kind(self.x, np.ones(self.x.shape[0]))
        left, right = self.score_factors(directions)
        moved = directions.astype(self.kind)

        def work(here: slice) -> None:
            pairs, rates = self.couplings(here)
            moves = left[here] @ right.T
            if slopes is not None:
                moves += slopes
            moves *= rates
            summed = moves @ values
            out[here] = summed[:, :-1] + pairs @ moved - summed[:, -1:] * self.centre[here]

        run_all(work, self.blocks)
        return out @ self.value.T

    def transposed(self, covectors: Float) -> Float:
        """The transpose: `<covectors, product(u)> = <transposed(covectors), u>` for all u."""
        pulled = covectors @ self.value
        lift = self.score_lift(pulled)
        ones = np.ones(self.x.shape[0])
        values, marked = self._in_kind(self.x, ones), self._in_kind(self.tilts, ones)
        level = -np.sum(pulled * self.centre, axis=1)
        levelled, marks = self._in_kind(pulled, level), self.marks.astype(self.kind)
        size = -(-len(self.blocks) // _BLOCK_GROUPS)
        groups = [self.blocks[start : start + size] for start in range(0, len(self.blocks), size)]
        as_query = np.empty(self.tilts.shape)
        from_pairs, from_moves = np.zeros((len(groups), *self.x.shape)), np.zeros((len(groups), *marked.shape))

        def work(group: int) -> None:
            for here in groups[group]:
                pairs, rates = self.couplings(here)
                moves = levelled[here] @ values.T
                moves *= rates
                if lift is not None:
                    moves += lift(here, pairs)
                as_query[here] = moves @ marks
                from_moves[group] += moves.T @ marked[here]
                from_pairs[group] += pairs.T @ levelled[here, :-1]

        run_all(work, range(len(groups)))
        as_key = from_moves.sum(axis=0)
        out = as_query @ self.queries + as_key[:, :-1] @ self.keys + from_pairs.sum(axis=0)
        if self.form is not None:
            out -= 2 * as_key[:, -1:] * (self.x @ self.form)
        return out

    def couplings(self, here: slice) -> tuple[AnyArray, AnyArray]:
        """P and D of a block of rows."""
        scores = self._scores(here)
        if self.head.normalised:
            pairs = np.exp(scores, out=scores).astype(self.kind, copy=False)
            return pairs, pairs
        pairs, rates = self.head.couplings(scores, self.weights)
        if self.positions is not None:
            seen = self.positions[here, None] >= self.positions
            pairs, rates = pairs * seen, rates * seen
        return pairs.astype(self.kind, copy=False), rates.astype(self.kind, copy=False)

    def _scores(self, here: slice) -> Float:
        scores = self.left[here] @ self.right.T
        if self.positions is not None and self.head.normalised:
            scores[self.positions[here, None] < self.positions] = _LOG_OF_ZERO
        return scores

    def _in_kind(self, columns: Float, last: Float) -> AnyArray:
        return np.column_stack([columns, last]).astype(self.kind)

    def score_factors(self, directions: Float) -> tuple[AnyArray, AnyArray]:
        """L and R with `L R^T = <A u_i, y_j> + <A x_i, u_j>`: one product of matrices."""
        left = np.hstack([directions @ self.queries.T, self.tilts])
        return left.astype(self.kind), np.hstack([self.marks, directions @ self.keys.T]).astype(self.kind)

    def factor_slopes(self, directions: Float) -> Float | None:
        """dg at the keys when all tokens move, `(n,)`; None is 0."""
        return None if self.form is None else -2 * np.sum((self.x @ self.form) * directions, axis=1)

    def score_lift(self, pulled: Float) -> Lift | None:
        """What a dg that depends on all tokens adds to the moves of a block of rows in the transpose."""
        return None


def run_all(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    """Work on the items in all threads, with a BLAS of one thread: results do not depend on their number."""
    from mfpde.transform.threads import run_pieces

    with blas_in_one_thread():
        run_pieces(lambda piece: work(items[piece]), len(items))
