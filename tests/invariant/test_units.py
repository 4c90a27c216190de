"""The unit in which x is measured does not matter: in another one, a power of two, a run takes the same steps to the
same result."""

import numpy as np
import pytest

import mfpde
from mfpde.equation import InitialValueProblem
from mfpde.solvers.characteristics.node_comparison import NodeComparison, Nodes

PARTS = [([-1.0, 0.2], 0.3, 2.0), ([1.2, -0.3], 0.2, 1.0)]
CASES = {
    "cells": ("line", {"kind": "finite-volume"}, np.inf),
    "noisy cells": ("line", {"kind": "finite-volume"}, 8.0),
    "nodes": ("line", {"kind": "characteristics"}, np.inf),
    "cells of the plane": ("plane", {"kind": "finite-volume", "cells": 40}, np.inf),
    "nodes of the plane": ("plane", {"kind": "characteristics"}, np.inf),
}


def solved(case, unit):
    """Two Gaussians under softmax attention; with x in another unit A and the noise are others, V and time are not."""
    space, solver, kappa = CASES[case]
    dimension = 1 if space == "line" else 2
    A, V = np.array([[0.7, 0.2], [-0.1, 0.5]])[:dimension, :dimension], np.array([[-0.5, 0.3], [0.1, -0.4]])
    problem = {
        "geometry": {"kind": space},
        "attention": {"kind": "softmax", "A": A / unit**2, "V": V[:dimension, :dimension]},
        "initial": {
            "kind": "mixture",
            "components": [
                {
                    "kind": "gaussian",
                    "mean": unit * np.array(mean[:dimension]),
                    "covariance": spread * unit**2,
                    "weight": weight,
                }
                for mean, spread, weight in PARTS
            ],
        },
        "noise": {"kappa": kappa / unit**2},
        "solver": solver,
        "time": {"until": 0.2, "save": False},
    }
    return mfpde.solve(mfpde.Problem.from_dict(problem))


@pytest.mark.parametrize("case", CASES)
def test_units_of_length(case):
    runs = {unit: solved(case, unit) for unit in (1.0, 2.0**-20, 2.0**20)}
    first, counts = runs[1.0].measure(-1), runs[1.0].provenance["statistics"]
    for unit, run in runs.items():
        assert run.outcome.kind == "finished"
        assert run.outcome.message == runs[1.0].outcome.message
        assert run.provenance["statistics"] == pytest.approx(counts, rel=1e-6)
        other = run.measure(-1)
        np.testing.assert_allclose(other.mean / unit, first.mean, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.covariance / unit**2, first.covariance, rtol=0, atol=1e-13)


def test_differences_between_node_sets_are_relative_to_their_spread():
    def difference(unit):
        equation = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Softmax(A=0.7 / unit**2, V=-0.5))
        few, more = (np.polynomial.hermite_e.hermegauss(count) for count in (4, 9))
        task = InitialValueProblem(equation, 1.0)
        pair = NodeComparison(task, *(Nodes(unit * x[:, None], w / w.sum(), None) for x, w in (few, more)))
        return pair.difference(pair.start)

    assert difference(1.0) > 1e-3
    for unit in (2.0**-45, 2.0**45):
        assert difference(unit) == pytest.approx(difference(1.0), rel=1e-12)


def test_doubts_about_tails_are_relative_to_the_width():
    def doubt(unit):
        problem = {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 2.0 / unit**2, "V": -0.5},
            "initial": {"kind": "gaussian", "mean": 0.3 * unit, "covariance": unit**2},
            "solver": {"kind": "finite-volume", "frame": "static", "cells": 64},
            "time": {"until": 1},
        }
        given = mfpde.Problem.from_dict(problem)
        begun = given.solver.start(given.posed())
        density = begun._solution.density  # with something at its ends, which may go on in more than one way
        ends = np.linspace(0.0, 1e-9 / unit, density.shape[-1])
        return begun._system.doubt(0.0, begun._solution._replace(density=density + ends))

    assert doubt(1.0) > 1e-12
    for unit in (2.0**-20, 2.0**20):
        assert doubt(unit) == pytest.approx(doubt(1.0), rel=1e-6)
