"""The tilted covariance against long double, narrow measures included, and against differences of the mean."""

import numpy as np
import pytest

from mfpde import transform
from mfpde.transform import covariance


def expected(queries, nodes, log_masses):
    queries, nodes = queries.astype(np.longdouble), nodes.astype(np.longdouble)
    scores = queries @ nodes.T + log_masses.astype(np.longdouble)
    peak = scores.max(axis=1, keepdims=True)
    raised = np.exp(scores - peak)
    total = raised.sum(axis=1, keepdims=True)
    shares = raised / total
    mean = shares @ nodes
    spread = [((nodes - centre).T * share) @ (nodes - centre) for centre, share in zip(mean, shares, strict=True)]
    return np.log(total[:, 0]) + peak[:, 0], mean, np.stack(spread)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("size", [1.0, 30.0, 1e3, 1e5])
def test_against_long_double(size, dimension, random):
    nodes, log_masses = 0.5 + random.uniform(-1, 1, (300, dimension)), random.uniform(-400, 0, 300)
    queries = size * random.uniform(-1, 1, (60, dimension))
    log_mass, mean, spread = transform.tilted_covariance(queries, nodes, np.ones(300), log_masses)
    exact = expected(queries, nodes, log_masses)
    accuracy = 1e-13 + 1.1e-16 * size * dimension  # the weights know no more than scores, once rounded
    assert (np.abs(log_mass - exact[0]) - 1e-15 * np.abs(exact[0])).max() < accuracy
    assert np.abs(mean - exact[1]).max() < accuracy
    assert np.abs(spread - exact[2]).max() < accuracy


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_a_narrow_measure_far_away_keeps_its_digits(dimension, random):
    nodes = np.concatenate([1e-7 * random.standard_normal((200, dimension)) + 1.0, -np.ones((1, dimension))])
    log_masses = np.append(np.zeros(200), -80.0)
    queries = random.uniform(0, 1e3, (40, dimension))
    exact = expected(queries, nodes, log_masses)[2]
    spread = transform.tilted_covariance(queries, nodes, np.ones(201), log_masses)[2]
    assert np.abs(exact).max() < 1e-13
    assert np.abs(spread - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("kind", ["density", "points"])
@pytest.mark.parametrize("size", [0.0, 3.0, 50.0, 400.0])
def test_line_by_panels(size, kind, monkeypatch, random):
    monkeypatch.setattr(covariance, "tilted_mean", None)  # the direct way begins with it
    nodes, queries = random.uniform(1, 3, (5000, 1)), size * random.uniform(-1, 1, (5000, 1))
    log_masses = -((nodes[:, 0] - 1.7) ** 2) * 400
    if kind == "points":
        log_masses[3:] = -2e3  # nothing, but still there
    log_mass, mean, spread = transform.tilted_covariance(queries, nodes, np.ones(5000), log_masses)
    exact = expected(queries[:60], nodes, log_masses)
    assert (np.abs(log_mass[:60] - exact[0]) / (1 + np.abs(exact[0]))).max() < 1e-12
    assert np.abs(mean[:60] - exact[1]).max() < 1e-12
    # a tilted density is narrow; a few points stay as far apart as they are, and scores up to 3 size are rounded
    narrow = 1e-12 * min(1.0, (10 / max(size, 1e-9)) ** 2)
    assert np.abs(spread[:60] - exact[2]).max() < (narrow if kind == "density" else max(narrow, 3.3e-16 * size))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_it_is_how_the_mean_changes(dimension, random):
    nodes, masses = random.standard_normal((400, dimension)), random.random(400)
    queries, step = random.standard_normal((70, dimension)), 1e-4
    spread = transform.tilted_covariance(queries, nodes, masses)[2]
    for k, side in enumerate(step * np.eye(dimension)):
        ahead, behind = (transform.tilted_mean(queries + sign * side, nodes, masses)[0] for sign in (1, -1))
        assert np.abs((ahead - behind) / (2 * step) - spread[:, :, k]).max() < 1e-6
