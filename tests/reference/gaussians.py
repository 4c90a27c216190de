"""Gaussians in long double by another method than mfpde's: extrapolated midpoint steps of the moment equations.

The formulas for c and B are those of physics.md, section 4, without linear algebra libraries (which know no long
double): inverses and square roots of 2 x 2 matrices are closed forms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference.closed_forms import AnyArray, extrapolated_midpoint

#: (m, S) -> (c, B)
Affine = Callable[[AnyArray, AnyArray], tuple[AnyArray, AnyArray]]
LONG = np.longdouble


def inverse(matrix: AnyArray) -> AnyArray:
    """Of a 2 x 2 matrix."""
    (a, b), (c, d) = matrix
    return np.array([[d, -b], [-c, a]]) / (a * d - b * c)


def square_root(matrix: AnyArray) -> AnyArray:
    """Of a 2 x 2 matrix with positive eigenvalues, by Cayley and Hamilton."""
    (a, b), (c, d) = matrix
    root = np.sqrt(a * d - b * c)
    return (matrix + root * np.eye(2)) / np.sqrt(a + d + 2 * root)


def softmax(A: Any, V: Any) -> Affine:
    A, V = np.array(A, LONG), np.array(V, LONG)
    return lambda m, S: (V @ (m + S @ A @ m), V @ S @ A)


def l2(Q: Any, K: Any, V: Any) -> Affine:
    Q, K, V = (np.array(each, LONG) for each in (Q, K, V))

    def affine(m: AnyArray, S: AnyArray) -> tuple[AnyArray, AnyArray]:
        shrunk = V @ inverse(np.eye(2) + 2 * S @ K.T @ K)
        return shrunk @ (m + 2 * S @ K.T @ Q @ m), 2 * shrunk @ S @ K.T @ Q

    return affine


def sinkhorn(A: Any, V: Any) -> Affine:
    A, V = np.array(A, LONG), np.array(V, LONG)

    def affine(m: AnyArray, S: AnyArray) -> tuple[AnyArray, AnyArray]:
        root = square_root(np.eye(2) + 4 * S @ A @ S @ A.T)
        return V @ m, 2 * V @ inverse(np.eye(2) + root) @ S @ A

    return affine


def linear(A: Any, V: Any) -> Affine:
    A, V = np.array(A, LONG), np.array(V, LONG)

    def affine(m: AnyArray, S: AnyArray) -> tuple[AnyArray, AnyArray]:
        B = V @ (S + np.outer(m, m)) @ A
        return B @ m, B

    return affine


def several(*parts: Affine) -> Affine:
    """Multi-head: the sum."""

    def affine(m: AnyArray, S: AnyArray) -> tuple[AnyArray, AnyArray]:
        found = [part(m, S) for part in parts]
        return sum(c for c, _ in found), sum(B for _, B in found)

    return affine


def moved(affine: Affine, mean: Any, covariance: Any, until: float, kappa: float = np.inf) -> tuple[AnyArray, AnyArray]:
    """Mean and covariance at `until`."""
    m0, S0 = np.array(mean, LONG), np.array(covariance, LONG)
    d = m0.size

    def rhs(state: AnyArray) -> AnyArray:
        m, S = state[:d], state[d:].reshape(d, d)
        c, B = affine(m, S)
        return np.concatenate([c, (B @ S + S @ B.T + 2 / LONG(kappa) * np.eye(d)).ravel()])

    state = extrapolated_midpoint(rhs, np.concatenate([m0, S0.ravel()]), until, max(4, int(np.ceil(12 * until))))
    return state[:d].astype(float), state[d:].reshape(d, d).astype(float)
