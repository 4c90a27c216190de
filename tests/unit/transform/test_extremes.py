"""Any boxes, offsets, matrices, masses and sizes up to |A| L^2 = 1e5, against long double: never a NaN, never more
error than rounding of the exponents brings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.exponential_sums import grid_points, tilted_mean

from mfpde import transform
from mfpde.transform import grid, line, plane

KINDS = ["general", "diagonal", "singular", "one entry", "rotation"]
MASSES = ["random", "points", "tails", "corner", "narrow"]
SIZES = st.floats(-2, 5).map(lambda power: 10.0**power)
WIDTHS = st.tuples(st.floats(-4, 4), st.floats(-4, 4)).map(lambda powers: 10.0 ** np.array(powers))


def matrix_of(kind, random):
    if kind == "general":
        return random.uniform(-1, 1, (2, 2))
    if kind == "diagonal":
        return np.diag(random.uniform(-1, 1, 2))
    if kind == "singular":
        return np.outer(random.uniform(-1, 1, 2), random.uniform(-1, 1, 2))
    return np.array([[0.0, 0.0], [0.8, 0.0]]) if kind == "one entry" else np.array([[0.0, 1.0], [-1.0, 0.0]])


def masses_of(kind, shape, random):
    if kind == "tails":
        return np.exp(-random.uniform(0, 700, shape))
    weights = random.random(shape)
    if kind == "points":
        weights *= 0.0
        for _ in range(3):
            weights[tuple(random.integers(0, size) for size in shape)] = 10.0 ** random.uniform(-300, 300)
    elif kind == "corner":  # nothing anywhere else
        weights[tuple(slice(5, None) for _ in shape)] = 0.0
        weights[tuple(slice(None, -5) if size > 5 else slice(None) for size in shape)] *= 0.0
        weights[(0,) * len(shape)] = 1.0
    elif kind == "narrow":
        for axis, size in enumerate(shape):
            distance = np.linspace(-1, 1, size) - 0.6
            weights *= np.exp(-300 * distance**2).reshape([-1 if axis == k else 1 for k in range(len(shape))])
    if not weights.any():
        weights[(-1,) * len(shape)] = 1.0
    return weights


def check(result, queries, nodes, masses, log_factors, half):
    """`half` are the half-widths of the nodes' box: every component of the mean is as accurate as its own width."""
    mean, log_mass = result
    assert np.isfinite(mean).all()
    assert np.isfinite(log_mass).all()
    queries, nodes = queries.astype(np.longdouble), nodes.astype(np.longdouble)
    factors = np.zeros(len(nodes)) if log_factors is None else log_factors
    lifted = np.column_stack([queries, np.ones(len(queries))]), np.column_stack([nodes, factors])
    exact, exact_log = tilted_mean(*lifted, masses)
    centre = 0.5 * (nodes.min(axis=0) + nodes.max(axis=0))
    size = np.abs(queries @ (nodes - centre).T).max() + np.abs(factors).max()
    size += (np.abs(queries) @ (2.0**-10 * np.abs(nodes).max(axis=0))).max()  # nodes are doubles themselves
    width = np.maximum(half, 1e-3 * np.abs(nodes).max(axis=0)) + 1e-300
    assert (np.abs(mean - exact[:, :-1]) / width).max() < 1e-12 + 1e-15 * size
    scale = 1 + np.abs(exact_log) + size + np.abs(queries @ centre)
    assert (np.abs(log_mass - exact_log) / scale).max() < 1e-12


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    weights=st.sampled_from(MASSES),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    size=SIZES,
    widths=WIDTHS,
    offset=st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
    shift=st.sampled_from([0.0, 1.0, 30.0]),
    factors=st.booleans(),
    by_panels=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_grid_of_the_plane(kind, weights, shape, size, widths, offset, shift, factors, by_panels, seed):
    random = np.random.default_rng(seed)
    axes = tuple(w * (np.linspace(-1, 1, n) + o) for w, n, o in zip(widths, shape, offset, strict=True))
    queries = tuple(random.uniform(0.1, 9) * np.sort(random.uniform(-1, 1, n)) for n in random.integers(1, 30, 2))
    matrix = matrix_of(kind, random)
    matrix *= size / max(1e-9, np.abs(matrix).sum() * 9) / (widths[:, None] if seed % 2 else widths.max())
    push = shift * size * random.uniform(-1, 1, 2) / widths
    masses = masses_of(weights, shape, random)
    log_factors = random.uniform(-3000, 3000, shape) if factors else None
    direct = grid.PAIR_NANOSECONDS
    grid.PAIR_NANOSECONDS = 1e300 if by_panels and size < 3e3 else direct
    try:
        mean, log_mass = transform.tilted_mean_on_grid(axes, masses, matrix, push, queries, log_factors)
    finally:
        grid.PAIR_NANOSECONDS = direct
    chosen = random.integers(0, log_mass.size, 30)
    points = grid_points(*queries)[chosen].astype(np.longdouble) @ matrix.T + push
    result = mean.reshape(2, -1).T[chosen], log_mass.ravel()[chosen]
    factors = None if log_factors is None else log_factors.ravel()
    check(result, points, grid_points(*axes), masses.ravel(), factors, [np.ptp(axis) / 2 for axis in axes])


def test_a_large_offset_does_not_meet_a_long_axis(monkeypatch):
    """w_1 about -67 on an axis of 0.01, w_2 about 0 on one of 9000: neither may be written through the other."""
    monkeypatch.setattr(grid, "PAIR_NANOSECONDS", 1e300)
    axes = 5.75 + 8e-3 * np.linspace(-1, 1, 36), 4.4e3 * np.linspace(-1, 1, 9)
    queries = np.linspace(-0.5, 0.5, 11), np.linspace(-560.0, 560.0, 22)
    matrix, push = np.array([[5.3e-6, -3.4e-6], [3.8e-6, 2.9e-6]]), np.array([-67.5, -1.6e-3])
    masses = np.zeros((36, 9))
    masses[[2, 20, 30], [8, 0, 1]] = 1.0
    mean, log_mass = transform.tilted_mean_on_grid(axes, masses, matrix, push, queries)
    points = grid_points(*queries).astype(np.longdouble) @ matrix.T + push
    half = [np.ptp(axis) / 2 for axis in axes]
    check((mean.reshape(2, -1).T, log_mass.ravel()), points, grid_points(*axes), masses.ravel(), None, half)


@settings(max_examples=60)
@given(
    dimension=st.integers(1, 2),
    weights=st.sampled_from(MASSES),
    places=st.sampled_from(["anywhere", "three places", "flat", "three clusters"]),
    counts=st.tuples(st.integers(1, 150), st.integers(1, 40)),
    size=SIZES,
    widths=WIDTHS,
    offset=st.floats(-50, 50),
    push=st.sampled_from([0.0, 0.5, 100.0]),
    factors=st.booleans(),
    by_panels=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_scattered(dimension, weights, places, counts, size, widths, offset, push, factors, by_panels, seed):
    random = np.random.default_rng(seed)
    nodes = random.uniform(-1, 1, (counts[0], dimension))
    if places.startswith("three"):
        some = random.uniform(-1, 1, (3, dimension))[random.integers(0, 3, counts[0])]
        nodes = some + (1e-8 * nodes if places == "three clusters" else 0.0)
    elif places == "flat":
        nodes[:, 0] = 0.3
    nodes, half = (nodes + offset) * widths[:dimension], widths[:dimension]
    queries = (random.uniform(-1, 1, (counts[1], dimension)) + push) * size / half
    masses, log_factors = masses_of(weights, counts[:1], random), None
    if factors:
        log_factors = random.uniform(-3000, 3000, counts[0])
    patched = [(line, "MIN_PAIRS_TO_PLAN", 0), (plane, "MIN_PAIRS_TO_PLAN", 0)]
    if by_panels and size < (300 if dimension == 1 else 30):
        patched += [(line, "PAIR_NANOSECONDS", 1e300), (plane, "PAIR_NANOSECONDS", 1e300)]
    before = [(module, name, getattr(module, name)) for module, name, _ in patched]
    try:
        for module, name, value in patched:
            setattr(module, name, value)
        result = transform.tilted_mean(queries, nodes, masses, log_factors)
    finally:
        for module, name, value in before:
            setattr(module, name, value)
    check(result, queries, nodes, masses, log_factors, half)
