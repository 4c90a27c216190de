"""Attention between particles of R^d, matrices A and V (physics.md, section 2): A multiplies the query."""

import math

import numpy as np
import pytest

import mfpde

TOKENS = np.array([[1.0, 0.2], [-0.5, 0.7], [0.3, -1.1]])
WEIGHTS = np.array([0.5, 0.2, 0.3])
QUERIES = np.array([[0.4, -0.3], [1.5, 2.0]])
A = [[1.0, 0.5], [-0.25, 2.0]]
V = [[0.5, -1.0], [2.0, 0.1]]


def by_loops(normalised: bool, A, V) -> np.ndarray:
    result = np.zeros_like(QUERIES)
    for i, x in enumerate(QUERIES):
        total = 0.0
        for y, w in zip(TOKENS, WEIGHTS, strict=True):
            score = sum(A[r][c] * x[c] * y[r] for r in range(2) for c in range(2))  # <Ax, y>
            k = w * math.exp(score)
            total += k
            result[i] += [k * (V[r][0] * y[0] + V[r][1] * y[1]) for r in range(2)]
        if normalised:
            result[i] /= total
    return result


@pytest.mark.parametrize(("kind", "normalised"), [(mfpde.Softmax, True), (mfpde.Unnormalized, False)])
def test_a_multiplies_the_query(kind, normalised):
    measure = mfpde.Particles(TOKENS, WEIGHTS)
    drift = kind(A=A, V=V).drift(measure, QUERIES)
    np.testing.assert_allclose(drift, by_loops(normalised, A, V), rtol=1e-13)
    transposed = by_loops(normalised, np.transpose(A), V)
    assert np.abs(drift - transposed).max() > 0.01
    assert np.abs(drift - by_loops(normalised, A, np.transpose(V))).max() > 0.01


def test_queries_and_keys_make_a():
    Q, K = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    measure = mfpde.Particles(TOKENS, WEIGHTS)
    drift = mfpde.Softmax(Q=Q, K=K, V=V).drift(measure, QUERIES)
    np.testing.assert_allclose(drift, by_loops(True, K.T @ Q, V), rtol=1e-13)


def test_softmax_is_the_gradient_of_a_log():
    """G = V grad L(Ax), L = log int e^{<w, y>} dmu."""
    measure, step = mfpde.Particles(TOKENS, WEIGHTS), 1e-5

    def potential(w: np.ndarray) -> float:
        return math.log(WEIGHTS @ np.exp(TOKENS @ w))

    for x in QUERIES:
        w = np.array(A) @ x
        gradient = [(potential(w + step * e) - potential(w - step * e)) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(
            mfpde.Softmax(A=A, V=V).drift(measure, x[None])[0], np.array(V) @ gradient, atol=1e-9
        )


def test_softmax_never_overflows():
    drift = mfpde.Softmax(A=1e4).drift(mfpde.Particles(TOKENS), QUERIES)
    np.testing.assert_allclose(drift, TOKENS[[2, 0]], rtol=1e-12)  # the largest <x, y>


def test_one_token_attracts_by_v_alone():
    alone = mfpde.Particles([[2.0, -1.0]])
    np.testing.assert_allclose(mfpde.Softmax(A=A, V=V).drift(alone, QUERIES), np.tile(np.array(V) @ [2, -1], (2, 1)))


def test_dimensions_must_fit():
    with pytest.raises(mfpde.ProblemError, match="have shape"):
        mfpde.Softmax(A=1).drift(mfpde.Particles(TOKENS), np.zeros((2, 3)))
    with pytest.raises(mfpde.ProblemError, match="need"):
        mfpde.Softmax(A=np.eye(3)).drift(mfpde.Particles(TOKENS), QUERIES)


def test_permutations_do_not_matter():
    order = [2, 0, 1]
    law = mfpde.Unnormalized(A=A, V=V)
    np.testing.assert_allclose(
        law.drift(mfpde.Particles(TOKENS[order], WEIGHTS[order]), QUERIES),
        law.drift(mfpde.Particles(TOKENS, WEIGHTS), QUERIES),
        rtol=1e-13,
    )
