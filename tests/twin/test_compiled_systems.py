"""Compiled rates and steps on the line and the plane against those that specify them."""

from functools import cache

import numpy as np
import pytest
from numba import typeof

import mfpde
from mfpde.compilation.dispatchers import QuickCall
from mfpde.solvers.finite_volume import line_forces
from mfpde.solvers.finite_volume.compiled_system import CompiledSystem
from mfpde.solvers.finite_volume.stepping import Start, take_step
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.line_forces import distance
from mfpde.solvers.kernels.plane_fluxes import flux_room, plane_fluxes
from mfpde.transform.equispaced import equispaced_sums, padded, sum_room

SOFTMAX = {"kind": "softmax", "A": 1, "V": -1}
L2 = {"kind": "l2", "Q": 1.5, "K": 0.5, "V": [[0.7]]}
BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 0.4},
        {"kind": "gaussian", "mean": 1.5, "covariance": 0.5, "weight": 0.6},
    ],
}
QUARTIC = {"kind": "density", "expression": "exp(-x**4 + x)"}
UNIFORM = {"kind": "uniform", "box": [[-1, 1]]}
IN_TIME = {"kind": "softmax", "A": {"times": [0.0, 1.0], "values": [1.0, 2.0], "interpolation": "linear"}, "V": -1}
CASES = {
    "bumps": (BUMPS, {"cells": 32}, SOFTMAX, None),
    "bumps at rest": (BUMPS, {"cells": 200, "frame": "static"}, {"kind": "softmax", "A": -0.7, "V": 0.4}, None),
    "stiff noise": (BUMPS, {"cells": 200, "frame": "static"}, SOFTMAX, 2.0),
    "noise": (BUMPS, {"cells": 40}, {"kind": "unnormalized", "A": 0.2, "V": -1}, 9.0),
    "steep tails": (BUMPS, {"cells": 28}, SOFTMAX, 9.0),
    "edges": (UNIFORM, {"cells": 64, "order": 5}, L2, None),
    "edges and noise": (UNIFORM, {"cells": 64, "order": 5}, L2, 50.0),
    "walls": (QUARTIC, {"cells": 60, "box": [[-4, 4]], "order": 2}, SOFTMAX, 5.0),
    "masked": (QUARTIC, {"cells": 48}, {"kind": "masked", "positions": 3, "attention": SOFTMAX}, None),
    "heads": (QUARTIC, {"cells": 48, "order": 7}, {"kind": "multi-head", "heads": [SOFTMAX, L2]}, None),
    "large scores": (QUARTIC, {"cells": 64}, {"kind": "softmax", "A": 200, "V": -1}, None),
    "interaction": (BUMPS, {"cells": 70}, {"expression": "-log(r**2 + 0.25)", "external": "-x**4/4"}, None),
    "interaction and noise": (BUMPS, {"cells": 48}, {"expression": "-exp(-r)", "external": "-x**4/4"}, 3.0),
    "interaction at walls": (QUARTIC, {"cells": 60, "box": [[-4, 4]]}, {"expression": "-r**2", "external": "x"}, 5.0),
    "kinked interaction": (BUMPS, {"cells": 44}, {"expression": "maximum(0, 1 - r**2)**2/4"}, None),
    "kinked interaction at rest": (QUARTIC, {"cells": 90, "frame": "static"}, {"expression": "-r"}, None),
    "interaction at rest": (QUARTIC, {"cells": 70, "frame": "static"}, {"expression": "exp(-r**2)"}, 9.0),
    "external": (BUMPS, {"cells": 70}, {"external": "tanh(x)*cos(2*x) - abs(x)**1.5/(1 + minimum(x, 0)**2)"}, None),
    "confinement": (BUMPS, {"cells": 40}, {"expression": "-r**2/2", "external": "x - x**4"}, 4.0),
    "relu": (BUMPS, {"cells": 48}, {"kind": "relu", "A": 1, "V": -1}, None),
    "sinkhorn": (BUMPS, {"cells": 40}, {"kind": "sinkhorn", "A": 1, "V": -1}, 9.0),
    "in time": (QUARTIC, {"cells": 48}, IN_TIME, {"times": [0.0, 0.01], "values": [10.0, 20.0]}),
}
PLANE = {"kind": "softmax", "A": [[1, 0.5], [-0.2, 0.7]], "V": [[-1, 0.3], [-0.4, -0.8]]}
FAR = {"kind": "l2", "Q": [[1.5, 0.2], [0, 1]], "K": [[0.5, 0], [0.3, 0.4]], "V": [[0.7, 0], [0.1, -0.5]]}
SPOT = {"kind": "density", "expression": "exp(-x**4 + x - y**2 + 0.5*x*y)"}
SPOTS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": [-1, 0], "covariance": [[0.3, 0.05], [0.05, 0.4]], "weight": 0.4},
        {"kind": "gaussian", "mean": [1.5, 0.3], "covariance": [[0.5, 0], [0, 0.3]], "weight": 0.6},
    ],
}
SQUARE = {"kind": "uniform", "box": [[-1, 1], [-1, 0.5]]}
TURN = [[0, 1], [-1, 0]]
HEADS = {"kind": "multi-head", "heads": [PLANE, FAR]}
MASKED = {"kind": "masked", "positions": 2, "attention": PLANE}
CASES |= {
    "plane": (SPOT, {"cells": [24, 28]}, PLANE, None),
    "plane, spots": (SPOTS, {"cells": 20}, PLANE, None),
    "plane, spots at rest": (SPOTS, {"cells": [36, 40], "frame": "static"}, PLANE, None),
    "plane, stiff noise": (SPOTS, {"cells": [48, 44], "frame": "static"}, PLANE, 2.0),
    "plane, noise": (SPOTS, {"cells": 24}, {"kind": "unnormalized", "A": 0.2, "V": -1}, 9.0),
    "plane, edges": (SQUARE, {"cells": 24, "order": 5}, FAR, None),
    "plane, edges and noise": (SQUARE, {"cells": 24, "order": 7}, PLANE, 50.0),
    "plane, walls": (SQUARE, {"cells": 30, "box": [[-2, 2], [-3, 2]], "order": 2}, PLANE, 5.0),
    "plane, first order": (SPOTS, {"cells": [24, 28], "order": 1}, PLANE, 20.0),
    "plane, masked": (SPOT, {"cells": 24}, MASKED, None),
    "plane, masked at rest": (SPOTS, {"cells": 36, "frame": "static"}, MASKED, 20.0),
    "plane, interaction": (SPOTS, {"cells": 24}, {"expression": "-log(r**2 + 0.25)", "external": "x*y"}, 9.0),
    "plane, interaction at rest": (
        SPOTS,
        {"cells": 40, "frame": "static"},
        {"expression": "exp(-r**2)", "external": "-x**4 - y"},
        None,
    ),
    "plane, confinement": (SPOTS, {"cells": [24, 28]}, {"expression": "-r**2/2", "external": "cos(x*y)"}, 9.0),
    "plane, external at rest": (SPOTS, {"cells": [40, 70], "frame": "static"}, {"external": "-x**4 - y**2"}, 4.0),
    "plane, linear at rest": (SPOTS, {"cells": 40, "frame": "static"}, {"kind": "linear", "A": 0.3, "V": -1}, None),
    "plane, heads": (SPOTS, {"cells": 24, "order": 7}, HEADS, 30.0),
    "plane, large scores": (SPOT, {"cells": 24}, {"kind": "softmax", "A": [[0, 30], [-30, 0]], "V": -1}, None),
    "plane, heads in a box": (SPOTS, {"cells": 40, "box": [[-6, 7], [-8, 8]]}, HEADS, None),
    "plane, diagonal": (SPOTS, {"cells": 40, "box": [[-6, 7], [-8, 8]]}, {"kind": "softmax", "A": 3, "V": TURN}, None),
}


KINDS: dict[object, tuple[object, ...]] = {}


@pytest.fixture(autouse=True)
def looked_at(monkeypatch):
    """Calls that do not look at types, which here those of the first one are held against."""

    def call(self, *arguments):
        kinds = tuple(map(typeof, arguments))
        assert KINDS.setdefault(self, kinds) == kinds
        return self._dispatcher(*arguments)

    monkeypatch.setattr(QuickCall, "__call__", call)


@cache
def systems(case):
    """Both, and an integration at t = 0, which nothing here moves."""
    initial, solver, attention, kappa = CASES[case]
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane" if initial in (SPOT, SPOTS, SQUARE) else "line"},
            "interaction" if "kind" not in attention else "attention": attention,
            "noise": {} if kappa is None else {"kappa": kappa},
            "initial": initial,
            "solver": {"kind": "finite-volume", **solver},
            "time": {"until": 1.0},
        }
    )
    run = problem.solver.start(problem.posed())
    fast = run._system
    assert isinstance(fast, CompiledSystem)
    return fast, CellSystem(problem.equation, fast.grid, fast.frame, fast.scheme), run


def near(found, wanted, tolerance, scale=None):
    scale = np.abs(wanted).max() if scale is None else scale
    assert np.abs(np.asarray(found) - wanted).max() <= tolerance * scale + 1e-300


@pytest.mark.parametrize("case", CASES)
def test_rates(case):
    fast, slow, run = systems(case)
    solution = run.solution
    mine, wanted = fast.rhs(0.003, solution), slow.rhs(0.003, solution)
    near(mine.speeds, wanted.speeds, 1e-12)
    near(mine.fluxes.along, wanted.fluxes.along, 1e-12)
    near(mine.fluxes.across, wanted.fluxes.across, 1e-12)
    for name in ("mean", "matrix", "conductivities", "outflow", "spreading"):
        near(getattr(mine, name), getattr(wanted, name), 2e-13, scale=1.0 + np.abs(wanted.speeds).max())
    near(fast.roughness(solution, mine), slow.roughness(solution, wanted), 1e-6, scale=1e-6 + wanted.outflow)
    doubts = (system.drift_doubts(0.0, solution, rates, 0.01) for system, rates in ((fast, mine), (slow, wanted)))
    for found, expected in zip(*doubts, strict=True):
        near(found, expected, 1e-6, scale=1e-9 + expected)


@pytest.mark.parametrize("length", [1.0, 20.0], ids=["as planned", "too long"])
@pytest.mark.parametrize("case", CASES)
def test_steps(case, length):
    """Limited ones, and ones that end nowhere, too."""
    fast, slow, run = systems(case)
    solution = run.solution
    rates = slow.rhs(0.0, solution)
    start = Start(0.0, solution, rates, slow.roughness(solution, rates))
    plan = run._control.plan(0.0, length * min(run._control.step, 0.9 / rates.emptying), rates.outflow, rates.spreading)
    found, wanted = fast.step(start, plan, 1e-8), take_step(slow, start, plan, 1e-8)
    assert (found.solution is None) == (wanted.solution is None)
    if wanted.solution is None or found.solution is None:
        return
    assert found.limited == wanted.limited
    near(found.error, wanted.error, 1e-4, scale=1e-4 + wanted.error)
    end = wanted.solution  # frames of steps that are not accepted are left as they are
    if wanted.error <= 1:
        end = slow.restored(solution, wanted.solution, 0.0, plan.end)
    for mine, other in zip(found.solution, end, strict=True):
        near(mine, other, 1e-9 if wanted.limited else 1e-12, scale=max(1.0, np.abs(other).max()))
    assert found.solution.density.min() >= 0
    assert (found.rates is not None) == (found.error <= 1)
    if found.rates is not None:  # those that a call for them alone finds
        following = fast.rhs(plan.end, found.solution)
        near(found.rates.speeds, following.speeds, 0)
        assert found.rates.told == following.told
        near(fast.narrowest(found.solution, following), slow.narrowest(found.solution, following), 1e-12)
    mass = wanted.solution.density.sum()  # what leaves an open box is the same
    assert abs(found.solution.density.sum() - mass) <= 1e-13 * mass


@pytest.mark.parametrize(
    ("n", "spacing", "tilt"),
    [(37, 0.3, 2.0), (37, 0.3, -0.2), (37, 1.0, 40.0), (37, 0.1, 0.0), (600, 0.01, 0.03), (601, 0.015, -0.02)],
)
def test_equispaced_sums(n, spacing, tilt, random):
    """Also of masses of both signs, of many, and where the exponents are beyond a double."""
    masses, factors = random.random(n) - 0.1, random.standard_normal(n)
    masses[[3, 20]] = 0.0
    level, first, second = np.empty(n), np.empty(padded(n)), np.empty(padded(n))
    equispaced_sums(masses, factors, spacing, 0.7, tilt, sum_room(n), level, first, second)
    places = np.arange(n) - 0.5 * (n - 1)
    scores = factors + (0.7 + tilt * places[:, None]) * spacing * places
    terms = masses * np.exp(scores - level[:, None])
    size = np.abs(terms).sum(axis=1)
    assert (size > 1e-280).all()
    rounding = 4e-16 * (200 + np.abs(scores).max()) * size
    assert (np.abs(first[:n] - terms.sum(axis=1)) <= rounding).all()
    assert (np.abs(second[:n] - terms @ places) <= rounding * n).all()


@pytest.mark.parametrize("threads", [pytest.param(2, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("case", ["plane, heads in a box", "plane, heads"])
def test_threads_share_large_panels(monkeypatch, case, threads):
    """Steps in parts, on some threads, have the bits of one call; blocks of rows end within the stencils of others."""
    from mfpde.solvers.finite_volume import plane_system

    fast, _, run = systems(case)
    solution = run.solution
    if case == "plane, heads":  # conductivities beside the diagonal reach further
        solution = solution._replace(matrix=solution.matrix @ np.array([[1.0, 0.5], [0.0, 1.0]]))
    rates = fast.rhs(0.0, solution)
    start = Start(0.0, solution, rates, fast.roughness(solution, rates))
    plan = run._control.plan(0.0, 0.1, rates.outflow, rates.spreading)
    whole = fast.step(start, plan, 1e-6)
    monkeypatch.setattr(plane_system, "_SHARED_CELLS", 1)
    monkeypatch.setattr(plane_system, "thread_count", lambda: threads)
    monkeypatch.setattr("mfpde.transform.threads.thread_count", lambda: threads)
    parts = fast.step(start, plan, 1e-6)
    assert whole.solution is not None
    assert parts.solution is not None
    assert (whole.error, whole.limited) == (parts.error, parts.limited)
    assert (whole.rates is None) == (parts.rates is None)
    if whole.rates is not None and parts.rates is not None:
        assert whole.rates.told == parts.rates.told
        assert np.array_equal(whole.rates.fluxes.across, parts.rates.fluxes.across)
    for one, other in zip(whole.solution, parts.solution, strict=True):
        assert np.array_equal(one, other)


def test_blocks_write_no_rows_of_others():
    """Also those that are no farther than stencils from both ends."""
    fast, _, run = systems("plane, heads")
    density, rates, cells = run.solution.density[0], fast.rhs(0.0, run.solution), fast._tables()
    (rows, columns), speeds = density.shape, rates.speeds[0]

    def fluxes(start, stop):
        out = np.full((rows + 1, columns), np.nan), np.full((rows, columns + 1), np.nan)
        fastest, room = np.abs(speeds).max(axis=(1, 2)), flux_room(rows, columns)
        plane_fluxes(7, (start, stop), density, speeds, rates.conductivities[0], fastest, cells, room, out)
        return out

    assert rows == 24
    for found, whole in zip(fluxes(8, 16), fluxes(0, rows), strict=True):
        assert np.array_equal(found[8:16], whole[8:16])
        assert np.isnan(found[:8]).all()
        assert np.isnan(found[16:]).all()


@pytest.mark.parametrize("share", [0.16, 0.61], ids=["of its own panel", "of the other one"])
def test_forces_out_of_range(monkeypatch, share):
    """Where tables of forces do not reach, velocities are found between the parts of a step; rates at its end are left
    to those who begin the next one, who may have other tables."""
    fast, _, run = systems("interaction")
    solution, rates = run.solution, fast.rhs(0.0, run.solution)
    start = Start(0.0, solution, rates, fast.roughness(solution, rates))
    plan = run._control.plan(0.0, min(run._control.step, 0.5 / rates.emptying), rates.outflow, rates.spreading)
    usual = fast.step(start, plan, 1e-6)
    monkeypatch.setattr(line_forces, "distance", lambda *where: share * distance(*where))
    monkeypatch.setattr(fast._forces, "_kept", {})
    assert fast.rhs(0.0, solution).measure is not None
    found = fast.step(start, plan, 1e-6)
    assert usual.rates is not None
    assert found.rates is None
    for mine, other in zip(found.solution, usual.solution, strict=True):
        near(mine, other, 1e-13)
