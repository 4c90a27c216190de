"""A program: the parts of docs/extending.md, one file each in this folder, used for everything that is there for parts.

It runs in a process of its own, so that no other test finds them registered, and prints what came out as JSON.
"""

import json
from pathlib import Path

import arc_mass
import diffusion  # noqa: F401 - the validation case
import numpy as np
import quadratic
import ssprk43  # noqa: F401 - the time scheme
import tempered
import torus
import triangle
from click.testing import CliRunner

import mfpde
from mfpde.cli import main as main_command
from mfpde.errors import ProblemError
from mfpde.measure.circle_density import CircleDensity
from mfpde.observe import Instant
from mfpde.registry import members
from mfpde.solvers.characteristics.flow import heads
from mfpde.solvers.characteristics.tails import has_tails
from mfpde.spec.schema import problem_schema
from mfpde.validation.solution import examine_solution

RANDOM = np.random.default_rng(1)
TORUS, CIRCLE, LINE = torus.Torus(), mfpde.Circle(), mfpde.Line()
ANGLES = 6 * RANDOM.random((40, 2))
STEP = 1e-5


def largest(found, expected) -> float:
    return float(np.abs(np.asarray(found) - expected).max())


def measures() -> dict[str, mfpde.Particles]:
    """Tokens on every kind of space."""
    directions = RANDOM.standard_normal((40, 3))
    on_sphere = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    given = {"line": (directions[:, :1], LINE), "plane": (directions[:, :2], mfpde.Plane()), "torus": (ANGLES, TORUS)}
    given |= {"circle": (ANGLES[:, :1], CIRCLE), "sphere": (on_sphere, mfpde.Sphere())}
    return {name: mfpde.Particles(points, geometry=space) for name, (points, space) in given.items()}


def specification() -> dict[str, float]:
    """What the tests of the family ask: drifts are their plain sums, on all spaces; on a lattice they are those at its
    points."""
    found = {}
    for law in (tempered.Tempered(temperature=0.5), quadratic.Quadratic(strength=0.7)):
        for name, measure in measures().items():
            apart = largest(law.drift(measure, measure.points), law.drift_by_quadrature(measure, measure.points))
            found[f"{law.kind} on the {name}"] = apart
        lattice = mfpde.Lattice.of([[-1.0, 0.0, 0.5], [0.0, 2.0]])
        plane = measures()["plane"]
        there = law.drift(plane, lattice).reshape(2, -1).T
        found[f"{law.kind} on a lattice"] = largest(there, law.drift(plane, lattice.points()))
    return found


def derivatives() -> dict[str, float]:
    """On a geometry of one's own, against differences."""
    law, measure, along = tempered.Tempered(temperature=0.5), measures()["torus"], RANDOM.standard_normal((40, 2))
    ends = [
        law.drift(measure, ANGLES + step * unit)[:, k] for k, unit in enumerate(np.eye(2)) for step in (STEP, -STEP)
    ]
    moved = [mfpde.Particles(ANGLES + step * along, geometry=TORUS) for step in (STEP, -STEP)]
    ahead, behind = (law.drift(each, each.points) for each in moved)
    return {
        "divergence": largest(law.divergence(measure, ANGLES), (ends[0] - ends[1] + ends[2] - ends[3]) / (2 * STEP)),
        "jacobian product": largest(law.jacobian_product(measure, along), (ahead - behind) / (2 * STEP)),
        "distance": largest(TORUS.distance([[0.1, 0.0]], [[2 * np.pi - 0.1, 0.3]]), np.hypot(0.2, 0.3)),
    }


def energies() -> dict[str, object]:
    """Of the exponential kernel wherever it is, of the other where it has modes; otherwise a sentence."""
    energy, found = members("observable")["energy"](), {}
    for name, measure in {**measures(), "triangle": triangle.Triangle(width=1.5).concrete}.items():
        laws = tempered.Tempered(temperature=0.5), mfpde.Unnormalized(beta=2), quadratic.Quadratic()
        ours, theirs, other = (mfpde.Equation(geometry=measure.geometry, attention=law) for law in laws)
        values = [energy.evaluate(Instant(0.0, measure, each, float))["energy"] for each in (ours, theirs)]
        found[f"tempered on the {name}"] = abs(values[0] - values[1]) / abs(values[1])
        found[f"quadratic on the {name}"] = energy.unfit(other)
    return found


def tails() -> dict[str, object]:
    """Nodes in tails, mixtures with tails beyond all nodes, infinite tilts."""
    parts = [mfpde.Gaussian(mean=0, covariance=1), mfpde.Gaussian(mean=1, covariance=2)]
    mixture = mfpde.Mixture(components=parts)
    made = {"tempered": tempered.Tempered(), "softmax": mfpde.Softmax(beta=1), "quadratic": quadratic.Quadratic()}
    equations = {name: mfpde.Equation(geometry=LINE, attention=law, initial=mixture) for name, law in made.items()}
    found: dict[str, object] = {}
    for name, equation in equations.items():
        found[f"{name} nodes"] = [head.tail_power for head in heads(equation)]
        found[f"{name} beyond"] = has_tails(equation, mixture.on(LINE))
    try:
        made["tempered"].check_tails(mfpde.Density(expression="exp(-abs(x))").on(LINE), np.array([[3.0]]))
    except ProblemError as error:
        found["infinite"] = str(error)
    tilt = members("observable")["attention-tilt"]()
    values = tilt.evaluate(Instant(0.0, mixture, equations["tempered"], float))
    found["attention-tilt"] = values["attention-tilt"] / float(mixture.covariance[0, 0])
    found["attention-tilt of quadratic"] = tilt.unfit(equations["quadratic"])
    return found


def measure_of_its_own() -> dict[str, float]:
    """What follows from nodes, density and draws, against what is known of the law."""
    law = triangle.Triangle(center=0.5, width=1.5).concrete
    k = np.array([[0.3], [4.0]])
    lattice = mfpde.Lattice.of([np.linspace(-1.5, 2.5, 65)])
    known = np.log(2 * (np.cosh(1.5 * k[:, 0]) - 1) / (1.5 * k[:, 0]) ** 2) + 0.5 * k[:, 0]
    return {
        "log_laplace": largest(law.log_laplace(k), known),
        "moments": largest([law.mean[0], law.covariance[0, 0], law.mass], [0.5, 1.5**2 / 6, 1.0]),
        "entropy": largest(law.entropy(), 0.5 + np.log(1.5)),
        "cells": largest(law.cell_averages(lattice).sum() / 16, 1.0),
        "draws": largest(law.sample(20000, seed=1).mean(), 0.5),
    }


def runs() -> dict[str, object]:
    """Solved, observed, drawn and checked."""
    at_three = {"until": 3, "save_every": 0.5}
    problems = {
        "torus": {
            "geometry": {"kind": "torus"},
            "attention": {"kind": "tempered", "temperature": 0.5},
            "initial": {"kind": "points", "values": ANGLES[:8].tolist()},
            "time": at_three,
            "observe": ["energy", "mean"],
        },
        "circle": {
            "geometry": {"kind": "circle"},
            "attention": {"kind": "quadratic"},
            "noise": {"kappa": 40},
            "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
            "time": at_three,
            "observe": [{"kind": "arc-mass", "start": -1, "end": 1}, "free-energy"],
        },
        "line": {
            "geometry": {"kind": "line"},
            "attention": {"kind": "tempered", "temperature": 2},
            "initial": {"kind": "triangle", "width": 1.5},
            "solver": {"kind": "characteristics", "tolerance": 1e-8},
            "time": {"until": 0.5, "save_every": 0.1},
            "observe": ["energy", "support-radius"],
        },
    }
    found: dict[str, object] = {}
    for name, data in problems.items():
        problem = mfpde.Problem.from_dict(data)
        run = mfpde.solve(problem, f"{name}.h5")
        figure = mfpde.load(f"{name}.h5").plot(f"{name}.png")
        report = examine_solution(problem, name, quick=True)
        found[name] = {
            "finished": run.outcome.complete,
            "titles": [axes.get_title(loc="left") for axes in figure.axes],
            "drawn": Path(f"{name}.png").stat().st_size > 0,
            "passed": report.passed,
            "claims": [check.claim for check in report.checks],
        }
    refused = mfpde.Problem.from_dict({**problems["torus"], "observe": [{"kind": "arc-mass", "start": 0, "end": 1}]})
    try:
        mfpde.solve(refused)
    except ProblemError as error:
        found["refused"] = str(error)
    return found


def cells(**solver) -> mfpde.Problem:
    """A problem of finite volumes, one that keeps to the Gaussian it starts with."""
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "initial": {"kind": "uniform", "box": [[-1, 1]]},
            "solver": {"kind": "finite-volume", "order": 2, "cells": 128, **solver},
            "time": {"until": 1},
        }
    )


def stepping() -> dict[str, object]:
    """By a stepper of one's own and by one of the house, from problem files."""
    runs = {name: mfpde.solve(cells(stepper=name)) for name in ("ssprk43", "ssprk3")}
    ends = {name: run.measure(-1).evaluate(np.linspace(-1, 1, 9)) for name, run in runs.items()}
    found: dict[str, object] = {"apart": largest(ends["ssprk43"], ends["ssprk3"]) / ends["ssprk3"].max()}
    for name, run in runs.items():  # all but the first stage of every step that was tried, the first of all accepted
        counts = run.provenance["statistics"]
        tried = counts["steps"] + counts["rejected"]
        found[f"stages of {name}"] = 1 + (counts["evaluations"] - 1 - counts["steps"]) / tried
    found["cited"] = "fekete2022" in cells(stepper="ssprk43").solver.sources(cells().equation, {})
    found["schema"] = "ssprk43" in json.dumps(problem_schema())
    told = CliRunner().invoke(main_command, ["list", "stepper"])
    found["listed"] = "ssprk43" in told.output
    try:
        cells(stepper="rkc2")
    except ProblemError as error:
        found["refused"] = str(error)
    return found


def main() -> None:
    series = CircleDensity.of(np.array([1.0, 0.25]))
    arc = arc_mass.ArcMass(start=0, end=1).evaluate(Instant(0.0, series, mfpde.Equation(geometry=CIRCLE), float))
    told = {
        "specification": specification(),
        "derivatives": derivatives(),
        "energies": energies(),
        "tails": tails(),
        "measure": measure_of_its_own(),
        "arc": largest(arc["arc-mass"], (1 + 0.5 * np.sin(1)) / (2 * np.pi)),
        "runs": runs(),
        "stepping": stepping(),
        "case": mfpde.validate("diffusion").passed,
        "listed": {family: list(members(family)) for family in ("attention", "geometry", "initial", "observable")},
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
