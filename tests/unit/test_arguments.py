"""What is wrong with an argument is said in mfpde's words: what was given, what is wanted, what is near."""

import numpy as np
import pytest

import mfpde

PROBLEM = mfpde.Problem.from_dict(
    {
        "geometry": {"kind": "circle"},
        "noise": {"kappa": 1},
        "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
        "time": {"until": 1, "save_every": 0.5},
        "observe": ["order-parameter"],
    }
)
TOKENS = mfpde.Particles([[1.0, 2.0], [3.0, 4.0]])
NORMAL = mfpde.Normal([0.0, 0.0], np.eye(2))
LATTICE = mfpde.Lattice.of([[0.0, 0.5, 1.0]])
GRID = mfpde.GridDensity.of([np.linspace(-1, 1, 9)], np.ones(9))
SOFTMAX = mfpde.Softmax(beta=1)


@pytest.fixture(scope="module")
def run():
    return mfpde.solve(PROBLEM)


FILES = {
    "solve(None)": (lambda: mfpde.solve(None), "problem: must be a Problem .* or the name of its file, not None"),
    "solve(dict)": (lambda: mfpde.solve({"geometry": 3}), "Problem.from_dict makes one of a dict"),
    "solve(class)": (lambda: mfpde.solve(mfpde.Problem), "not the class Problem itself"),
    "output": (lambda: mfpde.solve(PROBLEM, output=3), "output: must be the name of a file such as 'run.h5', not 3"),
    "bytes": (lambda: mfpde.solve(PROBLEM, output=b"x.h5"), "output: must be the name of a file .* not b'x.h5'"),
    "empty": (lambda: mfpde.solve(PROBLEM, output=""), "not an empty text"),
    "progress": (lambda: mfpde.solve(PROBLEM, progress="yes"), "progress: must be True, False or a function .* 'yes'"),
    "load(3)": (lambda: mfpde.load(3), "path: must be the name of a file such as 'run.h5', not 3"),
    "load(missing)": (lambda: mfpde.load("missing"), "there is no file missing"),
    "from_yaml(3)": (lambda: mfpde.Problem.from_yaml(3), "path: must be the name of a file such as 'problem.yaml'"),
    "settings": (lambda: mfpde.Problem.from_yaml("a.yaml", settings=["a=3"]), "settings: must be a mapping such as"),
    "validate(3)": (lambda: mfpde.validate(3), "names: must be names of cases or problem files, or problems, not 3"),
    "validate(nonsense)": (
        lambda: mfpde.validate("moebus"),
        r"no case is called 'moebus' \(did you mean 'moebius'",
    ),
}
MEASURES = {
    "points": (lambda: mfpde.Particles("x"), "points: must be an array of real numbers, not 'x'"),
    "rows": (lambda: mfpde.Particles([[1, 2], [3]]), "points: must be an array of numbers with rows of one length"),
    "weights": (lambda: mfpde.Particles([1, 2], weights="x"), "weights: must be an array of real numbers, not 'x'"),
    "geometry": (lambda: mfpde.Particles([1], geometry="circle"), "geometry: must be a space such as .*, not 'circle'"),
    "class": (lambda: mfpde.Particles([1], geometry=mfpde.Circle), "not the class Circle itself"),
    "on": (lambda: mfpde.Gaussian(mean=[0], covariance=[[1]]).on(3), "geometry: must be a space such as .*, not 3"),
    "normal": (lambda: mfpde.Normal("x", 1.0), "mean: must be an array of real numbers, not 'x'"),
    "complex": (lambda: NORMAL.evaluate([[1j, 0]]), "points: must be an array of real numbers, not "),
    "evaluate": (lambda: NORMAL.evaluate([[1, 2, 3]]), r"points: in R\^2 have shape \(m, 2\), not \(1, 3\)"),
    "integrate": (lambda: NORMAL.integrate(3), "function: must be a function of points such as numpy.cos, not 3"),
    "log_laplace": (lambda: NORMAL.log_laplace("x"), "w: must be an array of real numbers, not 'x'"),
    "panels": (lambda: mfpde.GridDensity([3]), r"panels\.0: must be a panel: mfpde.Panel\(lattice, values\), not 3"),
    "no panels": (lambda: mfpde.GridDensity(3), "panels: must be a list of panels"),
    "lattice": (lambda: mfpde.Panel(3, [1.0]), "lattice: must be a lattice such as"),
    "cells": (lambda: NORMAL.cell_averages(3), "lattice: must be a lattice such as .*, not 3"),
    "values": (lambda: mfpde.Panel(LATTICE, "x"), "values: must be an array of real numbers, not 'x'"),
    "position": (lambda: mfpde.Panel(LATTICE, [1, 1, 1], position="x"), "position: must be a number, not 'x'"),
    "axes": (lambda: mfpde.Lattice.of(3), "axes: must be a list of axes such as"),
    "no axes": (lambda: mfpde.Lattice.of([]), "axes: must be at least one"),
    "slices": (lambda: mfpde.Positioned([0.5], [3]), r"measures\.0: must be a measure such as"),
}
LAWS = {
    "measure": (lambda: SOFTMAX.drift([[1, 2]], [[0, 1]]), r"measure: must be a measure .*, not \[\[1, 2\]\]"),
    "points": (lambda: SOFTMAX.drift(TOKENS, "x"), "points: must be an array of real numbers, not 'x'"),
    "ragged": (lambda: SOFTMAX.drift(TOKENS, [[1, 2], [3]]), "points: must be an array of numbers with rows"),
    "jacobian": (lambda: SOFTMAX.jacobian(3, [0]), "measure: must be a measure such as"),
    "matrix": (lambda: SOFTMAX.matrix(None), "measure: must be a measure such as .*, not None"),
    "directions": (lambda: SOFTMAX.jacobian_product(TOKENS, "x"), "directions: must be an array of real numbers"),
    "tolerance": (lambda: SOFTMAX.lipschitz(TOKENS, tolerance=-1), "tolerance: must be greater than 0, not -1"),
    "iterations": (lambda: SOFTMAX.lipschitz(TOKENS, iterations=0), "iterations: must be a whole number from 1 on"),
    "time": (lambda: SOFTMAX.at("now"), "time: must be a number, not 'now'"),
    "check": (lambda: SOFTMAX.check(3), "geometry: must be a space such as"),
    "pointwise": (lambda: mfpde.Mlp().drift(3, [0.0]), "geometry: must be a space such as"),
}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(*case, id=f"{group}: {name}")
        for group, cases in (("files", FILES), ("measures", MEASURES), ("laws", LAWS))
        for name, case in cases.items()
    ],
)
def test_of_functions(call, message):
    with pytest.raises(mfpde.MfpdeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.measure(100), "index: must be a whole number from -3 to 2, not 100"),
        (lambda run: run.measure(-4), "index: must be a whole number from -3 to 2, not -4"),
        (lambda run: run.measure(0.5), "index: must be a whole number from -3 to 2, not 0.5"),
        (lambda run: run["order-paramete"], r"was not observed \(did you mean 'order-parameter'\?\); observed: order-"),
        (lambda run: run["x" * 10**6], "'x{60}'... was not observed; observed: order-parameter"),
        (lambda run: run[0], "a series is asked for by its name, not by 0; observed: order-parameter"),
        (lambda run: run.axis(3), "this run has the axes theta, not 3"),
        (lambda run: run.plot(3), "path: must be the name of a file such as 'run.png', not 3"),
        (lambda run: run.plot("x.xyz"), r"x\.xyz: a figure is written as \.png, \.pdf or \.svg, not '\.xyz'"),
        (lambda run: run.animate("x.png"), r"x\.png: a movie is written as \.mp4 or \.gif, not '\.png'"),
    ],
)
def test_of_a_run(run, call, message):
    with pytest.raises(mfpde.MfpdeError, match=message):
        call(run)


DRAWN = [
    TOKENS,
    NORMAL,
    GRID,
    mfpde.Uniform(box=[[0, 1]]).on(mfpde.Line()),
    mfpde.Uniform(ball={"center": [0, 0], "radius": 1}),
    mfpde.VonMises(direction=0, concentration=2),
    mfpde.VonMises(direction=[0, 0, 1], concentration=2),
    mfpde.Density(expression="1 + x**2").on(mfpde.Sphere()),
    mfpde.Density(expression="exp(-x**2)").on(mfpde.Line()),
    mfpde.Mixture(components=[mfpde.Gaussian(mean=[0], covariance=[[1]]), mfpde.Gaussian(mean=[2], covariance=[[1]])]),
]


@pytest.mark.parametrize("measure", DRAWN, ids=lambda measure: type(measure).__name__)
def test_of_sampling(measure):
    assert measure.sample(np.int64(0), np.int32(3)).shape[0] == 0
    for count in (-1, 1.5, "x", None, True):
        with pytest.raises(mfpde.ProblemError, match="count: must be a whole number from 0 on, not "):
            measure.sample(count)
    for seed in (-1, 0.5, "x", None, 2**128):
        with pytest.raises(mfpde.ProblemError, match="seed: must be a whole number from 0 to "):
            measure.sample(2, seed)


def test_a_name_that_mfpde_does_not_have():
    with pytest.raises(AttributeError, match=r"has no attribute 'solv' \(did you mean 'solve'\?\)"):
        mfpde.solv  # noqa: B018
