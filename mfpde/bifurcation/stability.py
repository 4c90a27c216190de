"""Unstable directions of a state, counted from symmetric matrices at roundoff, one for each symmetry.

For gradient laws the linearised operator is `-A B`, A positive and `B = 1/(kappa mu) - W*` the second derivative of the
free energy, so that growing directions are the negative ones of B (Sylvester). Haynsworth's inertia formula counts
them on as many degrees as the law has: `sign(h) - |h|^{1/2} kappa Cov |h|^{1/2}`. For softmax attention the same matrix
(with phi' in the covariance) says where an eigenvalue passes through zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mfpde.bifurcation.quadrature import harmonic_count
from mfpde.bifurcation.states import State
from mfpde.typing import Float

__all__ = ["Block", "blocks", "instability"]


_ROUNDOFF = 3e-16  # of an eigenvalue, for each row: the matrices have norms about 1


@dataclass(frozen=True, eq=False)
class Block:
    """The matrix of one symmetry: azimuthal order and residue of the degree; `null` degrees are those of its rows."""

    order: int
    residue: int
    degrees: Float
    matrix: Float
    hidden: int
    multiplicity: int

    def eigenvalues(self) -> Float:
        """Ascending, those that are negative for every state (repelling degrees) left out."""
        values: Float = np.asarray(np.linalg.eigvalsh(self.matrix), dtype=np.float64)
        return values[self.hidden :]

    def negative(self) -> int:
        """How many of them are negative.

        What lies below roundoff has no sign. Where a symmetry is broken it is a motion of far clusters against each
        other, which attract: unstable. Of the full symmetry it is the direction of a vertical branch: not unstable.
        """
        noise = _ROUNDOFF * self.degrees.size
        own = self.order == 0 and self.residue == 0
        limit = -noise if own else noise
        if not self.hidden and _positive(self.matrix, limit):
            return 0
        return int((self.eigenvalues() < limit).sum())


def _positive(matrix: Float, limit: float) -> bool:
    """Whether all eigenvalues are above a limit: a Cholesky factor is found sooner than they are."""
    try:
        np.linalg.cholesky(matrix - limit * np.eye(matrix.shape[0]))
    except np.linalg.LinAlgError:
        return False
    return True


def instability(state: State, stride: int = 1) -> int:
    """The number of unstable directions, with multiplicity; for softmax, of eigenvalues that have crossed zero."""
    return sum(block.negative() * block.multiplicity for block in blocks(state, stride))


def blocks(state: State, stride: int = 1) -> Iterator[Block]:
    """The blocks that can hold a negative direction; `stride` is the state's own symmetry, of which its moments are
    multiples."""
    multipliers = state.model.multipliers
    dimension = multipliers.dimension
    highest = state.probability / state.rule.weights * state.model.slope(state.q)
    for order in range(2 if dimension == 2 else multipliers.top + 1):
        reach = state.model.kappa * multipliers.relative[max(order, 1) :].max(initial=0.0)
        if reach * highest.max() < 1:  # Cov <= max(mu): nothing can be negative from this order on
            return
        count = int(harmonic_count(dimension - 1, order))
        found = [_block(state, order, residue, stride, count) for residue in range(stride // 2 + 1)]
        yield from (block for block in found if block.degrees.size)


def _block(state: State, order: int, residue: int, stride: int, multiplicity: int) -> Block:
    relative = state.model.multipliers.relative.copy()
    softened = state.model.softness != 0 and order == 0 and residue == 0
    if softened:
        # the mass as one more unknown: its direction (a scaling of mu) is known and taken out again
        relative[0] = 1 / state.model.softness
    degree = np.arange(relative.size)
    apart = degree % stride
    degrees = degree[
        (degree >= max(order, 0 if softened else 1))
        & (relative != 0)
        & ((apart == residue) | (apart == stride - residue))
    ]
    if not degrees.size:
        return Block(order, residue, degrees, np.zeros((0, 0)), 0, multiplicity)
    pull = state.model.kappa * state.model.slope(state.q) * state.probability
    covariance = state.rule.products(pull, degrees, order)
    if order == 0 and residue == 0 and not softened:
        table = state.rule.table(state.model.multipliers.top)[:, degrees]
        covariance -= np.outer(table.T @ state.probability, table.T @ pull)
    size, sign = np.sqrt(np.abs(relative[degrees])), np.sign(relative[degrees])
    matrix = np.diag(sign) - size[:, None] * (0.5 * (covariance + covariance.T)) * size
    hidden = int((sign < 0).sum())
    if softened:
        known = size * state.b[degrees]
        matrix = without(matrix, known)
        hidden -= int(known @ (sign * known) < 0)
    elif order == 1 and residue == 0 and np.any(state.b[degrees]):
        # the derivative of mu by a rotation is a null vector
        slopes = np.sqrt(degrees * (degrees + state.rule.dimension - 2.0))
        matrix = without(matrix, sign * size * slopes * state.b[degrees])
    return Block(order, residue, degrees, matrix, hidden, multiplicity)


def without(matrix: Float, vector: Float) -> Float:
    """The matrix on the orthogonal complement of a vector (Householder)."""
    reflect = complement(vector)
    return reflect.T @ matrix @ reflect


def complement(vector: Float) -> Float:
    """An orthonormal basis, in columns, of what is orthogonal to a vector."""
    v = vector / np.linalg.norm(vector)
    pivot = int(np.argmax(np.abs(v)))
    sign = 1.0 if v[pivot] >= 0 else -1.0
    v = v.copy()
    v[pivot] += sign
    basis = np.eye(v.size) - np.outer(v, v) * (2 / (v @ v))
    return np.delete(basis, pivot, axis=1)
