"""What every registered observable promises."""

from dataclasses import dataclass

import numpy as np
import pytest

import mfpde
from mfpde.equation import Noise
from mfpde.measure import CircleDensity, GridDensity, Normal, Panel
from mfpde.observe import Instant, Observable
from mfpde.registry import members

EQUATION = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=2), noise={"kappa": 1.5})
LINE = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Unnormalized(beta=0.2), noise={"kappa": 1.5})
PLANE = mfpde.Equation(geometry=mfpde.Plane(), attention=mfpde.Softmax(A=0.2), noise={"kappa": 1.5})
CLUSTERS = [mfpde.VonMises(direction=1.0 + 0.3 * i, concentration=2000, weight=1 + i) for i in range(16)]
CIRCLE = {
    "initial": mfpde.VonMises(direction=1, concentration=9),
    "series": CircleDensity.of(mfpde.VonMises(direction=5, concentration=30).harmonics(63).coefficients),
    "sixteen clusters": mfpde.Mixture(components=CLUSTERS),
}
NAMES = list(members("observable"))
OF_TOKENS = {name for name in NAMES if members("observable")[name].looks_at == ("particles",)}
#: ten seconds: operators of thousands of modes
SLOW = ("spectral-gap", "sixteen clusters")
ON_CIRCLE = [n for n in NAMES if n not in OF_TOKENS and members("observable")[n]().unfit(EQUATION) is None]


def on_grid(equation, panels=1):
    """Gaussians on grids of their own."""
    dimension = equation.geometry.ambient_dimension
    frames = []
    for index in range(panels):
        lattice = mfpde.Lattice.of([np.linspace(-6, 6, 49)] * dimension, np.full(dimension, 1.5 * index))
        law = Normal(lattice.origin, np.eye(dimension), equation.geometry)
        frames.append(Panel(lattice, law.cell_averages(lattice) / panels))
    return GridDensity(frames)


FLAT = {
    "density": [(LINE, on_grid(LINE)), (PLANE, on_grid(PLANE)), (LINE, on_grid(LINE, 2)), (PLANE, on_grid(PLANE, 2))],
    "gaussian": [(LINE, mfpde.Gaussian(mean=1, covariance=2)), (PLANE, Normal([0, 1], [[2, 1], [1, 3]]))],
    "particles": [(LINE, mfpde.Particles([1.0, 4.0], geometry=mfpde.Line()))],
}
#: what no measure on the line or the plane has, and what its form does not tell
OF_CIRCLE_AND_SPHERES = {
    *(
        "degrees",
        "dissipation",
        "energy-share",
        "free-energy",
        "mean-direction",
        "modes",
        "nematic-order",
        "spectral-gap",
    ),
    "order-parameter",
}
#: what has no meaning on one of them, or under these laws (with noise, and V = 1)
ELSEWHERE = {"line": {"energy-growth", "planes"}, "plane": {"energy-growth", "planes", "score-modes"}}
UNSEEN = {
    "density": OF_TOKENS,
    "gaussian": {"clusters", "frame", "minimum", "support-radius", *OF_TOKENS},
    "particles": {"entropy", "frame", "minimum"},
}


def test_the_family_is_what_users_are_told():
    wanted = {
        *("attention-tilt", "box-leak", "clusters", "covariance", "dissipation", "energy", "entropy", "frame"),
        *("free-energy", "mass", "mean", "mean-direction", "minimum", "modes", "order-parameter", "residual"),
        *("support-radius", "mean-cosine", "cosine-histogram", "attention-entropy", "attention-rank", "token-rank"),
        *("leaders", "polytope", "planes", "score-modes", "pair-distances", "energy-growth"),
    }
    assert wanted <= set(NAMES)


#: what a figure takes the finite values of a series for, by its scale
SCALES = {
    "value": lambda _: True,
    "balance": lambda _: True,
    "magnitude": lambda value: value >= 0,
    "angle": lambda value: np.abs(value) <= 2 * np.pi,
    "count": lambda value: value == np.round(value),
    "share": lambda value: (value >= 0) & (value <= 1),
}


def check(name, values, series):
    """Every value has the name, the shape and the range that is said of it."""
    assert values.keys() == series.keys()
    for key, described in series.items():
        assert key == name or key.startswith(f"{name}-")
        assert described.long_name
        value = np.asarray(values[key])
        assert value.dtype == float
        assert value.ndim == len(described.extent)
        assert all(size in (None, length) for length, (_, size) in zip(value.shape, described.extent, strict=True))
        assert np.all(SCALES[described.scale](value[np.isfinite(value)]))


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        pytest.param(name, measure, marks=pytest.mark.long if (name, measure) == SLOW else ())
        for name in ON_CIRCLE
        for measure in CIRCLE
    ],
)
def test_values_are_what_the_series_say(name, measure):
    observable: Observable = members("observable")[name]()
    values = observable.evaluate(Instant(0.0, CIRCLE[measure], EQUATION, lambda: 0.25, {"leak": 0.5}))
    check(name, values, observable.series(mfpde.Circle()))
    for value in values.values():
        if name != "clusters" or measure == "sixteen clusters":
            assert np.isfinite(value).all()
        else:
            assert np.isfinite(np.asarray(value).flat[0])


@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.parametrize("name", NAMES)
def test_values_on_line_and_plane(name, kind):
    observable: Observable = members("observable")[name]()
    for equation, measure in FLAT[kind]:
        misplaced, unseen = observable.unfit(equation), observable.unfit_solver(SHOWS[kind], equation)
        assert (misplaced is not None) == (name in OF_CIRCLE_AND_SPHERES | ELSEWHERE[equation.geometry.name])
        if misplaced is None:
            assert (unseen is not None) == (name in UNSEEN[kind])
        if misplaced is None and unseen is None:
            values = observable.evaluate(Instant(0.0, measure, equation, lambda: 0.25, {"leak": 0.5}))
            check(name, values, observable.series(equation.geometry))
            assert np.isfinite(values[next(iter(values))]).all()


@dataclass(frozen=True)
class Showing:
    """What observables ask of a solver."""

    shows: str
    kind: str = "some"
    facts: frozenset[str] = frozenset({"leak"})


SHOWS = {kind: Showing(kind) for kind in FLAT}


def test_free_energy_of_particles_needs_no_density_without_noise():
    free_energy, particles = members("observable")["free-energy"](), Showing("particles")
    assert free_energy.unfit_solver(particles, EQUATION).startswith("it looks at a density")
    assert free_energy.unfit_solver(particles, EQUATION.model_copy(update={"noise": Noise()})) is None


def test_what_a_solver_cannot_tell():
    box = members("observable")["box-leak"]()
    assert box.unfit_solver(Showing("density", facts=frozenset()), LINE) == "the some solver cannot tell it"
    assert box.unfit_solver(Showing("density"), LINE) is None
    said = members("observable")["minimum"]().unfit_solver(Showing("gaussian"), LINE)
    assert (
        said == "it looks at a density on a grid or tokens that carry a density, and the some solver shows a Gaussian"
    )


@pytest.mark.parametrize("name", NAMES)
def test_names_are_their_kind(name):
    problem = mfpde.Problem.model_validate({"geometry": {"kind": "circle"}, "observe": [name]})
    assert problem.observe[0].canonical()["kind"] == name


@pytest.mark.parametrize("name", ON_CIRCLE)
def test_rotation_changes_directions_and_nothing_else(name):
    observable: Observable = members("observable")[name]()
    turned = {}
    for angle in (0.4, 2.9):
        measure = mfpde.VonMises(direction=angle, concentration=4)
        turned[angle] = observable.evaluate(Instant(0.0, measure, EQUATION, lambda: 0.25, {"leak": 0.5}))
    for key in turned[0.4]:
        first, second = (np.asarray(turned[angle][key]) for angle in (0.4, 2.9))
        if key.endswith(("phase", "position", "direction")):
            first, second = first[..., None] - 0.4, second[..., None] - 2.9
        if not key.startswith(("modes", "mean", "covariance")) or key.endswith(("direction", "eigenvalues")):
            np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-13)


def test_particles_have_the_observables_of_a_measure():
    particles = mfpde.Particles([0.1, 2.0, 2.2], geometry=mfpde.Circle())
    for name in ("mass", "order-parameter", "mean-direction", "modes", "energy", "residual"):
        values = members("observable")[name]().evaluate(Instant(0.0, particles, EQUATION, lambda: 0.25))
        assert all(np.isfinite(value).all() for value in values.values())


def test_residual_is_the_solvers_word():
    assert members("observable")["residual"]().evaluate(Instant(0.0, mfpde.Uniform(), EQUATION, lambda: 0.25)) == {
        "residual": 0.25
    }
