"""Masked attention: a token sees the tokens at positions up to its own (physics section 8)."""

import numpy as np
import pytest
from kernel_examples import laws, reference, tokens

import mfpde
from mfpde.measure.positioned import Positioned

KINDS = ["softmax", "unnormalized", "l2", "linear", "relu", "sigmoid", "multi-head"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [60, 700])
def test_each_token_sees_what_came_before(kind, count):
    inside, measure = laws(2, 3.0)[kind], tokens(2, count, 4)
    found = mfpde.Masked(attention=inside).drift(measure, measure.points)
    for i in range(0, count, 7):
        seen = measure.positions <= measure.positions[i]
        expected = reference(inside, measure.points[i : i + 1], measure.points[seen], measure.weights[seen])
        assert np.abs(found[i] - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


def test_sinkhorn_balances_what_is_seen():
    measure, inside = tokens(2, 60, 4), mfpde.Sinkhorn(A=1.5)
    found = mfpde.Masked(attention=inside).drift(measure, measure.points)
    for i in range(0, 60, 11):
        seen = measure.positions <= measure.positions[i]
        alone = mfpde.Particles(measure.points[seen], measure.weights[seen])
        np.testing.assert_allclose(found[i], inside.drift(alone, measure.points[i : i + 1])[0], atol=1e-13)


def test_later_tokens_change_nothing():
    law, measure = mfpde.Masked(attention=laws(2, 3.0)["softmax"]), tokens(2, 300, 4)
    moved = measure.points + np.where(measure.positions[:, None] > 0.5, 3.0, 0.0)
    early = measure.positions <= 0.5
    later = law.drift(mfpde.Particles(moved, measure.weights, positions=measure.positions), moved)
    np.testing.assert_allclose(later[early], law.drift(measure, measure.points)[early], atol=1e-13)


def test_one_position_masks_nothing():
    inside, measure = laws(2, 3.0)["softmax"], tokens(2, 300, 4)
    together = mfpde.Particles(measure.points, measure.weights, positions=np.full(300, 0.5))
    found = mfpde.Masked(attention=inside).drift(together, together.points)
    np.testing.assert_allclose(found, inside.drift(measure, measure.points), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_panels_are_positions(kind):
    """A density on positions x R is particles at its points; panels keep their mass."""
    axis, random = np.linspace(-1, 1, 24), np.random.default_rng(3)
    lattices = [mfpde.Lattice.of([axis], [0.1 * k], [[1 + 0.1 * k]]) for k in range(4)]
    panels = [
        mfpde.Panel(lattice, random.random(24) / 4, averages=False, position=0.25 * k)
        for k, lattice in enumerate(lattices)
    ]
    density = mfpde.GridDensity(panels)
    nodes, weights = density.nodes()
    particles = mfpde.Particles(nodes, weights, positions=density.positions)
    law = mfpde.Masked(attention=laws(1, 2.0)[kind])
    scale = 1.0 if kind in ("softmax", "l2") else weights.sum()
    for panel in panels:
        found = law.drift(density, panel.lattice)
        np.testing.assert_allclose(found, law.drift(density, panel.lattice, panel.position))
        points = panel.lattice.points()
        positions = np.full(24, panel.position)
        np.testing.assert_allclose(law.drift(density, points, positions), found.T, atol=1e-13)
        if kind != "multi-head":
            expected = scale * law.drift(particles, points, positions)
            np.testing.assert_allclose(found[0], expected[:, 0], atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["softmax", "l2", "linear", "multi-head"])
def test_laws_at_positions_are_those_of_their_nodes(kind):
    """A mixture of earlier laws by their closed forms, against sums over all their nodes."""
    parts = [mfpde.Normal([m, -m], [[0.3, 0.1 * m], [0.1 * m, 0.2]], mfpde.Plane()) for m in (0.0, 1.0, -0.5)]
    measure = Positioned([0.1, 0.4, 0.9], parts, [1.0, 2.0, 1.0])
    law, points = mfpde.Masked(attention=laws(2, 0.7)[kind]), tokens(2, 6, 1).points
    for position, count in ((0.1, 1), (0.5, 2), (1.0, 3)):
        nodes, weights = zip(*(part.nodes() for part in parts[:count]), strict=True)
        shares = [share * w for share, w in zip(measure.shares, weights, strict=False)]
        seen = mfpde.Particles(np.concatenate(nodes), np.concatenate(shares))
        expected = law.attention.drift(seen, points)
        if kind == "linear":
            expected = expected * measure.shares[:count].sum()
        found = law.drift(measure, points, np.full(6, position))
        if kind != "multi-head":
            assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()
        np.testing.assert_allclose(law.drift(measure, points, position), found)


def test_slices():
    assert mfpde.Masked(attention=mfpde.Softmax(A=1), positions=4).slices() == (0.125, 0.375, 0.625, 0.875)
    assert mfpde.Masked(attention=mfpde.Softmax(A=1), positions=[0, 0.5]).slices() == (0.0, 0.5)
    assert len(mfpde.Masked(attention=mfpde.Softmax(A=1)).slices()) == 16


@pytest.mark.parametrize(
    ("points", "positions", "message"),
    [
        ([[0.0, 0.0]], None, "positions: are wanted, one for each point"),
        ([[0.0, 0.0]], [-1.0], "positions: a token at s = -1 sees nothing: the first of the measure is at 0"),
        ([[0.0, 0.0]], [0.1, 0.2], r"positions: must be finite and have shape \(1,\), not \(2,\)"),
        ([[0.0, 0.0]], [np.nan], "positions: must be finite"),
    ],
)
def test_positions_are_wanted(points, positions, message):
    with pytest.raises(mfpde.ProblemError, match=message):
        mfpde.Masked(attention=mfpde.Softmax(A=1)).drift(tokens(2, 300, 4), points, positions)


def test_the_measure_must_have_positions():
    with pytest.raises(mfpde.ProblemError, match="has no positions, which masked attention needs"):
        mfpde.Masked(attention=mfpde.Softmax(A=1)).drift(mfpde.Particles([[0.0]]), [[0.0]])


@pytest.mark.parametrize("positions", [0, [0.5, 0.2], [2.0], []])
def test_bad_positions_of_a_density(positions):
    with pytest.raises(mfpde.ProblemError, match="positions"):
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line"},
                "attention": {"kind": "masked", "attention": {"kind": "softmax", "A": 1}, "positions": positions},
            }
        )
