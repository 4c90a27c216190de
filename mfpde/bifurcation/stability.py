"""Unstable directions of a state, counted from symmetric matrices at roundoff, one for each symmetry.

For gradient laws the linearised operator is `-A B`, A positive and `B = 1/(kappa mu) - W*` the second derivative of the
free energy, so that growing directions are the negative ones of B (Sylvester). Haynsworth's inertia formula counts
them on as many degrees as the law has: `sign(h) - |h|^{1/2} kappa Cov |h|^{1/2}`. For softmax attention the same matrix
(with phi' in the covariance) says where an eigenvalue passes through zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dsytrf

from mfpde.bifurcation.multipliers import Multipliers
from mfpde.bifurcation.quadrature import harmonic_count
from mfpde.bifurcation.states import State
from mfpde.typing import AnyArray, Float

__all__ = ["Block", "blocks", "instability"]


_ROUNDOFF = 3e-16  # of an eigenvalue, for each row: the matrices have norms about 1


@dataclass(frozen=True, eq=False)
class Block:
    """The matrix of one symmetry: azimuthal order and residue of the degree; `null` degrees are those of its rows."""

    order: int
    residue: int
    degrees: AnyArray
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
        return max(_negative(self.matrix, limit) - self.hidden, 0)


def _negative(matrix: Float, limit: float) -> int:
    """How many eigenvalues are below a limit, by Sylvester's law from a factorisation: Cholesky's, which is found
    soonest, or `L D L^T`, where each block of two rows in D has one eigenvalue of each sign."""
    if not matrix.size:
        return 0
    shifted = matrix.copy()
    shifted.reshape(-1)[:: matrix.shape[0] + 1] -= limit
    if dpotrf(shifted)[1] == 0:
        return 0
    factor, pivots, _ = dsytrf(shifted)
    single = pivots > 0
    return int((factor.diagonal()[single] < 0).sum()) + int((~single).sum()) // 2


def instability(state: State, stride: int = 1) -> int:
    """The number of unstable directions, with multiplicity; for softmax, of eigenvalues that have crossed zero."""
    return sum(block.negative() * block.multiplicity for block in blocks(state, stride))


def blocks(state: State, stride: int = 1) -> Iterator[Block]:
    """The blocks that can hold a negative direction; `stride` is the state's own symmetry, of which its moments are
    multiples."""
    model, multipliers = state.model, state.model.multipliers
    dimension = multipliers.dimension
    highest = state.probability / state.rule.weights
    peak = model.kappa * float((highest if model.softness == 0 else highest * model.slope(state.q)).max())
    for order in range(2 if dimension == 2 else multipliers.top + 1):
        if peak * multipliers.largest_from(max(order, 1)) < 1:  # Cov <= max(mu): nothing can be negative from here on
            return
        count = int(harmonic_count(dimension - 1, order))
        found = [_block(state, order, residue, stride, count) for residue in range(stride // 2 + 1)]
        yield from (block for block in found if block.degrees.size)


class _Rows(NamedTuple):
    """What depends on the law only: degrees of one symmetry, `|h|^{1/2}` and the sign of each, `-|h_j h_k|^{1/2}`,
    derivatives of p_l by rotations times sign and `|h|^{1/2}`."""

    degrees: AnyArray
    size: Float
    sign: Float
    both: Float
    turning: Float


@lru_cache(maxsize=512)
def _rows(multipliers: Multipliers, order: int, residue: int, stride: int, softened: bool) -> _Rows:
    relative = multipliers.relative.copy()
    if softened:
        # the mass as one more unknown: its direction (a scaling of mu) is known and taken out again
        relative[0] = 1 / (multipliers.softness * multipliers.scale)
    degree = np.arange(relative.size)
    apart = degree % stride
    degrees = degree[
        (degree >= max(order, 0 if softened else 1))
        & (relative != 0)
        & ((apart == residue) | (apart == stride - residue))
    ]
    size, sign = np.sqrt(np.abs(relative[degrees])), np.sign(relative[degrees])
    turning = sign * size * np.sqrt(degrees * (degrees + multipliers.dimension - 2.0))
    return _Rows(degrees, size, sign, -np.outer(size, size), turning)


def _block(state: State, order: int, residue: int, stride: int, multiplicity: int) -> Block:
    model = state.model
    softened = model.softness != 0 and order == 0 and residue == 0
    rows = _rows(model.multipliers, order, residue, stride, softened)
    degrees = rows.degrees
    if not degrees.size:
        return Block(order, residue, degrees, np.zeros((0, 0)), 0, multiplicity)
    pull = state.probability if model.softness == 0 else model.slope(state.q) * state.probability
    matrix = state.rule.products(pull, degrees, order)
    if order == 0 and residue == 0 and not softened:
        mean = state.rule.columns(degrees).T @ state.probability
        matrix -= mean[:, None] * mean
    matrix *= rows.both
    matrix *= model.kappa
    matrix.reshape(-1)[:: degrees.size + 1] += rows.sign
    hidden = int((rows.sign < 0).sum())
    if softened:
        known = rows.size * state.b[degrees]
        matrix = without(matrix, known)
        hidden -= int(known @ (rows.sign * known) < 0)
    elif order == 1 and residue == 0:
        null = rows.turning * state.b[degrees]
        length = float(null @ null)
        if length:  # the derivative of mu by a rotation is a null vector: it is moved to 1
            matrix += null[:, None] * (null / length)
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
