"""Energies, entropies and dissipation against plain quadrature of their formulas (physics.md, section 3)."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import i0e, i1e, ive

import mfpde
from mfpde.measure import CircleDensity
from mfpde.observe import Instant
from mfpde.registry import lookup

CIRCLE = mfpde.Circle()
MEASURES = {
    "uniform": mfpde.Uniform(),
    "wave": mfpde.Density(expression="1 + 0.3*cos(theta) - 0.2*sin(2*theta)"),
    "ripple": mfpde.Density(expression="1 + 1e-6*cos(theta - 1)"),
    "von-mises": mfpde.VonMises(direction=1.0, concentration=5),
    "narrow": mfpde.VonMises(direction=2.0, concentration=1e4),
    "deep": mfpde.Density(expression="exp(345*(cos(theta) - 1))"),  # 1e-300 of its maximum at theta = pi
    "touching": mfpde.Density(expression="1 + cos(theta)"),
    "mixture": mfpde.Mixture(
        components=[
            mfpde.VonMises(direction=0.3, concentration=40, weight=2),
            mfpde.VonMises(direction=3.0, concentration=9),
            mfpde.Uniform(weight=0.1),
        ]
    ),
}


def observe(kind: str, measure, equation=None, **options):
    equation = equation or mfpde.Equation(geometry=CIRCLE)
    return lookup("observable", kind)(**options).evaluate(Instant(0.0, measure, equation, lambda: 0.0))


def equation(law=None, kappa=math.inf):
    key = {"interaction": law} if isinstance(law, mfpde.Interaction) else {"attention": law}
    return mfpde.Equation(geometry=CIRCLE, noise={"kappa": kappa}, **key)


def concrete(measure) -> CircleDensity:
    """The measure as a solver holds it: nothing but Fourier modes."""
    known = measure.on(CIRCLE)
    return CircleDensity.of(known.harmonics(known.bandwidth - 1).coefficients)


def integral(function, peaks=(0.3, 1.0, 2.0, 3.0, np.pi), width=0.05) -> float:
    ends = sorted({0.0, 2 * np.pi, *(peak + side * width for peak in peaks for side in (-1, 0, 1))})
    return math.fsum(quad(function, a, b, epsabs=1e-15, epsrel=1e-13, limit=200)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("name", ["wave", "von-mises", "narrow", "mixture", "deep", "touching"])
def test_entropy_is_its_integral(name):
    measure = MEASURES[name].on(CIRCLE)

    def integrand(theta: float) -> float:
        rho = float(measure.evaluate([theta])[0])
        return -rho * math.log(rho) if rho > 0 else 0.0

    assert observe("entropy", concrete(MEASURES[name]))["entropy"] == pytest.approx(integral(integrand), rel=1e-11)


def test_entropy_of_the_uniform_state():
    assert observe("entropy", MEASURES["uniform"])["entropy"] == pytest.approx(math.log(2 * math.pi), rel=1e-15)


def test_entropy_of_an_arc():
    arc = mfpde.Uniform(box=[[1, 3]])
    assert observe("entropy", arc)["entropy"] == pytest.approx(math.log(2), abs=1e-3)


@pytest.mark.parametrize("concentration", [1e-8, 1e-3, 0.3, 5.0, 200.0, 1e4, 1e5])
def test_free_energy_without_attraction_is_relative_entropy(concentration):
    measure = concrete(mfpde.VonMises(direction=1, concentration=concentration))
    got = observe("free-energy", measure, equation(kappa=4))["free-energy"]
    # int mu log(2 pi mu) = c I_1/I_0 - log I_0; for small c, c^2/4 - 3 c^4/64
    c = concentration
    exact = c * (i1e(c) / i0e(c) - 1) - math.log(i0e(c)) if c > 0.1 else c**2 / 4 - 3 * c**4 / 64
    assert got == pytest.approx(exact / 4, rel=1e-11)


@pytest.mark.parametrize("concentration", [1e-8, 1e-3, 0.3, 5.0, 200.0, 1e4, 1e5])
@pytest.mark.parametrize("kappa", [0.5, 3.0])
def test_dissipation_under_diffusion_is_fisher_information(concentration, kappa):
    measure = concrete(mfpde.VonMises(direction=1, concentration=concentration))
    got = observe("dissipation", measure, equation(kappa=kappa))["dissipation"]
    # int mu (c sin)^2 = c I_1/I_0
    exact = concentration * i1e(concentration) / i0e(concentration) / kappa**2
    assert got == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("name", ["wave", "ripple", "von-mises", "deep", "touching", "mixture"])
@pytest.mark.parametrize(("beta", "kappa"), [(0.0, 4.0), (1.0, math.inf), (5.0, 0.3)])
def test_dissipation_is_its_integral(name, beta, kappa):
    law = mfpde.Unnormalized(beta=beta)
    measure = MEASURES[name].on(CIRCLE)

    def integrand(theta: np.ndarray) -> np.ndarray:
        slope, step = 0.0, 1e-4
        if kappa < math.inf:  # sixth-order difference of log rho, no Fourier series
            for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
                right, left = (np.log(measure.evaluate(theta + sign * k * step)) for sign in (1, -1))
                slope = slope + weight * (right - left) / step
        return measure.evaluate(theta) * (slope / kappa - np.ravel(law.drift(measure, theta))) ** 2

    got = observe("dissipation", concrete(MEASURES[name]), equation(law, kappa))["dissipation"]
    points = 2 * np.pi * (np.arange(1500) + 0.37) / 1500
    points = points[measure.evaluate(points) > 1e-30]
    expected = 2 * np.pi * integrand(points).sum() / 1500
    assert got == pytest.approx(expected, rel=1e-7 if name in ("ripple", "touching", "deep") else 1e-9)


def test_dissipation_vanishes_in_a_stationary_state():
    concentration = 3.0
    kappa = concentration / (i1e(concentration) / i0e(concentration))  # kappa r = c
    measure = concrete(mfpde.VonMises(direction=0.7, concentration=concentration))
    law = equation(mfpde.Unnormalized(beta=0), kappa)
    assert 0 <= observe("dissipation", measure, law)["dissipation"] < 1e-28


def test_dissipation_of_a_jump_is_infinite_under_noise_and_finite_without():
    arc = mfpde.Uniform(box=[[-1, 1]]).on(mfpde.Circle())
    law = mfpde.Unnormalized(beta=0)
    assert observe("dissipation", arc, equation(law, 2.0))["dissipation"] == math.inf
    r = math.sin(1.0)
    exact = r**2 * (0.5 - math.sin(2) / 4)  # r^2 <sin^2>
    assert observe("dissipation", arc, equation(law))["dissipation"] == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 2e-4, 0.5, 1.0, 5.0, 20.0, -1e-9, -3.0])
@pytest.mark.parametrize("name", ["uniform", "wave", "mixture"])
def test_energy_is_the_double_integral(name, scale):
    measure, factor = MEASURES[name].on(CIRCLE), 1.5
    points, weights = measure.nodes()
    theta = points[:, 0]
    cosine = np.cos(theta[:, None] - theta)
    kernel = np.expm1(scale * cosine) / (2 * scale) if scale else 0.5 * cosine
    law = mfpde.Unnormalized(A=scale, V=factor)
    got = observe("energy", measure, equation(law))["energy"]
    assert got == pytest.approx(factor * weights @ kernel @ weights, rel=1e-11, abs=1e-15)


def test_energy_is_the_adaptive_double_integral():
    measure = MEASURES["von-mises"].on(CIRCLE)

    def integrand(theta: float, phi: float) -> float:
        return float(np.prod(measure.evaluate([theta, phi]))) * math.expm1(2 * math.cos(theta - phi)) / 4

    exact = dblquad(integrand, 0, 2 * np.pi, 0, 2 * np.pi, epsabs=1e-10)[0]
    assert observe("energy", measure, equation(mfpde.Unnormalized(beta=2)))["energy"] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("beta", [0.0, 1e-9, 1.0, 5.0, 20.0])
def test_energy_bounds(beta):
    law = equation(mfpde.Unnormalized(beta=beta))
    top = math.expm1(beta) / (2 * beta) if beta else 0.5
    dirac = mfpde.Particles([1.0], geometry=CIRCLE)
    assert observe("energy", dirac, law)["energy"] == pytest.approx(top, rel=1e-12)
    bottom = (ive(0, beta) * math.exp(beta) - 1) / (2 * beta) if beta > 0.1 else beta / 8
    assert observe("energy", mfpde.Uniform(), law)["energy"] == pytest.approx(bottom, rel=1e-12, abs=1e-30)


def test_energy_of_an_interaction():
    measure = MEASURES["mixture"].on(CIRCLE)
    coefficients = [0.7, -0.2, 0.4]
    points, weights = measure.nodes()
    gap = points - points[:, 0]
    kernel = sum(w * np.cos((k + 1) * gap) for k, w in enumerate(coefficients))
    got = observe("energy", measure, equation(mfpde.Interaction(coefficients=coefficients)))["energy"]
    assert got == pytest.approx(0.5 * weights @ kernel @ weights, rel=1e-12)


def test_softmax_has_the_energy_but_no_free_energy():
    law = mfpde.Softmax(beta=3)
    same = equation(mfpde.Unnormalized(beta=3))
    expected = observe("energy", MEASURES["wave"], same)["energy"]
    assert observe("energy", MEASURES["wave"], equation(law))["energy"] == pytest.approx(expected, rel=1e-13)
    for kind in ("free-energy", "dissipation"):
        assert "softmax" in lookup("observable", kind)().unfit(equation(law, 2.0))
        with pytest.raises(mfpde.ProblemError, match="softmax"):
            observe(kind, MEASURES["wave"], equation(law, 2.0))


def test_matrices_have_no_zonal_energy():
    law = mfpde.Unnormalized(A=[[1, 0.5], [0, 1]])
    for kind in ("energy", "free-energy", "dissipation"):
        assert "multiples of the identity" in lookup("observable", kind)().unfit(equation(law))
    assert lookup("observable", "energy")().unfit(equation()) is not None
    assert "700" in lookup("observable", "energy")().unfit(equation(mfpde.Softmax(beta=800)))


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_free_energy_is_entropy_and_energy(beta):
    law, kappa = mfpde.Unnormalized(beta=beta), 1.7
    problem = equation(law, kappa)
    for measure in (MEASURES["von-mises"], MEASURES["mixture"]):
        entropy = observe("entropy", measure)["entropy"] - math.log(2 * math.pi)
        energy = observe("energy", measure, problem)["energy"] - observe("energy", mfpde.Uniform(), problem)["energy"]
        assert observe("free-energy", measure, problem)["free-energy"] == pytest.approx(
            -entropy / kappa - energy, rel=1e-12
        )
    assert observe("free-energy", mfpde.Uniform(), problem)["free-energy"] == 0


def test_free_energy_keeps_its_digits_near_the_uniform_state():
    law, size = equation(mfpde.Unnormalized(beta=0), kappa=4), 1e-9
    measure = CircleDensity.of(np.array([1.0, size / 2]))
    exact = (size**2 / 4) / 4 - 0.5 * (size / 2) ** 2
    assert observe("free-energy", measure, law)["free-energy"] == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("kind", ["entropy", "free-energy", "dissipation", "minimum"])
def test_point_masses_are_told_why(kind):
    points = mfpde.Particles([0.0, 1.0], geometry=CIRCLE)
    with pytest.raises(mfpde.ProblemError, match=r"needs a density.*Particles|point masses have no density"):
        observe(kind, points, equation(mfpde.Unnormalized(beta=1), 2.0))


@pytest.mark.parametrize("kind", ["energy", "free-energy", "dissipation", "entropy", "clusters", "minimum"])
def test_an_evaluation_takes_as_few_calls_for_many_modes_as_for_some(kind, calls):
    """What an observer costs is told by these: it is called at every snapshot."""
    law, made = equation(mfpde.Unnormalized(beta=5), 1.0), []
    for modes in (128, 1024):
        measure = CircleDensity.of(mfpde.VonMises(direction=1, concentration=100).harmonics(modes - 1).coefficients)
        observe(kind, measure, law)  # what is remembered is made once
        made.append(calls(lambda measure=measure: observe(kind, measure, law)))
    assert made[0] < 1500
    assert made[1] < made[0] + (1000 if kind == "clusters" else 50)


def test_energy_of_weighted_heads_is_the_weighted_sum_of_theirs():
    """Of all of it: what is left in the uniform state, too."""
    heads = [mfpde.Unnormalized(beta=2.0, weight=0.5), mfpde.Unnormalized(beta=0.3, weight=-2.0)]
    law = mfpde.MultiHead(heads=heads, weight=3.0)
    for name in ("uniform", "wave"):
        measure = MEASURES[name].on(CIRCLE)
        each = [observe("energy", measure, equation(mfpde.Unnormalized(beta=beta)))["energy"] for beta in (2.0, 0.3)]
        wanted = 3.0 * (0.5 * each[0] - 2.0 * each[1])
        assert observe("energy", measure, equation(law))["energy"] == pytest.approx(wanted, rel=1e-13)
        assert abs(wanted) > 0.1
