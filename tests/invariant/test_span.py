"""Fewer tokens than dimensions move in the span of their places."""

import numpy as np
import pytest

import mfpde
from mfpde.contracts import State
from mfpde.prepare import prepare
from mfpde.solvers.particles import pairwise
from mfpde.solvers.particles.span import Span

SPHERE, SPACE = ({"kind": kind, "dimension": 40} for kind in ("sphere", "space"))
RANDOM = {"kind": "points", "random": "uniform-sphere", "count": 12, "seed": 3}
HEADS = [{"kind": "softmax", "beta": 2}, {"kind": "softmax", "A": -1, "V": 0.5, "weight": 2}]
CASES = {
    "sphere": {"geometry": SPHERE, "attention": {"kind": "softmax", "beta": 5}},
    "unnormalized": {"geometry": SPHERE, "attention": {"kind": "unnormalized", "beta": 3}},
    "heads": {"geometry": SPHERE, "attention": {"kind": "multi-head", "heads": HEADS}},
    "space": {"geometry": SPACE, "attention": {"kind": "l2", "Q": 1, "K": 0.7, "V": -1}},
    "masked": {
        "geometry": SPHERE,
        "attention": {
            "kind": "masked",
            "attention": {"kind": "softmax", "beta": 2},
            "positions": (np.arange(1, 13) / 12).tolist(),
        },
    },
    "norms": {
        "geometry": SPACE,
        "attention": {"kind": "softmax", "beta": 2},
        "normalization": {"kind": "peri", "radius": 1.5},
    },
    "copies": {
        "geometry": SPHERE,
        "attention": {"kind": "softmax", "beta": 5},
        "initial": {"kind": "uniform"},
        "solver": {"kind": "particles", "count": 6, "copies": 3, "tolerance": 1e-12},
    },
}


def problem(case, **blocks):
    common = {
        "initial": RANDOM,
        "solver": {"kind": "particles", "tolerance": 1e-12},
        "time": {"until": 3, "save_every": 1.5},
    }
    return mfpde.Problem.from_dict({**common, **CASES[case], **blocks})


@pytest.mark.parametrize("case", CASES)
def test_the_run_in_the_span_is_that_in_the_whole_space(case, monkeypatch):
    """Drifts to rounding; runs, whose steps are chosen by other components, to a fifth of the promise."""
    slopes, runs = [], []
    for dimension in (None, 40):
        if dimension is not None:
            monkeypatch.setattr(pairwise, "law_in_span", lambda _law, _count: None)
        integration = prepare(problem(case)).start()
        assert integration._dimension == (dimension or integration._tokens.count)
        slope = integration._copies.slope[:, : integration._dimension].transpose(0, 2, 1)
        slopes.append(slope if dimension else integration._span.outside(slope))
        runs.append(mfpde.solve(problem(case)))
    np.testing.assert_allclose(*slopes, rtol=0, atol=1e-14 * np.abs(slopes[1]).max())
    np.testing.assert_allclose(*(run.positions for run in runs), rtol=0, atol=2e-12)


def test_a_matrix_that_leaves_the_span_is_not_reduced():
    matrix = np.diag(np.arange(1.0, 41.0)).tolist()
    integration = prepare(problem("sphere", attention={"kind": "softmax", "A": matrix})).start()
    assert integration._dimension == 40


def test_the_resumed_run_has_the_same_basis():
    prepared, found = prepare(problem("copies")), []
    for cut in (False, True):
        integration = prepared.start()
        for look in (0.7, 2.0):
            while integration.advance(look, 1).state is State.UNDER_WAY:
                pass
            if cut:
                kept = {**integration.state(), **integration.trail(0)}
                integration = prepared.resume({name: np.array(each) for name, each in kept.items()})
        found.append(integration.fields()["position"])
    assert np.array_equal(*found)


@pytest.mark.parametrize("near", [1.0, 1e-9, 1e-15, 0.0])
def test_bases_are_orthonormal_however_near_tokens_are(near, random):
    vectors = random.standard_normal((2, 7, 30))
    vectors[:, 3] = vectors[:, 0] + near * vectors[:, 3]
    span = Span.of(vectors)
    for basis in span.bases:
        gram = basis.T @ basis
        lengths = np.diag(gram).copy()
        assert ((abs(lengths - 1) < 1e-14) | (lengths == 0)).all()
        assert np.abs(gram - np.diag(lengths)).max() < 1e-14
    np.testing.assert_allclose(span.outside(span.inside(vectors)), vectors, atol=1e-13)
