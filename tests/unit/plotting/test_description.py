"""A problem in one line."""

import math

from mfpde.attention import Interaction, Softmax
from mfpde.equation import Noise
from mfpde.geometry import Circle, Plane
from mfpde.plotting.description import describe
from mfpde.problem import Problem


def test_settings_that_are_not_the_default():
    problem = Problem(geometry=Circle(), attention=Softmax(A=2.5, V=-1), noise=Noise(kappa=math.inf))
    assert describe(problem) == "attention: softmax, A 2.5, V -1; no noise"


def test_the_solver_that_auto_takes_is_told():
    blocks = {"geometry": {"kind": "line"}, "attention": {"kind": "softmax", "A": 1}, "time": {"until": 1}}
    for initial, solver in (
        ({"kind": "uniform", "box": [0, 1]}, "finite-volume"),
        ({"kind": "points", "values": [0, 1]}, "characteristics"),
    ):
        assert describe(Problem.from_dict({**blocks, "initial": initial})).endswith(f"; solver: {solver}")


def test_every_noise_is_named():
    told = describe(Problem(geometry=Plane(), noise=Noise(matrix=2.0, common=0.5)))
    assert told == "noise: matrix 2, common 0.5"


def test_what_is_swept_is_not_told():
    problem = Problem(geometry=Circle(), attention=Softmax(A=2.5, V=-1), noise=Noise(kappa=2))
    assert describe(problem, ["noise.kappa", "attention.A.scale"]) == "attention: softmax, V -1"
    assert describe(problem, ["attention"]) == "noise: kappa 2"


def test_long_lists_are_cut():
    problem = Problem(geometry=Circle(), interaction=Interaction(coefficients=[1 / 3] * 40), noise=Noise(kappa=0.5))
    text = describe(problem)
    assert text.startswith("interaction: coefficients [0.333333, 0.333333")
    assert text.endswith("...; noise: kappa 0.5")
    assert len(text) < 100
