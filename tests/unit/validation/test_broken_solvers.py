"""Every solver broken, one at a time: its run is of an equation with another sign, factor, transpose or strength of
noise, and the report on an ordinary problem must fail."""

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

import mfpde
from mfpde.validation import solution
from mfpde.validation.case import merged

A = [[1.0, 0.6], [-0.2, 0.5]]  # a matrix that is not its transpose
TRANSPOSED = np.transpose(A).tolist()
IN_SPACE = [[1.0, 0.6, 0.0], [-0.2, 0.5, 0.3], [0.1, 0.0, 0.8]]
TRANSPOSED_IN_SPACE = np.transpose(IN_SPACE).tolist()
NOISY = {"noise": {"kappa": 10.0}}

LINE = {
    "geometry": {"kind": "line"},
    "attention": {"kind": "softmax", "A": 1.0, "V": -1.0},
    "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5},
    "time": {"until": 0.3},
}
PLANE = {
    "geometry": {"kind": "plane"},
    "attention": {"kind": "softmax", "A": A, "V": -1.0},
    "initial": {"kind": "gaussian", "mean": [0.2, 0], "covariance": [[1, 0.3], [0.3, 0.5]]},
    "time": {"until": 0.3},
}
CIRCLE = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 2.0},
    "noise": {"kappa": 3.0},
    "initial": {"kind": "von-mises", "direction": 1, "concentration": 1},
    "time": {"until": 0.5},
}
NO_NOISE = {"noise": {"kappa": float("inf")}}
SPHERE = {
    "geometry": {"kind": "sphere"},
    "attention": {"kind": "softmax", "beta": 2},
    "initial": {"kind": "von-mises", "direction": [0, 0.6, 0.8], "concentration": 2},
    "noise": {"kappa": 2},
    "time": {"until": 0.3},
}
ABOUT_AXIS = {
    **SPHERE,
    "geometry": {"kind": "sphere", "dimension": 6},
    "initial": {"kind": "von-mises", "direction": [0, 0, 0, 0, 0, 1], "concentration": 2},
}
POINTS = {"kind": "points", "values": [[0, 1], [1, 0], [2, 2]]}
TOKENS = {**PLANE, "initial": POINTS, "solver": {"kind": "particles"}}
NOISY_TOKENS = {**CIRCLE, "solver": {"kind": "particles", "count": 12_000, "step": 0.05}, "time": {"until": 1.0}}
NOISY_IN_PLANE = {**PLANE, **NOISY, "solver": {"kind": "particles", "count": 10_000, "step": 0.05}}
NOISY_ON_SPHERE = {
    **SPHERE,
    "noise": {"kappa": 20},
    "time": {"until": 1.0},
    "solver": {"kind": "particles", "count": 16_000, "step": 0.05},
}
ON_CIRCLE_TOKENS = {
    **CIRCLE,
    **NO_NOISE,
    "initial": {"kind": "points", "values": [0.0, 1.0, 2.5, 4.0]},
    "solver": {"kind": "particles"},
}
ON_SPHERE_TOKENS = {
    **SPHERE,
    **NO_NOISE,
    "initial": {"kind": "points", "values": [[0, 0, 1], [1, 0, 0], [0, -0.6, -0.8]]},
    "solver": {"kind": "particles"},
}
GENERAL = {**CIRCLE, "attention": {"kind": "softmax", "A": A, "V": 1.0}}
GENERAL_ON_SPHERE = {**SPHERE, "attention": {"kind": "softmax", "A": IN_SPACE, "V": 1.0}}
SQUARE = {"kind": "uniform", "box": [[-1, 1], [-1, 1]]}
MASKED = {
    **PLANE,
    "attention": {"kind": "masked", "positions": 2, "attention": PLANE["attention"]},
    "initial": SQUARE,
    "solver": {"kind": "characteristics", "tolerance": 1e-6},
    "time": {"until": 0.1},
}
HARMONICS = {**{k: v for k, v in CIRCLE.items() if k != "attention"}, "interaction": {"coefficients": [0.5, 0.3]}}
WRITTEN = {**HARMONICS, "interaction": {"expression": "exp(cosine)"}}
PULLED = {**HARMONICS, "interaction": {"coefficients": [0.5], "external": "0.3*cos(theta)"}}
CONFINED = {
    **{k: v for k, v in TOKENS.items() if k != "attention"},
    "interaction": {"expression": "exp(-r**2)", "external": "-x**2/2 - y**2"},
}


def by(problem, kind, **settings):
    return {**problem, "solver": {"kind": kind, **settings}}


def attention(**changes):
    return {"attention": changes}


def noise(kappa):
    return {"noise": {"kappa": kappa}}


def interaction(**changes):
    return {"interaction": changes}


COARSE = {"tolerance": 1e-5}
BROKEN = {
    "line, finite volumes with noise, strength": (by({**LINE, **NOISY}, "finite-volume"), noise(10.01)),
    "line, finite volumes with noise, sign": (by({**LINE, **NOISY}, "finite-volume"), attention(V=1.0)),
    "line, finite volumes, factor": (by(LINE, "finite-volume"), attention(A=1.001)),
    "line, characteristics, sign": (by(LINE, "characteristics", tolerance=1e-8), attention(V=1.0)),
    "line, characteristics, factor": (by(LINE, "characteristics", tolerance=1e-8), attention(A=1.001)),
    "line, gaussian, strength": (by({**LINE, **NOISY}, "gaussian"), noise(10.0001)),
    "plane, finite volumes with noise, transpose": (
        by({**PLANE, **NOISY}, "finite-volume", **COARSE),
        attention(A=TRANSPOSED),
    ),
    "plane, finite volumes with noise, strength": (by({**PLANE, **NOISY}, "finite-volume", **COARSE), noise(11.0)),
    "plane, finite volumes, transpose": (by(PLANE, "finite-volume", **COARSE), attention(A=TRANSPOSED)),
    "plane, finite volumes, sign": (by(PLANE, "finite-volume", **COARSE), attention(V=1.0)),
    "plane, characteristics, transpose": (
        by({**PLANE, "initial": POINTS}, "characteristics", tolerance=1e-8),
        attention(A=TRANSPOSED),
    ),
    "plane, gaussian, transpose": (by(PLANE, "gaussian"), attention(A=TRANSPOSED)),
    "plane, gaussian, factor": (by(PLANE, "gaussian"), attention(V=-1.0001)),
    "plane, gaussian, strength": (by({**PLANE, **NOISY}, "gaussian"), noise(10.0001)),
    "plane, masked, sign": (
        MASKED,
        {"attention": {**MASKED["attention"], "attention": {**PLANE["attention"], "V": 1}}},
    ),
    "plane, masked, transpose": (
        MASKED,
        {"attention": {**MASKED["attention"], "attention": {**PLANE["attention"], "A": TRANSPOSED}}},
    ),
    "circle, spectral, factor": (CIRCLE, attention(beta=2.001)),
    "circle, spectral, sign": (CIRCLE, attention(beta=-2.0)),
    "circle, spectral, strength": (CIRCLE, noise(3.003)),
    "circle, general law, transpose": (GENERAL, attention(A=TRANSPOSED)),
    "circle, general law, factor": (GENERAL, attention(V=1.001)),
    "circle, general law, strength": (GENERAL, noise(3.003)),
    "circle, characteristics, factor": (
        by({**CIRCLE, **NO_NOISE}, "characteristics", tolerance=1e-8),
        attention(beta=2.001),
    ),
    "circle, harmonics, sign": (HARMONICS, interaction(coefficients=[0.5, -0.3])),
    "circle, harmonics, factor": (HARMONICS, interaction(coefficients=[0.5, 0.301])),
    "circle, expression, factor": (WRITTEN, interaction(expression="1.001*exp(cosine)")),
    "circle, external potential, sign": (PULLED, interaction(external="-0.3*cos(theta)")),
    "circle, external potential, factor": (PULLED, interaction(external="0.3003*cos(theta)")),
    "sphere, spectral, factor": (by(SPHERE, "spectral"), attention(beta=2.001)),
    "sphere, spectral, strength": (by(SPHERE, "spectral"), noise(2.002)),
    "sphere, spectral, sign": (by(SPHERE, "spectral"), attention(beta=-2)),
    "sphere, about an axis, factor": (by(ABOUT_AXIS, "spectral"), attention(beta=2.001)),
    "sphere, about an axis, strength": (by(ABOUT_AXIS, "spectral"), noise(2.002)),
    "sphere, general law, transpose": (by(GENERAL_ON_SPHERE, "spectral"), attention(A=TRANSPOSED_IN_SPACE)),
    "sphere, general law, factor": (by(GENERAL_ON_SPHERE, "spectral"), attention(V=1.001)),
    "tokens in the plane, transpose": (TOKENS, attention(A=TRANSPOSED)),
    "tokens in the plane, factor": (TOKENS, attention(V=-1.0001)),
    "tokens in the plane with noise, strength": (NOISY_IN_PLANE, noise(5.0)),
    "tokens in the plane with noise, sign": (NOISY_IN_PLANE, attention(V=1.0)),
    "tokens in potentials, sign": (CONFINED, interaction(external="x**2/2 - y**2")),
    "tokens in potentials, factor": (CONFINED, interaction(expression="1.0001*exp(-r**2)")),
    "tokens on the circle, sign": (ON_CIRCLE_TOKENS, attention(beta=-2.0)),
    "tokens on the circle with noise, strength": (NOISY_TOKENS, noise(6.0)),
    "tokens on the circle with noise, sign": (NOISY_TOKENS, attention(beta=-2.0)),
    "tokens on the sphere, factor": (ON_SPHERE_TOKENS, attention(beta=2.001)),
    "tokens on the sphere with noise, strength": (NOISY_ON_SPHERE, noise(40.0)),
    "tokens on the sphere with noise, normaliser": (NOISY_ON_SPHERE, attention(kind="unnormalized", beta=2.0)),
}


#: seconds each: cells in the plane, all harmonics, general laws
SLOW = (
    "plane, finite volumes",
    "plane, gaussian",
    "circle, general",
    "circle, expression",
    "sphere",
    "line, finite volumes with noise",
)


def timed(name):
    return pytest.param(*BROKEN[name], id=name, marks=pytest.mark.long if name.startswith(SLOW) else ())


def failed(problem):
    report = mfpde.validate(mfpde.Problem.from_dict(problem), quick=True, limit=False)
    return [check.claim for check in report.failed]


@cache
def failed_unbroken(written):
    return failed(json.loads(written))


@pytest.mark.parametrize(("problem", "change"), [timed(name) for name in BROKEN])
def test_a_solver_of_another_equation_fails(problem, change, monkeypatch):
    """By the equation's weak form alone: a second method would notice as well, and takes longer."""
    monkeypatch.setattr(solution, "second_method", lambda *_, **__: None)
    solved = solution.solved_so_far

    def broken(task):
        other = mfpde.Problem.from_dict(merged(task.canonical(), change))
        return dataclasses.replace(solved(other), problem=task)

    assert failed_unbroken(json.dumps(problem)) == []
    monkeypatch.setattr(solution, "solved_so_far", broken)
    claims = failed(problem)
    assert any("as the equation says" in claim for claim in claims), claims
