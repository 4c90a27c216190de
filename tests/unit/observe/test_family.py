"""What every registered observable promises."""

import numpy as np
import pytest

import mfpde
from mfpde.measure import CircleDensity
from mfpde.observe import Instant, Observable
from mfpde.registry import members

EQUATION = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=2), noise={"kappa": 1.5})
CLUSTERS = [mfpde.VonMises(direction=1.0 + 0.3 * i, concentration=2000, weight=1 + i) for i in range(16)]
MEASURES = {
    "initial": mfpde.VonMises(direction=1, concentration=9),
    "series": CircleDensity.of(mfpde.VonMises(direction=5, concentration=30).fourier(64)),
    "sixteen clusters": mfpde.Mixture(components=CLUSTERS),
}
NAMES = list(members("observable"))


def test_the_family_is_what_users_are_told():
    wanted = {
        "clusters", "dissipation", "energy", "entropy", "free-energy", "mass",
        "mean-direction", "minimum", "modes", "order-parameter", "residual",
    }  # fmt: skip
    assert wanted <= set(NAMES)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_what_the_series_say(name, measure):
    observable: Observable = members("observable")[name]()
    series = observable.series()
    values = observable.evaluate(Instant(0.0, MEASURES[measure], EQUATION, lambda: 0.25))
    assert values.keys() == series.keys()
    for key, described in series.items():
        assert key == name or key.startswith(f"{name}-")
        assert described.long_name
        value = np.asarray(values[key])
        assert value.dtype == float
        assert value.shape == tuple(size for _, size in described.extent)
        if name != "clusters" or measure == "sixteen clusters":
            assert np.isfinite(value).all()
        else:
            assert np.isfinite(value.flat[0])


@pytest.mark.parametrize("name", NAMES)
def test_names_are_their_kind_and_fit_a_problem(name):
    problem = mfpde.Problem.model_validate({"geometry": {"kind": "circle"}, "observe": [name]})
    assert problem.observe[0].canonical()["kind"] == name
    assert members("observable")[name]().unfit(EQUATION) is None


@pytest.mark.parametrize("name", NAMES)
def test_rotation_changes_directions_and_nothing_else(name):
    observable: Observable = members("observable")[name]()
    turned = {}
    for angle in (0.4, 2.9):
        measure = mfpde.VonMises(direction=angle, concentration=4)
        turned[angle] = observable.evaluate(Instant(0.0, measure, EQUATION, lambda: 0.25))
    for key in turned[0.4]:
        first, second = (np.asarray(turned[angle][key]) for angle in (0.4, 2.9))
        if key.endswith(("phase", "position", "direction")):
            first, second = first[..., None] - 0.4, second[..., None] - 2.9
        if not key.startswith("modes"):
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
