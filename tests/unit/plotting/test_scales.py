"""Scales, on which narrow clusters and fast beginnings stay legible."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mfpde.plotting.annotations import time_texts
from mfpde.plotting.scales import UNIFORM, DensityScale, TimeScale


def test_broad_densities_are_linear():
    assert DensityScale.of(np.array([0.0, 5 * UNIFORM])) == DensityScale(0.0, 5 * UNIFORM)
    assert DensityScale.of(np.array([0.15, 0.16])) == DensityScale(0.15, 0.16)
    assert DensityScale.of(np.array([UNIFORM, UNIFORM])) == DensityScale(0.0, 2 * UNIFORM)


@pytest.mark.parametrize("peak", [2.0, 10.0, 100.0])
def test_the_uniform_density_stays_at_a_quarter_of_the_scale(peak):
    scale = DensityScale.of(np.array([0.0, peak]))
    assert (scale.low, scale.high) == (0.0, peak)
    assert float(scale.norm()(UNIFORM)) == pytest.approx(0.25, abs=0.05)
    assert float(scale.norm()(peak)) == 1.0


@pytest.mark.parametrize("peak", [1.5, 7.0, 500.0, 1e5])
def test_ticks_are_apart_and_within(peak):
    scale = DensityScale.of(np.array([0.0, peak]))
    ticks = scale.ticks()
    assert 4 <= len(ticks) <= 8
    assert ticks[0] == 0
    assert ticks[-1] <= peak
    assert np.diff(scale.norm()(ticks)).min() > 0.1


def test_negative_densities_are_admitted():
    assert DensityScale.of(np.array([-0.1, 0.5])).extend == "min"
    assert DensityScale.of(np.array([-1e-9, 0.5])).extend == "neither"


@pytest.mark.parametrize("threshold", [None, 0.01])
def test_time_scale_is_inverted(threshold):
    scale = TimeScale(0.0, 10.0, threshold)
    times = np.array([0.0, 0.004, 0.01, 0.5, 10.0])
    assert_allclose(scale.inverse(scale.forward(times)), times, atol=1e-15)
    edges = scale.edges(times)
    assert edges.size == times.size + 1
    assert np.all(np.diff(edges) > 0)


@pytest.mark.parametrize("first", [[], [0.0]])
def test_crowded_times_are_logarithmic_from_the_first_that_is_positive(first):
    crowded = np.array([*first, *10.0 ** np.arange(-6, 1)])
    assert TimeScale.of(crowded) == TimeScale(crowded[0], 1.0, 1e-6)
    assert TimeScale.of(crowded, blow_up=2.0) == TimeScale(crowded[0], 2.0, 1e-6, 2.0)
    assert TimeScale.of(np.linspace(0, 1, 300)) == TimeScale(0.0, 1.0)


def test_nearest_times():
    times = np.array([0.0, 0.1, 0.2, 1.0, 2.0])
    assert TimeScale(0.0, 2.0).nearest(times, 5) == [0, 2, 3, 3, 4]


def test_times_are_told_apart_with_few_digits():
    assert time_texts(np.array([0.0, 0.5, 13.25, 40.0])) == ["t = 0", "t = 0.5", "t = 13.2", "t = 40"]
    assert time_texts(np.array([1000.0, 1001.0])) == ["t = 1000", "t = 1001"]
    assert time_texts(np.array([3.0])) == ["t = 3"]
