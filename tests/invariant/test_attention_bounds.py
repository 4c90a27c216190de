"""What holds for every measure: bounds of physics section 9, conservation, monotonicity."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde

entries = st.floats(-3, 3)


@st.composite
def layers(draw):
    """Weighted tokens of the plane with two matrices."""
    count = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = random.standard_normal((count, 2)) * draw(st.floats(1e-3, 5))
    weights = random.random(count) ** draw(st.integers(1, 8)) + 1e-9
    A, V = (np.array(draw(st.lists(entries, min_size=4, max_size=4))).reshape(2, 2) for _ in range(2))
    return mfpde.Particles(points, weights), A, V


def radius(measure):
    return np.linalg.norm(measure.points, axis=1).max()


@given(layers())
@settings(max_examples=60, deadline=None)
def test_normalised_kernels_stay_in_the_hull(layer):
    measure, A, V = layer
    for law in (mfpde.Softmax(A=A, V=V), mfpde.L2(Q=A, K=A.T, V=V), mfpde.Sinkhorn(A=A, V=V)):
        drift = law.drift(measure, measure.points)
        assert np.linalg.norm(drift, axis=1).max() <= np.linalg.norm(V, 2) * radius(measure) * (1 + 1e-12)
    values = mfpde.Softmax(A=A).drift(measure, 2 * measure.points)
    low, high = measure.points.min(axis=0), measure.points.max(axis=0)
    assert np.all((values >= low - 1e-12 * radius(measure)) & (values <= high + 1e-12 * radius(measure)))


@given(layers())
@settings(max_examples=60, deadline=None)
def test_slopes_of_softmax_are_bounded(layer):
    measure, A, V = layer
    bound = np.linalg.norm(V, 2) * np.linalg.norm(A, 2) * radius(measure) ** 2
    slopes = mfpde.Softmax(A=A, V=V).jacobian(measure, measure.points)
    assert np.linalg.norm(slopes, 2, axis=(1, 2)).max() <= bound * (1 + 1e-10) + 1e-300


@given(layers())
@settings(max_examples=40, deadline=None)
def test_the_lipschitz_constant_is_below_its_bound(layer):
    measure, A, V = layer
    even = mfpde.Particles(measure.points)
    count, size = measure.weights.size, np.linalg.norm(A, 2)
    bound = np.sqrt(3) * np.linalg.norm(V, 2) * np.sqrt(size**2 * radius(even) ** 4 * (4 * count + 1) + count)
    assert mfpde.Softmax(A=A, V=V).lipschitz(even) <= bound * (1 + 1e-6) + 1e-300


@given(layers())
@settings(max_examples=40, deadline=None)
def test_sinkhorn_conserves_the_mean_up_to_v(layer):
    measure, A, V = layer
    law = mfpde.Sinkhorn(A=A, V=V)
    drift = law.drift(measure, measure.points)
    size = max(radius(measure) * np.linalg.norm(V, 2), 1e-12)
    assert np.abs(measure.weights @ drift - V @ measure.mean).max() < 1e-11 * size


@given(layers())
@settings(max_examples=40, deadline=None)
def test_the_divergence_of_softmax_attraction_is_not_negative(layer):
    """`tr(A Cov)` with A = V = I is a variance."""
    measure, _, _ = layer
    assert mfpde.Softmax(A=1).divergence(measure, measure.points).min() >= 0
