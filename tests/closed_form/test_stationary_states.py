"""Stationary states and their bifurcations against closed forms and scalar equations solved by quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import eval_legendre, iv

import mfpde
from mfpde.bifurcation.assembling import fitted
from mfpde.bifurcation.clusters import cluster_rates
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.multipliers import degree_multipliers, exponential_multipliers
from mfpde.bifurcation.normal_form import normal_form
from mfpde.bifurcation.phase import tricritical
from mfpde.bifurcation.states import Family, Model

CIRCLE, SPHERE = {"kind": "circle"}, {"kind": "sphere"}


def usa(beta):
    return {"kind": "unnormalized", "beta": beta}


def family(multipliers, low, high):
    return Family("kappa", low, high, lambda kappa: Model(multipliers, kappa * multipliers.scale), multipliers.top)


def diagram(low, high, parameter="kappa", branches=(), **equation):
    block = {"parameter": parameter, "range": [low, high], "branches": list(branches)}
    return mfpde.bifurcate(mfpde.Problem.from_dict({**equation, "bifurcation": block}))


@pytest.fixture(scope="module")
def beta_five():
    return diagram(0.1, 1.0, geometry=CIRCLE, attention=usa(5), branches=["uniform", 1, 2, 3])


@pytest.mark.parametrize("kappa", [2.1, 4.0, 12.0])
def test_kuramoto(kappa):
    state = mfpde.stationary_state(CIRCLE, usa(0), kappa=kappa)
    order = brentq(lambda r: r - iv(1, kappa * r) / iv(0, kappa * r), 1e-3, 1.0, xtol=1e-15)
    assert state.moments[1] == pytest.approx(order, abs=1e-12)
    assert state.moments[2] == pytest.approx(1 - 2 / kappa, abs=1e-13)
    assert state.stable
    expected = np.array([iv(k, kappa * order) / iv(0, kappa * order) for k in range(8)])
    np.testing.assert_allclose(state.moments[:8], expected, atol=1e-13)


def test_kuramoto_pitchfork():
    branch = diagram(1, 6, geometry=CIRCLE, attention=usa(0)).branches[1]
    born = branch.special[0]
    assert born.kind == "branch-point"
    assert born.type == "supercritical"
    assert born.parameter == pytest.approx(2.0, abs=1e-10)
    assert branch.stable[1:].all()


@pytest.mark.parametrize(("dimension", "beta"), [(2, 2.4469183112890461), (3, 1.8161545254358840)])
def test_tricritical_point_from_computed_branches(dimension, beta):
    assert tricritical(dimension, beta - 0.3, beta + 0.4)[0] == pytest.approx(beta, abs=1e-8)


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_criticality_coefficient(dimension, beta):
    multipliers = exponential_multipliers(beta, 1.0, dimension, normalised=False)
    ratio = multipliers.relative[2] / multipliers.relative[1]
    expected = dimension / (dimension + 2) * (1 - (dimension - 1) * ratio / (1 - ratio))
    assert normal_form(multipliers, 1).second == pytest.approx(expected, rel=1e-10)
    critical = multipliers.critical()[1]
    near = family(multipliers, 0.8 * critical, 1.2 * critical)
    assert fitted(near, 1, near.place(critical)).second == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dimension", [2, 3])
def test_softmax_is_always_supercritical(dimension):
    for beta in (0.1, 2.0, 6.0, 20.0):
        multipliers = exponential_multipliers(beta, 1.0, dimension, normalised=True)
        form = normal_form(multipliers, 1)
        assert form.type == "supercritical"
        critical = multipliers.critical()[1]
        near = family(multipliers, 0.8 * critical, 1.2 * critical)
        assert fitted(near, 1, near.place(critical)).second == pytest.approx(form.second, rel=1e-4)


def direct_residual_and_energy(state, beta, kappa):
    """`log mu - kappa W * mu` up to a constant, and the free energy, by double sums over angles."""
    theta = 2 * np.pi * np.arange(400) / 400
    density = state.measure.evaluate(theta)
    share = density * (2 * np.pi / 400)
    kernel = np.exp(beta * np.cos(theta[:, None] - theta))
    level = np.log(density) - kappa / beta * kernel @ share
    energy = share @ np.log(density * 2 * np.pi) / kappa - (share @ kernel @ share - iv(0, beta)) / (2 * beta)
    return np.ptp(level), energy


def test_first_order_point_and_fold(beta_five):
    branch = beta_five.branches[1]
    kinds = {point.kind: point for point in branch.special}
    fold, tie = kinds["fold"], kinds["first-order"]
    for point in (fold, tie):
        residual, energy = direct_residual_and_energy(point.state, 5.0, point.parameter)
        assert residual < 1e-11
        assert energy == pytest.approx(point.free_energy, abs=1e-12)
    assert direct_residual_and_energy(tie.state, 5.0, tie.parameter)[1] == pytest.approx(0, abs=1e-12)
    assert fold.parameter < tie.parameter < kinds["branch-point"].parameter
    # beside a fold two states are there, at a distance like the square root of that to the fold; below it none
    slopes = []
    for step in (1e-8, 1e-6, 1e-4):
        near = branch.states_at(fold.parameter * (1 + step))
        assert len(near) == 2
        assert branch.states_at(fold.parameter * (1 - step)) == []
        slopes.append(abs(near[0].moments[1] - near[1].moments[1]) / np.sqrt(step))
    np.testing.assert_allclose(slopes, slopes[0], rtol=2e-3)
    assert beta_five.coexistence == pytest.approx((fold.parameter, kinds["branch-point"].parameter), abs=1e-12)


def test_every_state_solves_both_equations(beta_five):
    for branch in beta_five.branches:
        assert branch.residual.max() < 1e-13
        assert branch.quadratic_residual.max() < 1e-13
    for place in (10, 40, 60):
        branch = beta_five.branches[1]
        assert direct_residual_and_energy(branch.state(place), 5.0, branch.parameter[place])[0] < 1e-10


def test_instabilities_of_modes_two_and_three(beta_five):
    assert beta_five.branches[2].unstable[1:].tolist() == [2] * (len(beta_five.branches[2]) - 1)
    assert beta_five.branches[3].unstable[1:].tolist() == [4] * (len(beta_five.branches[3]) - 1)


def test_exponentially_small_instability_is_counted():
    state = mfpde.stationary_state(CIRCLE, usa(10), kappa=0.03, mode=2)
    growing = [mode for mode in state.modes if mode.rate > 0]
    assert state.unstable == 2
    assert len(growing) == 2
    fastest = max(abs(mode.rate) for mode in state.modes)
    assert 0 < min(mode.rate for mode in growing) < 1e-7 * fastest


def nematic(strength):
    """`S = <P_2>`, `log Z` of `e^{a P_2}` on S^2, by quadrature."""

    def integral(f):
        return quad(lambda x: f(x) * np.exp(strength * eval_legendre(2, x)), 0, 1, epsabs=1e-14, epsrel=1e-13)[0]

    norm = integral(lambda _: 1.0)
    return integral(lambda x: eval_legendre(2, x)) / norm, np.log(norm)


def test_maier_saupe():
    """kappa(a) = a / S(a): its minimum is the fold, `kappa S^2 / 2 = log Z` the first-order point."""
    explorer = Explorer(family(degree_multipliers([0.0, 1.0], 3), 3.0, 12.0))
    (branch,) = explorer.primary()
    found = {crossing.kind: crossing.point for side in branch.sides for crossing in side.crossings}
    value = explorer.family.value
    fold = minimize_scalar(lambda a: a / nematic(a)[0], bounds=(0.5, 3), method="bounded", options={"xatol": 1e-9})
    assert value(found["fold"].u) == pytest.approx(fold.fun, rel=1e-9)

    def tie(a):
        order, log_norm = nematic(a)
        return 0.5 * a * order - log_norm

    strength = brentq(tie, 1.6, 3.0, xtol=1e-13)
    assert value(found["first-order"].u) == pytest.approx(strength / nematic(strength)[0], rel=1e-9)
    assert value(float(branch.born.born[-1])) == pytest.approx(5.0, abs=1e-10)
    assert len(branch.sides) == 2
    prolate, oblate = (side.path.points[-1].x[0] for side in branch.sides)
    assert prolate > 0 > oblate
    # oblate nematics are unstable against perturbations that break the axis
    assert branch.sides[1].watched[-1].unstable > 0


def test_onsager():
    """`W = -|sin|`: degree 2 leaves at `kappa = 32 / pi`, transcritically."""
    degrees = np.arange(1, 41)
    coefficients = [
        (2 * k + 1) / 2 * quad(lambda x, k=k: -np.sqrt(1 - x * x) * eval_legendre(k, x), -1, 1, epsabs=1e-13)[0]
        for k in degrees
    ]
    multipliers = degree_multipliers(np.where(degrees % 2, 0.0, coefficients), 3)
    assert multipliers.critical()[2] == pytest.approx(32 / np.pi, rel=1e-9)
    assert normal_form(multipliers, 2).type == "transcritical"
    (branch,) = Explorer(family(multipliers, 7.0, 14.0), {2}).primary()
    kinds = [crossing.kind for crossing in branch.sides[0].crossings]
    assert kinds == ["fold", "first-order"]


def test_vertical_branch():
    """`w_k = 1/k`: at kappa = 2 every Poisson kernel, `m_k = r^k`, is stationary."""
    found = diagram(1, 2.2, geometry=CIRCLE, interaction={"coefficients": [1 / k for k in range(1, 65)]}, branches=[1])
    branch = found.branches[1]
    assert branch.vertical
    assert "vertical" in found.messages[0]
    upright = np.abs(branch.parameter - 2) < 1e-12
    assert upright.sum() > 10
    for moments in branch.moments[upright]:
        if 0 < moments[1] < 0.5:
            np.testing.assert_allclose(moments[:20], moments[1] ** np.arange(20), atol=1e-12)
    assert 0.75 < branch.vertical_until < 0.85  # the 128th power is below 1e-12
    assert [point.kind for point in branch.special] == ["branch-point"]
    assert branch.special[0].type == ""


def test_resonance_of_two_modes():
    """`W = cos + cos 2`: both degrees leave at kappa = 2, and mixed branches with them."""
    found = diagram(1, 4, geometry=CIRCLE, interaction={"coefficients": [1, 1]})
    names = [branch.name for branch in found.branches]
    assert names == ["uniform", "mode 2", "modes 1 and 2", "modes 1 and 2"]
    assert [branch.parent for branch in found.branches] == [0, 0, 0, 0]
    assert all(branch.special[0].parameter == pytest.approx(2, abs=1e-10) for branch in found.branches[1:])
    # to second order b_1 = t b_1 (1 + t b_2), b_2 = t b_2 + (t b_1)^2 / 2: two directions with b_1^2 = 2 b_2^2
    for branch in found.branches[2:]:
        first, second = branch.moments[1, 1:3]
        assert (first / second) ** 2 == pytest.approx(2, rel=0.02)


def test_secondary_branch_meets_where_it_was_found():
    found = diagram(1, 6, geometry=CIRCLE, interaction={"coefficients": [1, 1.1]})
    mode_two, secondary = found.branches[2], found.branches[3]
    (place,) = [point for point in mode_two.special[1:] if point.kind == "branch-point"]
    assert secondary.parent == mode_two.number
    assert secondary.special[0].parameter == pytest.approx(place.parameter, abs=1e-12)
    assert secondary.special[0].type == "subcritical"
    assert secondary.moments[0, 1] == 0
    assert abs(secondary.moments[1, 1]) > 1e-3


def test_clusters_that_leave_their_places_together():
    """Odd about the axis of two clusters is even about the axis between them: that branch is followed, too."""
    found = diagram(1, 6, geometry=CIRCLE, interaction={"coefficients": [1, 0.9]})
    two, secondary = found.branches[2:4]
    (place,) = [point for point in two.special[1:] if point.kind == "branch-point"]
    assert secondary.special[0].parameter == pytest.approx(place.parameter, abs=1e-12)
    # the two clusters stand at +-pi/2 and move towards angle 0
    assert (secondary.moments[:, 2] < 0).all()
    assert (secondary.moments[1:, 1] > 0).all()
    assert secondary.residual.max() < 1e-13


def test_a_tricritical_point_has_its_name():
    found = diagram(0.8, 1.3, geometry=CIRCLE, attention=usa(2.4469183112890461), branches=[1])
    assert found.branches[1].special[0].kind == "tricritical"
    assert found.branches[0].special[0].kind == "tricritical"
    found = diagram(0.8, 1.3, geometry=CIRCLE, attention=usa(2.44), branches=[1])
    assert found.branches[1].special[0].kind == "branch-point"


def test_motion_and_exchange_of_two_clusters(beta_five):
    """Mass is exchanged faster just above the birth of the branch, clusters move faster far from it."""
    branch = beta_five.branches[2]
    (crossing,) = branch.rates_cross()
    motion, exchange = cluster_rates(branch.at(crossing))
    assert motion == pytest.approx(exchange, rel=1e-8)
    below, above = (cluster_rates(branch.at(factor * crossing)) for factor in (0.9, 1.1))
    assert below[1] > below[0] > 0
    assert above[0] > above[1] > 0


def test_branches_of_three_clusters():
    """Three clusters lose their symmetry where the uniform state's mode 1 does; what leaves goes through, folds, and
    ties with the three clusters in between."""
    found = diagram(0.5, 6, geometry=CIRCLE, interaction={"coefficients": [1, -0.5, 1.5, 0.3]})
    three, above, below = found.branches[2], found.branches[3], found.branches[4]
    assert three.special[1].parameter == pytest.approx(2.0, abs=1e-10)
    assert [branch.special[0].type for branch in (above, below)] == ["transcritical", "transcritical"]
    if len(below.special) > len(above.special):
        above, below = below, above
    kinds = {point.kind: point for point in above.special}
    tie = kinds["first-order"]
    assert tie.branches == (three.number, above.number)
    assert kinds["fold"].parameter < tie.parameter < 2.0
    lowest = min(state.free_energy for state in above.states_at(tie.parameter))
    assert three.at(tie.parameter).free_energy == pytest.approx(lowest, abs=1e-12)


def test_softmax_through_beta_zero():
    """The branch of one cluster is there for |beta| small at kappa = 3, and nothing happens on it."""
    attention = {"kind": "softmax", "beta": 1}
    found = diagram(-3, 6, "beta", [1], geometry=CIRCLE, attention=attention, noise={"kappa": 3})
    branch = found.branches[1]
    assert [point.kind for point in branch.special] == ["branch-point"]
    assert branch.stable[1:-1].all()
    ends = sorted(branch.parameter[[0, -1]])
    critical = [1 / exponential_multipliers(beta, 1.0, 2, normalised=True).values[1] for beta in ends]
    np.testing.assert_allclose(critical, 3, rtol=1e-10)


def test_both_ways_in_which_two_clusters_lose_their_symmetry():
    """W = cos + 0.9 cos 2 + 0.5 cos 3: one branch leaves by mass, one by motion of the clusters; the null vector of the
    second has a sine of degree 3, whose sign about the axis between them is another one than that of degree 1."""
    found = diagram(1.2, 4, geometry=CIRCLE, interaction={"coefficients": [1, 0.9, 0.5]}, branches=[1, 2])
    assert [branch.name for branch in found.branches] == ["uniform", "mode 1", "mode 2", "from mode 2", "from mode 2"]
    places = [point.parameter for point in found.branches[2].special[1:]]
    assert [branch.special[0].parameter for branch in found.branches[3:]] == pytest.approx(places, abs=1e-12)
    for branch in found.branches[3:]:
        first, third = branch.moments[1, [1, 3]]
        assert branch.residual.max() < 1e-13
        assert abs(third) > 0.05 * abs(first)


def test_a_branch_that_is_born_outside_of_the_range():
    """W = cos + 0.9 cos 2 leaves the uniform state at kappa = 2, subcritically: the fold is at 1.795."""
    found = diagram(0.5, 1.9, geometry=CIRCLE, interaction={"coefficients": [1, 0.9]})
    (branch,) = found.branches[1:]
    fold = next(point for point in branch.special if point.kind == "fold")
    whole = diagram(1, 6, geometry=CIRCLE, interaction={"coefficients": [1, 0.9]}, branches=[1]).branches[1]
    assert fold.parameter == pytest.approx(next(p for p in whole.special if p.kind == "fold").parameter, rel=1e-12)
