"""Densities written as expressions: found wherever they are, with their edges, or refused in one sentence."""

import mpmath
import numpy as np
import pytest
from scipy.special import gamma

from mfpde import Circle, Density, Gaussian, Lattice, Line, Plane, ProblemError, Space, Sphere, Uniform
from mfpde.measure.adaptive_quadrature import graded, split
from mfpde.measure.expression import Expression


def on(text, geometry):
    return Density(expression=text).on(geometry)


@pytest.mark.parametrize(
    ("text", "norm", "mean", "variance"),
    [
        ("exp(-x**2/2)", np.sqrt(2 * np.pi), 0, 1),
        ("exp(-x**4)", 2 * gamma(1.25), 0, gamma(0.75) / gamma(0.25)),
        ("exp(-abs(x - 0.1))", 2, 0.1, 2),
        ("maximum(0, 1 - x**2)", 4 / 3, 0, 1 / 5),
        ("sqrt(maximum(0, 1 - x**2))", np.pi / 2, 0, 1 / 4),
        ("maximum(0, x)*exp(-x)", 1, 2, 2),
        ("exp(-(x - 3)**2*1e8/2)", np.sqrt(2 * np.pi) * 1e-4, 3, 1e-8),
        ("exp(-(x - 5000)**2/2e4)", np.sqrt(2e4 * np.pi), 5000, 1e4),
        ("exp(-(x - 100)**2/2) + exp(-(x + 100)**2/2)", 2 * np.sqrt(2 * np.pi), 0, 10001),
        ("1/cosh(x)", np.pi, 0, np.pi**2 / 4),
    ],
)
def test_on_the_line(text, norm, mean, variance):
    law = on(text, Line())
    scale = np.sqrt(variance)
    relative = 1e-13 * max(1, abs(mean) / scale, 100 / scale if "100" in text else 1)
    assert law.norm == pytest.approx(norm, rel=10 * relative)
    assert law.mean[0] == pytest.approx(mean, abs=10 * relative * scale)
    assert law.covariance[0, 0] == pytest.approx(variance, rel=20 * relative)
    assert law.nodes()[1].size < 10_000


@pytest.mark.parametrize(
    ("text", "norm", "variances"),
    [
        ("exp(-x**2/2 - y**2/2 - x*y/2)", 4 * np.pi / np.sqrt(3), (4 / 3, 4 / 3)),
        ("exp(-x**4 - 16*y**4)", 2 * gamma(1.25) ** 2, (gamma(0.75) / gamma(0.25), gamma(0.75) / gamma(0.25) / 4)),
        ("maximum(0, 1 - x**2 - y**2)", np.pi / 2, (1 / 6, 1 / 6)),
        ("sqrt(maximum(0, 1 - x**2 - (y - 2)**2/4))", 4 * np.pi / 3, (1 / 5, 4 / 5)),
        ("maximum(0, 1 - maximum(abs(x), abs(y)))", 4 / 3, (1 / 5, 1 / 5)),
        ("exp(-sqrt(x**2 + y**2))", 2 * np.pi, (3, 3)),
    ],
)
def test_on_the_plane(text, norm, variances):
    law = on(text, Plane())
    assert law.norm == pytest.approx(norm, rel=1e-13)
    np.testing.assert_allclose(np.diag(law.covariance), variances, rtol=2e-13)


@pytest.mark.parametrize(("half", "second", "turn"), [(1.0, 0.5, 0.5), (1.0, 0.25, 0.9)])
def test_corners_between_the_samples_belong_to_a_turned_rectangle(half, second, turn):
    """Those of the box come out of samples a quarter apart, between which a corner reaches."""
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    sides = [f"({a} - abs({x}*x + {y}*y - 0.2))" for a, (x, y) in zip((half, second), axes.T.tolist(), strict=True)]
    law = on("*".join(f"(1 + {side}/abs({side}))" for side in sides), Plane())  # 4 inside
    assert law.norm == pytest.approx(16 * half * second, rel=1e-13)
    np.testing.assert_allclose(law.mean, axes @ [0.2, 0.2], atol=1e-14)
    np.testing.assert_allclose(
        law.covariance, axes @ np.diag([half**2 / 3, second**2 / 3]) @ axes.T, atol=1e-14
    )  # fmt: skip


def test_slopes_so_steep_that_places_are_rounding_on_them():
    """A ramp of 1e-9 in place of an edge: its values are known to 1e-7, which halving it does not change."""
    low, high = np.array([0.5]), np.array([1.5])
    panels = split(low, high, np.zeros(2, dtype=int), np.array([1 - 1e-9, 1.0]))
    _, _, weights = graded(lambda _, t: np.clip(3e9 * (1 - (t / 3 + 2 / 3)), 0, 1), panels, 1e-14)
    assert weights.sum() == pytest.approx(0.5 - 0.5e-9, abs=1e-15)
    assert weights.size <= 40


@pytest.mark.parametrize("ends", [[], [1.0], [1.0, 0.0], [0.0, 0.0]])
def test_lines_without_length_have_no_nodes(ends):
    """Of several, each with a floor of its own."""
    panels = split(np.zeros(len(ends)), np.array(ends), np.zeros(0, dtype=int), np.zeros(0))
    item, _, weights = graded(lambda _, t: np.exp(t), panels, 1e-14, floor=np.full(len(ends), 1e-12))
    assert not item.any()
    assert weights.sum() == pytest.approx(sum(np.expm1(ends)), abs=1e-15)


def test_edges_stand_any_tilt_and_tails_only_theirs():
    edge = on("maximum(0, 1 - x**2)", Line())
    w = np.array([[0.0], [300.0], [1e5]])
    exact = np.log(1.5 * (1 - 1 / w[1:, 0]) / w[1:, 0] ** 2) + w[1:, 0]
    value, gradient = edge.log_laplace(w, gradient=True)
    np.testing.assert_allclose(value, [0, *exact], atol=1e-12, rtol=1e-15)
    slope = 1 - 2 / w[1:, 0] + 1 / (w[1:, 0] * (w[1:, 0] - 1))
    np.testing.assert_allclose(gradient[1:, 0], slope, atol=1e-12)
    tail = on("exp(-abs(x))", Line())
    assert tail.log_laplace([[0.9]])[0] == pytest.approx(-np.log(1 - 0.81), rel=1e-13)
    for w in (0.99, 1.0, 2.0):
        with pytest.raises(ProblemError, match="it is infinite"):
            tail.log_laplace([[w]])
    heavy = on("1/(1 + x**4)", Line())
    assert heavy.norm == pytest.approx(np.pi / np.sqrt(2), rel=1e-13)
    with pytest.raises(ProblemError, match="it is infinite"):
        heavy.log_laplace([[1e-3]])
    with pytest.raises(ProblemError, match="too heavy for a covariance"):
        _ = heavy.covariance


@pytest.mark.parametrize(
    ("text", "geometry", "low", "high"),
    [
        ("maximum(0, 1 - (x - 0.3)**2)", Line(), [-0.7], [1.3]),
        ("maximum(0, 1 - x**2/4 - (y - 0.3)**2)", Plane(), [-2, -0.7], [2, 1.3]),
        ("maximum(0, 1 - abs(x + y) - abs(x - y)/3)", Plane(), [-1.5, -1.5], [1.5, 1.5]),
    ],
)
def test_a_bounded_support_is_found_exactly(text, geometry, low, high):
    law = on(text, geometry)
    assert law.compact
    np.testing.assert_allclose(law.reach(), [low, high], atol=1e-14)
    assert not on("exp(-x**2)", Line()).compact


@pytest.mark.parametrize("matrix", [np.eye(2), [[0.8, -0.7], [0.6, 0.7]]], ids=["straight", "oblique"])
def test_cells_cut_by_an_edge(matrix):
    """A jump written down has the cell averages of the disc, whose areas are exact."""
    jump = on("1 + (1.21 - x**2 - y**2)/abs(1.21 - x**2 - y**2)", Plane())
    disc = Uniform(ball={"center": [0, 0], "radius": 1.1}).on(Plane())
    axis = np.linspace(-1.9, 1.9, 20)
    lattice = Lattice.of([axis, axis], [0.03, -0.02], matrix)
    np.testing.assert_allclose(jump.cell_averages(lattice), disc.cell_averages(lattice), rtol=0, atol=1e-12)


def test_cells_of_a_smooth_density_are_right_relative_to_themselves():
    spread = np.linalg.inv([[1, 0.5], [0.5, 1]])
    law = on("exp(-x**2/2 - y**2/2 - x*y/2)", Plane())
    lattice = Lattice.of([np.linspace(-10, 10, 40), np.linspace(-9, 9, 36)])
    exact = Gaussian(mean=[0, 0], covariance=spread).on(Plane()).cell_averages(lattice)
    np.testing.assert_allclose(law.cell_averages(lattice), exact, rtol=2e-13)


@pytest.mark.parametrize(
    ("text", "geometry", "message"),
    [
        ("1", Line(), "infinite mass"),
        ("1/(1 + x**2)", Line(), "infinite mass, or tails too heavy"),
        ("1", Plane(), "infinite mass"),
        ("exp(x)", Line(), "not finite at x = 7"),
        ("x", Line(), r"negative \(-1.07374e\+09\) at x"),
        ("1/x", Line(), "not finite at x = 0;?"),
        ("0*x", Line(), "has mass 0"),
        ("0*z", Sphere(), "has mass 0"),
        ("z", Sphere(), "is negative .* at x"),
        ("theta", Line(), "uses theta, but this space has the coordinates x"),
        ("colatitude", Plane(), "uses colatitude, but this space has the coordinates x, y"),
        ("s*exp(-x**2)", Line(), "only masked attention"),
        ("1 + s*cos(theta)", Circle(), "only masked attention"),
        ("exp(-x**2)", Space(dimension=3), "density is not a measure on space; use gaussian"),
        ("1 + x", Sphere(dimension=4), "density is not a measure on sphere; use von-mises"),
    ],
)
def test_what_is_no_density_is_refused(text, geometry, message):
    with pytest.raises(ProblemError, match=message):
        on(text, geometry)


def test_space_of_one_and_two_dimensions_are_line_and_plane():
    for dimension, geometry in ((1, Line()), (2, Plane())):
        text = "exp(-x**2)" if dimension == 1 else "exp(-x**2 - y**2)"
        same = on(text, Space(dimension=dimension))
        np.testing.assert_array_equal(same.covariance, on(text, geometry).covariance)
        assert same.geometry == Space(dimension=dimension)


def test_what_may_bend_is_read_off_the_expression():
    kinks = Expression("maximum(x, 1) + abs(y)**0.5 + sqrt(2) + (x + y)**2 + x**(1/2)").kinks
    assert sorted(kink.text for kink in kinks) == ["abs(y)", "x", "x - 1", "y"]
    assert Expression("s*x + s").at(s=-0.5).text == "-0.5 * x + -0.5"


@pytest.mark.parametrize(
    ("expression", "second"),
    [("maximum(0, 1 - abs(x) - abs(y))", 1 / 10), ("maximum(0, 1 - x**2 - y**2)", 1 / 6)],
    ids=["pyramid", "cap"],
)
def test_few_nodes_where_there_are_only_edges(expression, second):
    """Panels are cut at edges whatever the refinement; solvers begin with few. `int x^2` of these is 1/10 and 1/6."""
    measure = Density(expression=expression).on(Plane())
    points, weights = measure.nodes(refinement=0.125)
    assert weights.size < 5000
    assert weights @ points[:, 0] ** 2 == pytest.approx(second, rel=1e-13)
    assert measure.nodes(refinement=0.5)[1].size > weights.size


@pytest.mark.parametrize("tilt", [-1000.0, 0.5, 400.0])
def test_tilts_of_the_wide_part_of_a_density_with_a_narrow_one(tilt):
    """Two tents: `int (1 - |x - c|/r)_+ e^{wx} = 2 r e^{cw} (cosh(rw) - 1)/(rw)^2`."""
    density = Density(expression="maximum(0, 1 - abs(x)/10) + 1e4*maximum(0, 1 - 20*abs(x - 1))").on(Line())
    with mpmath.workdps(60):

        def log_laplace(w):
            tents = ((1, mpmath.mpf(10), 0), (10**4, mpmath.mpf(1) / 20, 1))
            parts = (h * 2 * r * mpmath.exp(c * w) * (mpmath.cosh(r * w) - 1) / (r * w) ** 2 for h, r, c in tents)
            return mpmath.log(sum(parts) / 510)

        exact, slope = float(log_laplace(mpmath.mpf(tilt))), float(mpmath.diff(log_laplace, mpmath.mpf(tilt)))
    value, mean = density.log_laplace([[tilt]], gradient=True)
    assert value[0] == pytest.approx(exact, rel=1e-14)
    assert mean[0, 0] == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize("text", ["exp(-x**2)/(1 + x**2)", "exp(-x**2)/(1 + x**4)", "exp(-x**2)/cosh(2*x)"])
def test_symmetric_densities_have_no_mean(text):
    """Points half a step apart are mirror images there, whose masses agree however far the mean is off."""
    assert abs(float(on(text, Line()).mean[0])) < 1e-12
