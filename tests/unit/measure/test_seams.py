"""Expressions in angles that are no functions on circle or sphere are told; all others pass."""

import pytest

import mfpde
from mfpde.measure.expression import Expression
from mfpde.measure.seams import seam

JUMPS = [
    ("2 + theta", mfpde.Circle(), "is not periodic: 2 at theta = 0 and 8.28319 at theta = 2 pi"),
    ("2 + longitude", mfpde.Sphere(), "is not periodic: 2 at longitude = 0"),
    ("2 + sin(colatitude)*cos(longitude/2)", mfpde.Sphere(), "is not periodic"),
    ("1 + 0.3*cos(longitude)", mfpde.Sphere(), "has no one value at colatitude = 0: from 0.7 to 1.3"),
    ("2 + (1 - z)*cos(longitude)", mfpde.Sphere(), "has no one value at colatitude = pi: from 0 to 4"),
    ("1/sin(colatitude)", mfpde.Sphere(), "grows without bound towards colatitude = 0"),
    ("2 - log(pi - colatitude)", mfpde.Sphere(), "grows without bound towards colatitude = pi"),
]
SMOOTH = ["1 + colatitude", "2 + sin(colatitude)**2*cos(2*longitude)", "exp(-1e4*colatitude**2)", "2 + x*y - z"]


@pytest.mark.parametrize(("text", "geometry", "told"), JUMPS)
def test_jumps_are_told(text, geometry, told):
    assert told in seam(Expression(text), geometry)


@pytest.mark.parametrize("text", SMOOTH)
def test_functions_on_the_sphere_have_none(text):
    assert seam(Expression(text), mfpde.Sphere()) is None


@pytest.mark.parametrize("initial", [{"kind": "density", "expression": "1 + 0.3*cos(longitude)"}, None])
def test_harmonics_do_not_take_them_and_particles_do(initial):
    points = {"kind": "points", "values": [[0, 0, 1], [0, 1, 0]]}
    data = {
        "geometry": {"kind": "sphere"},
        "interaction": {"expression": "cosine" if initial else "log(1 - cosine)"},
        "noise": {"kappa": 4},
        "initial": initial or points,
        "solver": {"kind": "spectral"},
        "time": {"until": 0.01},
    }
    told = "has no one value at colatitude = 0" if initial else "velocity of point masses is infinite"
    with pytest.raises(mfpde.ProblemError, match=told):
        mfpde.solve(mfpde.Problem.from_dict(data))
    if initial:
        run = mfpde.solve(mfpde.Problem.from_dict({**data, "solver": {"kind": "particles", "count": 50}}))
        assert run.outcome.kind == "finished"


def test_an_external_potential_has_one_value_at_a_pole():
    with pytest.raises(mfpde.ProblemError, match=r"interaction.external: has no one value at colatitude = 0"):
        mfpde.Interaction(external="cos(longitude)").external_on(mfpde.Sphere())
