"""Observables of tokens against plain definitions."""

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Layout
from mfpde.measure.linking import linked, linked_on_circle
from mfpde.observe import Instant
from mfpde.registry import lookup

SPHERE, CIRCLE, LINE, PLANE = mfpde.Sphere(), mfpde.Circle(), mfpde.Line(), mfpde.Plane()


@pytest.fixture
def random():
    return np.random.default_rng(11)


def value(name, points, weights=None, geometry=PLANE, attention=None, **given):
    blocks = {key: given.pop(key) for key in ("normalization", "noise") if key in given}
    equation = mfpde.Equation(geometry=geometry, attention=attention, **blocks)
    measure = mfpde.Particles(points, weights, geometry)
    return lookup("observable", name)(**given).evaluate(Instant(0.0, measure, equation, lambda: 0.0))


def pairs_of(attention, vectors, weights):
    """The attention matrix by its definition, rows of sum 1."""
    measure = mfpde.Particles(vectors, weights)
    kernel = np.array([attention.kernel(x[None], vectors, measure.weights)[0] for x in vectors]) * measure.weights
    return kernel / kernel.sum(axis=1, keepdims=True)


def cosines(vectors):
    return np.array([[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in vectors] for x in vectors])


def test_cosines(random):
    vectors, weights = random.standard_normal((30, 3)), random.random(30)
    share = weights / weights.sum()
    off = ~np.eye(30, dtype=bool)
    pairs, every = np.outer(share, share)[off], cosines(vectors)[off]
    found = value("mean-cosine", vectors, weights, mfpde.Space(dimension=3))
    assert found["mean-cosine"] == pytest.approx((pairs * every).sum() / pairs.sum(), abs=1e-14)
    assert found["mean-cosine-gap"] == pytest.approx(1 - found["mean-cosine"], abs=1e-15)
    histogram = np.histogram(every, bins=7, range=(-1, 1), weights=pairs)[0] / pairs.sum()
    found = value("cosine-histogram", vectors, weights, mfpde.Space(dimension=3), bins=7)
    np.testing.assert_allclose(found["cosine-histogram"], histogram, atol=1e-14)


def test_cosines_of_more_tokens_than_a_block_holds(random, monkeypatch):
    angles = random.uniform(0, 7, 100)
    whole = value("cosine-histogram", angles, geometry=CIRCLE)["cosine-histogram"]
    monkeypatch.setattr("mfpde.observe.cosine_histogram._BLOCK", 700)
    np.testing.assert_allclose(
        value("cosine-histogram", angles, geometry=CIRCLE)["cosine-histogram"], whole, atol=1e-15
    )


def test_the_gap_of_nearly_merged_tokens_keeps_its_digits():
    found = value("mean-cosine", [1.0, 1.0 + 2e-9, 1.0], geometry=CIRCLE)
    assert found["mean-cosine-gap"] == pytest.approx(2 * (2e-9) ** 2 / 2 / 3, rel=1e-6)
    assert np.isnan(value("mean-cosine", [1.0], geometry=CIRCLE)["mean-cosine"])


def chains(vectors, radius):
    """Labels by the powers of the matrix of neighbours."""
    near = np.linalg.norm(vectors[:, None] - vectors, axis=2) <= radius
    linked_by = np.linalg.matrix_power(near.astype(float), len(vectors)) > 0
    return [frozenset(np.flatnonzero(row)) for row in linked_by]


@pytest.mark.parametrize("limits", [{}, {"_PAIRED_POINTS_MAX": 0}, {"_PAIRED_POINTS_MAX": 0, "_MOST_PAIRS": 40}])
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_all_ways_of_linking_are_chains(random, dimension, limits, monkeypatch):
    """Of few points all pairs are looked at; of more few neighbours are listed, or clusters are grown in waves."""
    for name, limit in limits.items():
        monkeypatch.setattr(f"mfpde.measure.linking.{name}", limit)
    centres = random.uniform(-1, 1, (5, dimension))
    vectors = centres[random.integers(0, 5, 120)] + 0.02 * random.standard_normal((120, dimension))
    vectors[:30] = random.uniform(-1, 1, (30, dimension))
    labels = linked(vectors, 0.1)
    assert {frozenset(np.flatnonzero(labels == label)) for label in labels} == set(chains(vectors, 0.1))
    assert labels.min() == 0
    assert labels.max() == np.unique(labels).size - 1


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_clusters_are_chains_of_near_tokens(random, dimension):
    vectors, weights = random.uniform(-1, 1, (60, dimension)), random.random(60)
    radius = {1: 0.03, 2: 0.2, 3: 0.4}[dimension]
    expected = set(chains(vectors, radius))
    labels = linked(vectors, radius)
    assert {frozenset(np.flatnonzero(labels == label)) for label in labels} == expected
    space = mfpde.Space(dimension=3) if dimension == 3 else (LINE, PLANE)[dimension - 1]
    found = value("clusters", vectors, weights, space, radius=radius, most=60)
    assert found["clusters"] == len(expected)
    share = weights / weights.sum()
    masses = sorted(sum(share[list(group)]) for group in expected)
    np.testing.assert_allclose(np.sort(found["clusters-mass"])[: len(masses)], masses, atol=1e-14)
    heaviest = max(expected, key=lambda group: sum(share[list(group)]))
    here = np.array(sorted(heaviest))
    mean = share[here] @ vectors[here] / share[here].sum()
    spread = share[here] @ np.sum((vectors[here] - mean) ** 2, axis=1) / share[here].sum()
    row = int(np.nanargmax(found["clusters-mass"]))
    np.testing.assert_allclose(np.ravel(found["clusters-position"][row]), mean, atol=1e-14)
    assert found["clusters-width"][row] == pytest.approx(np.sqrt(spread / dimension), abs=1e-13)


def test_clusters_go_around_the_circle(random):
    angles = random.uniform(0, 2 * np.pi, 70)
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    for radius in (0.05, 0.15, 1.0):
        labels = linked_on_circle(angles, radius)
        assert {frozenset(np.flatnonzero(labels == label)) for label in labels} == set(chains(vectors, radius))
    found = value("clusters", [6.2, 0.1, 3.0], geometry=CIRCLE, radius=0.3)
    assert found["clusters"] == 2
    np.testing.assert_allclose(found["clusters-position"][:2], [(6.2 + 0.1 - 2 * np.pi) / 2, 3.0])
    z = np.exp(1j * np.array([6.2, 0.1])).mean()
    assert found["clusters-width"][0] == pytest.approx(np.sqrt(-2 * np.log(abs(z))), rel=1e-12)


def test_clusters_on_spheres_have_unit_positions():
    north = np.array([[0.0, 0.0, 1.0], [0.0, np.sin(0.01), np.cos(0.01)], [1.0, 0.0, 0.0]])
    found = value("clusters", north, geometry=SPHERE)
    assert found["clusters"] == 2
    np.testing.assert_allclose(found["clusters-position"][0], [0, np.sin(0.005), np.cos(0.005)], atol=1e-14)


HEADS = {
    "softmax": mfpde.Softmax(A=[[1.0, 0.5], [-0.3, 2.0]]),
    "unnormalized": mfpde.Unnormalized(A=[[1.0, 0.5], [-0.3, 0.2]]),
    "l2": mfpde.L2(Q=1.0, K=[[1.0, 0.3]] * 2),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", HEADS)
def test_entropy_ranks_and_leaders_of_attention(random, kind, weighted):
    attention, vectors = HEADS[kind], random.standard_normal((25, 2))
    weights = random.random(25) if weighted else np.ones(25)
    pairs, share = pairs_of(attention, vectors, weights), weights / weights.sum()
    entropy = -share @ np.sum(pairs * np.log(pairs), axis=1)
    assert value("attention-entropy", vectors, weights, attention=attention)["attention-entropy"] == pytest.approx(
        entropy, abs=1e-12
    )
    singular = np.linalg.svd(pairs, compute_uv=False)
    found = value("attention-rank", vectors, weights, attention=attention, threshold=1e-3)
    assert found["attention-rank"] == (singular > 1e-3 * singular[0]).sum()
    p = singular / singular.sum()
    assert found["attention-rank-effective"] == pytest.approx(np.exp(-np.sum(p * np.log(p))), rel=1e-10)
    assert found["attention-rank-third"] == pytest.approx(singular[2] / singular[0], rel=1e-9)
    found = value("leaders", vectors, weights, attention=attention)
    assert found["leaders"] == len({int(row.argmax()) for row in pairs})
    assert found["leaders-share"] == pytest.approx(share @ pairs.max(axis=1), rel=1e-12)


def test_attention_sees_normalised_tokens(random):
    vectors = random.standard_normal((9, 3)) * 5
    attention, space = mfpde.Softmax(A=0.7), mfpde.Space(dimension=3)
    scheme = {"kind": "pre", "radius": 1.5, "gain": [1, 2, 0.5]}
    theta = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = pairs_of(attention, 1.5 * theta * np.array([1, 2, 0.5]), np.ones(9))
    found = value("attention-entropy", vectors, None, space, attention, normalization=scheme)
    assert found["attention-entropy"] == pytest.approx(-np.mean(np.sum(pairs * np.log(pairs), axis=1)), abs=1e-12)


def test_attention_sees_tokens_of_post_ln_as_they_are(random):
    """`x = r D theta` in R^d: attention sees D theta, which is x where r is 1."""
    gain = np.array([1, 2, 0.5])
    theta = random.standard_normal((9, 3))
    seen = 1.5 * gain * theta / np.linalg.norm(theta, axis=1, keepdims=True)
    attention, scheme = mfpde.Softmax(A=0.7), {"kind": "post", "radius": 1.5, "gain": gain}
    pairs = pairs_of(attention, seen, np.ones(9))
    found = value("attention-entropy", 3 * seen, None, mfpde.Space(dimension=3), attention, normalization=scheme)
    assert found["attention-entropy"] == pytest.approx(-np.mean(np.sum(pairs * np.log(pairs), axis=1)), abs=1e-12)


def test_several_heads_and_masks_count_with_their_mean(random):
    vectors = random.standard_normal((8, 2))
    heads = [mfpde.Softmax(A=1), mfpde.Softmax(A=-2)]
    found = value("leaders", vectors, attention=mfpde.MultiHead(heads=heads))["leaders-share"]
    each = [pairs_of(head, vectors, np.ones(8)).max(axis=1).mean() for head in heads]
    assert found == pytest.approx(np.mean(each), rel=1e-12)
    masked = mfpde.Masked(attention=mfpde.Softmax(A=1), positions=8)
    measure = mfpde.Particles(vectors, geometry=PLANE, positions=np.arange(8) / 8)
    equation = mfpde.Equation(geometry=PLANE, attention=masked)
    entropy = lookup("observable", "attention-entropy")().evaluate(Instant(0.0, measure, equation, lambda: 0.0))
    rows = []
    for index in range(8):
        scores = vectors[: index + 1] @ vectors[index]
        row = np.exp(scores) / np.exp(scores).sum()
        rows.append(-np.sum(row * np.log(row)))
    assert entropy["attention-entropy"] == pytest.approx(np.mean(rows), abs=1e-12)


def test_rank_of_tokens(random):
    flat = random.standard_normal((200, 2)) @ random.standard_normal((2, 5))
    weights = random.random(200)
    found = value("token-rank", flat, weights, mfpde.Space(dimension=5))
    assert found["token-rank"] == 2
    singular = np.linalg.svd(np.sqrt(weights / weights.sum())[:, None] * flat, compute_uv=False)
    p = singular[:2] / singular[:2].sum()
    assert found["token-rank-effective"] == pytest.approx(np.exp(-np.sum(p * np.log(p))), abs=1e-10)


def in_hull(point, others):
    """By linear programming."""
    from scipy.optimize import linprog

    equal = np.vstack([others.T, np.ones(len(others))])
    return linprog(np.zeros(len(others)), A_eq=equal, b_eq=np.append(point, 1.0)).status == 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_vertices_are_what_is_in_no_hull_of_others(random, dimension):
    points = random.standard_normal((40, dimension))
    vertices = sum(not in_hull(points[i], np.delete(points, i, axis=0)) for i in range(40))
    space = (None, None, PLANE, mfpde.Space(dimension=3))[dimension]
    found = value("polytope", points, geometry=space, tolerance=1e-9)
    assert found["polytope"] == vertices
    assert found["polytope-share"] == pytest.approx(vertices / 40)
    flat = np.column_stack([points[:, 0], 2 * points[:, 0]])
    assert value("polytope", flat)["polytope"] == 2
    assert value("polytope", np.ones((3, 2))) == {"polytope": 1.0, "polytope-share": 1.0}


def test_planes_of_tokens(random):
    V = [[0.647, 0.819], [0.612, 0.633]]
    values, left = np.linalg.eig(np.transpose(V))
    f = left[:, values.argmax()]
    along = np.array([-f[1], f[0]])
    heights = np.repeat([-1.0, 0.0, 3.0], 5)
    tokens = heights[:, None] * f + random.standard_normal(15)[:, None] * along
    found = value("planes", tokens, attention=mfpde.Softmax(A=1, V=V))
    assert found["planes"] == 3
    assert found["planes-width"] < 1e-14
    tokens[0] += 0.04 * f
    wide = np.sqrt(((np.array([0.04, 0, 0, 0, 0]) - 0.008) ** 2).sum() / 15) / 4
    assert value("planes", tokens, attention=mfpde.Softmax(A=1, V=V))["planes-width"] == pytest.approx(wide, rel=1e-10)


def maxima(values, round_=False):
    before, after = np.roll(values, 1), np.roll(values, -1)
    peaks = (values > before) & (values >= after)
    if not round_:
        peaks[[0, -1]] = False
    return int(peaks.sum())


def test_modes_of_the_score(random):
    angles = random.uniform(0, 2 * np.pi, 200)
    grid = np.linspace(0, 2 * np.pi, 20000, endpoint=False)
    for beta in (3.0, 50.0):
        z = np.exp(beta * (np.cos(grid[:, None] - angles) - 1)).sum(axis=1)
        found = value("score-modes", angles, geometry=CIRCLE, attention=mfpde.Softmax(beta=beta))
        assert found["score-modes"] == maxima(z, round_=True)
    places = 5 + random.standard_normal(100)
    grid = np.linspace(places.min() - 0.5, places.max() + 0.5, 40000)
    for beta in (2.0, 400.0):
        z = np.exp(-0.5 * beta * (grid[:, None] - places) ** 2).sum(axis=1)
        found = value("score-modes", places, geometry=LINE, attention=mfpde.Softmax(beta=beta))
        assert found["score-modes"] == maxima(z)


def test_modes_of_uniform_tokens_on_the_circle(random):
    """`E[M] / sqrt(beta) -> sqrt(3/2)` (physics section 12)."""
    beta, modes = 100.0, []
    for _ in range(20):
        tokens = random.uniform(0, 2 * np.pi, 4000)
        modes.append(value("score-modes", tokens, geometry=CIRCLE, attention=mfpde.Softmax(beta=beta))["score-modes"])
    assert np.mean(modes) / np.sqrt(beta) == pytest.approx(np.sqrt(1.5), rel=0.12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 9])
def test_distances_of_pairs(random, dimension):
    points, weights = random.standard_normal((40, dimension)), random.random(40)
    share = weights / weights.sum()
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    off = ~np.eye(40, dtype=bool)
    space = LINE if dimension == 1 else mfpde.Space(dimension=dimension)
    found = value("pair-distances", points, weights, space)
    assert found["pair-distances-least"] == pytest.approx(apart[off].min(), rel=1e-12)
    mean = (np.outer(share, share) * apart**2)[off].sum() / np.outer(share, share)[off].sum()
    assert found["pair-distances"] == pytest.approx(np.sqrt(mean), rel=1e-12)


def test_merged_tokens_have_no_distance(random):
    points = random.standard_normal((20_000, 3))
    points[3000:] = points[0]
    assert value("pair-distances", points, geometry=mfpde.Space(dimension=3))["pair-distances-least"] == 0


def test_distances_on_the_circle_are_chords_around_it():
    found = value("pair-distances", [0.1, 3.0, 6.2], geometry=CIRCLE)
    assert found["pair-distances-least"] == pytest.approx(2 * np.sin((0.1 + 2 * np.pi - 6.2) / 2), rel=1e-12)


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
@pytest.mark.parametrize("name", ["circle", "sphere", "plane"])
def test_growth_of_the_energy_is_its_derivative(random, kind, name):
    attention = lookup("attention", kind)(A=1.3, V=-0.7)
    if name == "circle":
        geometry, points = CIRCLE, random.uniform(0, 6, (12, 1))
    elif name == "plane":
        geometry, points = PLANE, 0.5 * random.standard_normal((12, 2))
    else:
        points = random.standard_normal((12, 3))
        geometry, points = SPHERE, points / np.linalg.norm(points, axis=1, keepdims=True)
    weights = random.random(12)
    velocity = attention.drift(mfpde.Particles(points, weights, geometry), points)

    def energy(time):
        moved = geometry.retract(points + time * velocity)
        vectors = mfpde.Particles(moved, weights, geometry).embedded_nodes()[0]
        share = weights / weights.sum()
        return -0.7 * share @ np.expm1(1.3 * vectors @ vectors.T) @ share / 2.6

    expected = (energy(1e-5) - energy(-1e-5)) / 2e-5
    found = value("energy-growth", points, weights, geometry, attention)
    assert found["energy-growth"] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "geometry", "attention", "said"),
    [
        ("attention-entropy", PLANE, mfpde.Linear(A=1), "attention whose rows are probabilities"),
        ("leaders", PLANE, None, "attention whose rows are probabilities"),
        ("polytope", SPHERE, None, "made for the line and the plane and the space"),
        ("polytope", mfpde.Space(dimension=7), None, "hulls are computed in up to 6 dimensions"),
        ("planes", PLANE, mfpde.Softmax(A=1), "V needs a real, simple eigenvalue"),
        ("planes", PLANE, mfpde.Softmax(A=1, V=[[0, -1], [1, 0]]), "V needs a real, simple eigenvalue"),
        ("planes", PLANE, None, "it tells of attention"),
        ("score-modes", PLANE, mfpde.Softmax(A=1), "made for the circle and the line"),
        ("score-modes", LINE, mfpde.Softmax(A=-1), "A is a positive number"),
        ("energy-growth", PLANE, mfpde.Softmax(A=[[1, 0], [0, 2]]), "A and V multiples of the identity"),
    ],
)
def test_where_they_have_no_meaning_one_sentence_says_so(name, geometry, attention, said):
    equation = mfpde.Equation(geometry=geometry, attention=attention)
    assert said in lookup("observable", name)().unfit(equation)


@pytest.mark.parametrize("noise", [{"kappa": 2}, {"matrix": 0.1}, {"common": 1.0}])
def test_noise_changes_the_energy_in_another_way(noise):
    equation = mfpde.Equation(geometry=PLANE, attention=mfpde.Softmax(A=1), noise=noise)
    assert "without noise" in lookup("observable", "energy-growth")().unfit(equation)


def test_more_tokens_than_pairs_can_be_had_of_are_said_before_the_first_step():
    equation = mfpde.Equation(geometry=SPHERE, attention=mfpde.Softmax(beta=1), initial={"kind": "uniform"})
    many = Layout("particles", (), {"particle": 10**6, "component": 3})
    for name, limit in [
        ("cosine-histogram", "10,000"),
        ("attention-rank", "1,024"),
        ("leaders", "4,096"),
    ]:
        said = lookup("observable", name)().unfit_layout(many, equation)
        assert said == f"it takes every pair of tokens, for up to {limit} of them; here are 1,000,000"
    for name in ("mean-cosine", "clusters", "attention-entropy", "token-rank", "pair-distances", "energy-growth"):
        assert lookup("observable", name)().unfit_layout(many, equation) is None


def test_a_million_tokens_take_no_pairs(random):
    count = 1_000_000
    tokens = random.uniform(0, 1, count)
    attention = mfpde.Softmax(beta=2)
    for name in ("mean-cosine", "attention-entropy", "token-rank", "pair-distances", "energy-growth", "score-modes"):
        found = value(name, tokens, geometry=CIRCLE, attention=attention)
        assert all(np.isfinite(each).all() for each in found.values())
    assert value("clusters", tokens, geometry=CIRCLE)["clusters"] == 1
