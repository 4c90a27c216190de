"""Matrices by recipe."""

import numpy as np
import pytest

import mfpde

SIZE = 48


def matrix(recipe, dimension=SIZE):
    return mfpde.Softmax(A=recipe).query_matrix(dimension)


def test_ginibre_has_normal_entries_of_the_scale_and_eigenvalues_in_the_unit_disc():
    entries = matrix({"random": "ginibre", "seed": 4}, 400)
    assert abs(entries.std() * np.sqrt(400) - 1) < 5 / 400
    assert abs(entries.mean()) < 5 / 400**1.5
    assert 0.9 < np.abs(np.linalg.eigvals(entries)).max() < 1.1
    np.testing.assert_allclose(matrix({"random": "ginibre", "seed": 4, "scale": -3}, 400), -60 * entries, rtol=1e-14)


def test_gram_is_symmetric_of_its_rank_and_sign():
    form = matrix({"random": "gram", "rows": 5, "scale": -2})
    values = np.linalg.eigvalsh(form)
    np.testing.assert_array_equal(form, form.T)
    assert (values < -1e-3).sum() == 5
    assert np.abs(values[5:]).max() < 1e-13
    mean = np.trace(matrix({"random": "gram"}, 400)) / 400
    assert abs(mean - 1) < 0.02  # Marchenko and Pastur: mean 1, largest eigenvalue 4
    assert abs(np.linalg.eigvalsh(matrix({"random": "gram"}, 400))[-1] - 4) < 0.25


def test_orthogonal_rows_are_orthonormal_and_uniform():
    rows = mfpde.L2(Q={"random": "orthogonal", "rows": 7, "scale": 2}, K=1).features(SIZE)[0] / 2
    np.testing.assert_allclose(rows / 2 @ rows.T / 2, np.eye(7), atol=1e-14)
    traces = [np.trace(matrix({"random": "orthogonal", "seed": seed}, 2)) for seed in range(200)]
    assert abs(np.mean(traces)) < 0.3  # Haar's law on O(2): half are reflections of trace 0, mean 0, variance 1
    assert abs(np.var(traces) - 1) < 0.4


def test_one_seed_is_one_matrix_and_others_are_others():
    given = {"random": "ginibre", "seed": 7}
    np.testing.assert_array_equal(matrix(given), matrix({**given}))
    assert np.abs(matrix(given) - matrix({**given, "seed": 8})).max() > 0.1
    opposite = mfpde.Softmax(Q={**given, "scale": 1}, K={**given, "scale": -1})
    query, key = opposite.features(SIZE)
    np.testing.assert_array_equal(query, -key)
    drawn = mfpde.Points(random="normal", count=SIZE, seed=7).on(mfpde.Space(dimension=SIZE)).points
    assert abs(np.corrcoef(drawn.ravel(), matrix(given).ravel())[0, 1]) < 0.1


def test_the_numbers_are_those_of_this_version():
    """Files keep the recipe: what it gives must not change behind them."""
    assert matrix({"random": "ginibre", "seed": 1}, 2) == pytest.approx(np.array(GINIBRE), rel=1e-15)


GINIBRE = [[0.3753105147870192, -0.4812448214166988], [0.13211022888223822, -0.9122668127166906]]


def test_one_recipe_for_all_layers_and_one_for_each():
    times = [0, 1, 2]
    every = mfpde.Softmax(A={"times": times, "values": {"random": "orthogonal", "seed": 2}})
    layers = [every.at(time).query_matrix(3) for time in times]
    assert min(np.abs(a - b).max() for a in layers for b in layers if a is not b) > 0.1
    second = {"random": "orthogonal", "seed": 2, "layer": 1}
    each = mfpde.Softmax(A={"times": times, "values": [1, second, {"random": "gram", "seed": 1}]})
    np.testing.assert_array_equal(each.at(1).query_matrix(3), layers[1])
    assert every.breaks() == (1.0, 2.0)


def test_hidden_layers_take_their_width_from_the_recipe():
    wide = mfpde.Mlp(
        U={"random": "ginibre", "rows": 9, "seed": 1}, W={"random": "ginibre", "seed": 2}, activation="relu"
    )
    x = np.array([[1.0, -2.0]])
    outer, inner, _ = wide._layers(2)
    assert (inner.shape, outer.shape) == ((9, 2), (2, 9))
    np.testing.assert_allclose(wide.drift(mfpde.Plane(), x), np.maximum(x @ inner.T, 0) @ outer.T)


def test_files_keep_the_recipe():
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": 5},
            "attention": {
                "kind": "multi-head",
                "heads": [{"kind": "softmax", "A": {"random": "ginibre", "seed": h}, "V": -1} for h in (1, 2)],
            },
        }
    )
    assert mfpde.Problem.from_dict(problem.canonical()) == problem
    assert problem.canonical()["attention"]["heads"][1]["A"] == {"random": "ginibre", "seed": 2}
    assert "random: ginibre" in problem.to_yaml()
    assert problem.content_hash != problem.model_copy(update={"attention": mfpde.Softmax(beta=1)}).content_hash


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"random": "ginibr"}, "A.random: must be 'ginibre', 'gram' or 'orthogonal', not 'ginibr'"),
        ({"rows": 3}, "A.random: is missing"),
        ({"random": "gram", "seed": 1.5}, "A.seed: must be a whole number, not 1.5"),
        ({"random": "gram", "seed": -1}, "A.seed: must be at least 0, not -1"),
        ({"random": "gram", "cosine": 1}, "A.cosine: unknown key 'cosine'"),
        ({"random": "gram", "scale": float("inf")}, "A.scale: must be less than inf"),
        (
            {"times": [0, 1], "values": {"random": "gram"}, "interpolation": "linear"},
            "A.interpolation: must be constant: random matrices hold from each time on",
        ),
    ],
)
def test_what_does_not_belong_together_is_said_in_one_message(given, said):
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.Softmax(A=given)
    assert len(refused.value.faults) == 1
    assert said in str(refused.value)


def test_rows_that_do_not_fit_are_said_with_the_place():
    tall = mfpde.Softmax(Q={"random": "orthogonal", "rows": 4}, K=1)
    with pytest.raises(mfpde.ProblemError, match=r"attention\.Q: cannot have 4 orthonormal rows of 3 numbers"):
        tall.check(mfpde.Space(dimension=3))
    with pytest.raises(mfpde.ProblemError, match=r"attention\.A: has shape \(2, 3\); tokens in R\^3 need \(3, 3\)"):
        mfpde.Softmax(A={"random": "ginibre", "rows": 2}).check(mfpde.Space(dimension=3))
    with pytest.raises(mfpde.ProblemError, match=r"drift\.U: cannot have 4 orthonormal rows of 3 numbers"):
        mfpde.Mlp(U={"random": "orthogonal", "rows": 4}).check(mfpde.Space(dimension=3))
