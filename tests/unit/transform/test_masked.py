"""Causal sums, by pairs and by slices, against long double over what each query sees."""

import numpy as np
import pytest
from reference.exponential_sums import tilted_mean

from mfpde import transform
from mfpde.transform import masked


def check(result, queries, query_positions, nodes, positions, masses):
    for i, (query, position) in enumerate(zip(queries, query_positions, strict=True)):
        seen = (positions <= position) & (masses > 0)
        if not seen.any():
            assert np.isnan(result[0][i]).all()
            assert result[1][i] == -np.inf
            continue
        mean, log_mass = tilted_mean(query[None], nodes[seen], masses[seen])
        assert np.abs(result[0][i] - mean[0]).max() < 1e-12
        assert abs(result[1][i] - log_mass[0]) < 1e-12 * (1 + abs(log_mass[0]))


@pytest.mark.parametrize("dimension", [1, 2, 3, 9])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_by_pairs(size, dimension, random):
    nodes, masses, positions = random.uniform(-1, 1, (500, dimension)), random.random(500), random.random(500)
    masses[positions < 0.05] = 0.0
    queries, query_positions = size * random.uniform(-1, 1, (300, dimension)), random.random(300)
    query_positions[:3] = positions[100], -1.0, 0.04
    result = transform.tilted_mean_masked(queries, query_positions, nodes, positions, masses)
    check(tuple(part[:60] for part in result), queries[:60], query_positions[:60], nodes, positions, masses)


@pytest.mark.parametrize("dimension", [1, 2])
def test_by_slices(dimension, monkeypatch, random):
    monkeypatch.setattr(masked, "tilt_by_products", None)
    monkeypatch.setattr(masked, "PAIR_NANOSECONDS", 1e300)
    nodes, positions = random.uniform(-1, 1, (4000, dimension)), random.integers(0, 5, 4000) / 4
    masses = random.random(4000) * np.exp(-100 * positions)
    queries, query_positions = 30 * nodes, random.integers(-1, 6, 4000) / 4
    result = transform.tilted_mean_masked(queries, query_positions, nodes, positions, masses)
    check(tuple(part[:60] for part in result), queries[:60], query_positions[:60], nodes, positions, masses)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("size", [3.0, 40.0])
def test_many_positions_by_stretches(size, dimension, monkeypatch, random):
    pairs = []
    by_products = masked.tilt_by_products
    monkeypatch.setattr(masked, "tilt_by_products", lambda *given: pairs.append(given) or by_products(*given))
    count = 12000 if dimension == 1 else 30000
    nodes, positions, masses = random.uniform(-1, 1, (count, dimension)), random.random(count), random.random(count)
    positions[:2000] = 0.5
    masses[positions < 0.1] *= 1e-200
    queries, query_positions = size * nodes, positions.copy()
    query_positions[:3] = -1.0, 2.0, positions.min()
    result = transform.tilted_mean_masked(queries, query_positions, nodes, positions, masses)
    check(tuple(part[:60] for part in result), queries[:60], query_positions[:60], nodes, positions, masses)
    early = np.argsort(query_positions)[:60]
    check(tuple(part[early] for part in result), queries[early], query_positions[early], nodes, positions, masses)
    assert len(pairs) > 5
    assert sum(float(given[0].shape[0]) * given[1].shape[0] for given in pairs) < 0.3 * count**2


def test_few_slices_of_many_nodes_are_summed_fast(monkeypatch, random):
    monkeypatch.setattr(masked, "tilt_by_products", None)
    nodes, positions = random.uniform(-1, 1, (20000, 1)), random.integers(0, 3, 20000)
    mean, _ = transform.tilted_mean_masked(nodes, positions, nodes, positions, np.ones(20000))
    assert np.isfinite(mean).all()


def test_after_everything_the_mask_is_no_mask(random):
    nodes, masses = random.standard_normal((700, 3)), random.random(700)
    given = transform.tilted_mean_masked(nodes, np.full(700, 2.0), nodes, random.random(700), masses)
    for part, whole in zip(given, transform.tilted_mean(nodes, nodes, masses), strict=True):
        assert np.abs(part - whole).max() < 1e-13


def test_joined_is_the_sum_of_measures(random):
    nodes, masses, queries = random.standard_normal((90, 2)), random.random(90), random.standard_normal((40, 2))
    parts = [transform.tilted_mean(queries, nodes[k::3], masses[k::3]) for k in range(3)]
    for part, whole in zip(transform.joined(parts), transform.tilted_mean(queries, nodes, masses), strict=True):
        assert np.abs(part - whole).max() < 1e-14
    grids = [(mean.T, log_mass) for mean, log_mass in parts]
    assert np.array_equal(transform.joined(grids, axis=0)[0], transform.joined(parts)[0].T)
