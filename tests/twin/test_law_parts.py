"""The ways to a velocity agree: tables, kernels on coarse grids, and the sums over nodes that specify them; compiled
slopes and numpy."""

import numpy as np
import pytest

import mfpde
from mfpde.equation import Equation, InitialValueProblem
from mfpde.solvers.kernels.law_slope import attempt_by_tables
from mfpde.solvers.spectral.degree_limits import Limits
from mfpde.solvers.spectral.law_flow import Flow
from mfpde.solvers.spectral.law_grids import MeridianGrid, ModeGrid, RingGrid
from mfpde.solvers.spectral.law_parts import Sums, part_of
from mfpde.solvers.spectral.law_spaces import OnHarmonics, OnModes
from mfpde.solvers.spectral.law_stepping import LawStepping
from mfpde.solvers.spectral.sphere_data import Symmetry
from mfpde.solvers.spectral.sphere_shown import OnSphere
from mfpde.solvers.steppers.gif853 import STAGES

A, V = np.array([[2.0, 1.0], [-0.5, 1.5]]), np.array([[1.0, 0.3], [-0.4, 0.8]])
A3 = np.array([[1.0, 0.5, 0.0], [-0.3, 0.8, 0.2], [0.1, 0.4, 0.5]])
POSITIONS, MASSES = np.array([0.2, 0.5, 0.9]), np.array([0.5, 0.2, 0.3])
ONE = (None, np.ones(1))
MASKED = (POSITIONS, MASSES)
EVERYWHERE = OnHarmonics(OnSphere(Symmetry(1, ((True, True),) * 4)), mfpde.Sphere())
LAWS = {
    "softmax": lambda a, v: mfpde.Softmax(A=a, V=v),
    "unnormalized": lambda a, v: mfpde.Unnormalized(A=a, V=v),
    "l2": lambda a, v: mfpde.L2(Q=a, K=v, V=a),
    "sigmoid": lambda a, v: mfpde.Sigmoid(A=a, V=v),
    "two heads": lambda a, v: mfpde.MultiHead(heads=[mfpde.Softmax(A=a, V=v), mfpde.Linear(A=v, V=a)]),
}


def smooth(grid, slices, random):
    """Coefficients of positive densities that decay fast, `(slices, 2, size)`."""
    values = 0.3 * random.standard_normal((slices, 2, grid.size)) * np.exp(-grid.degrees) * (grid.copies > 0)
    if isinstance(grid, RingGrid):
        values *= EVERYWHERE.kept(grid)
    values[:, :, 0] = 1.0, 0.0
    return values


def compared(law, grid, slices, random):
    positions, masses = slices
    masked = law if positions is None else mfpde.Masked(attention=law, positions=list(positions))
    values = smooth(grid, masses.size, random)
    densities = np.stack([grid.density(each) for each in values])
    fast = part_of(masked, grid, positions, masses, True)
    assert not isinstance(fast, Sums)
    found, wanted = (part.velocity(values, densities) for part in (fast, Sums(masked, grid, positions, masses)))
    assert np.abs(found).max() <= fast.bound
    return np.abs(found - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("slices", [ONE, MASKED], ids=["whole", "masked"])
@pytest.mark.parametrize("name", LAWS)
def test_tables_are_sums_over_nodes(name, slices, random):
    assert compared(LAWS[name](A, V), ModeGrid(20, 60), slices, random) < 1e-13


@pytest.mark.parametrize("slices", [ONE, MASKED], ids=["whole", "masked"])
@pytest.mark.parametrize("name", ["softmax", "unnormalized", "l2", "two heads"])
def test_kernels_on_a_coarse_sphere_are_sums_over_nodes(name, slices, random):
    grid = RingGrid(12, 30, mfpde.Sphere())
    assert compared(LAWS[name](A3, A3.T), grid, slices, random) < 1e-12


@pytest.mark.parametrize("dimension", [3, 4])
@pytest.mark.parametrize("name", ["softmax", "l2"])
def test_tables_about_an_axis_are_sums_over_nodes(name, dimension, random):
    axis = random.standard_normal(dimension)
    axis /= np.linalg.norm(axis)
    along = np.outer(axis, axis)
    keeping = [a * along + b * (np.eye(dimension) - along) for a, b in ((2.0, 1.0), (0.5, -1.0))]
    grid = MeridianGrid(12, 24, mfpde.Sphere(dimension=dimension), axis)
    assert compared(LAWS[name](*keeping), grid, ONE, random) < 1e-12


@pytest.mark.parametrize("slices", [ONE, MASKED], ids=["whole", "masked"])
@pytest.mark.parametrize("name", LAWS)
def test_compiled_slopes_are_those_of_numpy(name, slices, random):
    positions, masses = slices
    law = LAWS[name](A, V)
    attention = law if positions is None else mfpde.Masked(attention=law, positions=list(positions))
    drift = mfpde.Constant(value=0.3)
    flow = Flow(Equation(geometry=mfpde.Circle(), attention=attention, drift=drift), positions, masses)
    space = OnModes(even=False, period=1)
    stepping = LawStepping(flow, space.grid, space.kept, Limits.of(1e-8), 60)
    stepping.lay(30, 30, smooth(ModeGrid(30, 30), masses.size, random))
    found = stepping.room.start.copy()
    wanted = stepping._nonlinear(0.0, stepping.state)
    assert stepping._work is not None
    assert np.abs(found - wanted).max() < 1e-13 * np.abs(wanted).max()
    spill = attempt_by_tables(stepping._work, stepping.state, np.zeros((3, STAGES, 0)), 0.0) / flow.bound
    assert spill == pytest.approx(flow.spill(0.0, stepping.split(stepping.state)), abs=1e-14, rel=0.5)


@pytest.mark.parametrize(("kappa", "size", "degree"), [(60, 3.0, 40), (4, 1.0, 20), (None, 3.0, 20)])
def test_a_run_begins_with_the_degrees_that_noise_and_velocity_balance(kappa, size, degree):
    """`e^{z cos theta}`, z = 1.2 kappa; at least those of the shortest transforms."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": "softmax", "A": (size * A).tolist(), "V": V.tolist()},
            "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
            "solver": {"kind": "spectral", "tolerance": 1e-5},
            "time": {"until": 0.1},
            **({"noise": {"kappa": kappa}} if kappa else {}),
        }
    )
    integration = problem.solver.start(InitialValueProblem(problem.equation, 0.1))
    assert integration._stepping.degree == degree
