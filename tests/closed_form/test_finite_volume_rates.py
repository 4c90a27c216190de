"""How fast cells change, in frames that are oblique, move and turn, against the equation at fixed x:
`d_t rho = D Lap rho - div(rho B x)`."""

import numpy as np
import pytest

import mfpde
from mfpde.solvers.finite_volume.frames import Moving, Rescaled, Static
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.scheme import Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem

DIFFUSION = 0.3
B = np.array([[-0.2, 1.1], [-0.4, -0.5]])
#: B x = relu(x) B - relu(-x) B, as a perceptron
LINEAR = {
    "kind": "mlp",
    "W": np.hstack([B, -B]).tolist(),
    "U": np.vstack([np.eye(2), -np.eye(2)]).tolist(),
    "b": [0.0] * 4,
    "activation": "relu",
}
ORIGIN = np.array([0.2, -0.1])
OBLIQUE = np.array([[0.9, 0.5], [-0.3, 0.7]])  # does not commute with its transpose
FRAMES = {"moving": OBLIQUE, "rescaled": OBLIQUE, "static": np.eye(2)}
PARTS = [
    (0.4, np.array([-0.4, 0.3]), np.array([[0.9, 0.2], [0.2, 0.5]])),
    (0.6, np.array([0.6, -0.3]), np.array([[0.8, -0.1], [-0.1, 0.6]])),
]


class Turning(Rescaled):
    """By a V of its own, so that the equation can be another one."""

    def _value(self, time):
        return np.array([[0.3, -0.2], [0.5, 0.1]])


def exact(x):
    """rho, its gradient and d_t rho of a mixture of Gaussians, at points `(n, 2)`."""
    density, gradient, change = np.zeros(len(x)), np.zeros(x.shape), np.zeros(len(x))
    for weight, mean, covariance in PARTS:
        inverse = np.linalg.inv(covariance)
        pull = (x - mean) @ inverse  # - grad log
        level = weight / np.sqrt(np.linalg.det(2 * np.pi * covariance))
        part = level * np.exp(-0.5 * np.sum(pull * (x - mean), axis=1))
        density += part
        gradient -= part[:, None] * pull
        change += DIFFUSION * part * (np.sum(pull**2, axis=1) - np.trace(inverse))
    change -= np.sum(gradient * (x @ B.T), axis=1) + density * np.trace(B)
    return density, gradient, change


def begun(frame):
    problem = {
        "geometry": {"kind": "plane"},
        "attention": {"kind": "softmax", "A": 0, "V": 0},
        "noise": {"kappa": 1 / DIFFUSION},
        "drift": LINEAR,
        "initial": {"kind": "uniform", "box": [[0, 1], [0, 1]]},
        "solver": {"kind": "finite-volume"},
        "time": {"until": 1},
    }
    equation = mfpde.Problem.from_dict(problem).equation
    made = {"moving": Moving, "rescaled": lambda: Turning(equation), "static": Static}[frame]()
    grid = Grid(np.array([-8.5, -9.0]), np.array([8.0, 9.5]), (120, 132), gaussian=made.gaussian)
    system = CellSystem(equation, grid, made, Scheme(order=9, closed=False, walls=False))
    matrix = FRAMES[frame]
    x = ORIGIN + grid.coordinates.reshape(2, -1).T @ matrix.T
    density = exact(x)[0].reshape(1, *grid.shape) * np.linalg.det(matrix)
    return system, x, Solution(density, ORIGIN[None], matrix[None])


@pytest.mark.parametrize("frame", FRAMES)
def test_cells_and_their_frame_change_as_the_equation_says(frame):
    system, x, solution = begun(frame)
    rates = system.rhs(0.0, solution)
    found = -np.diff(rates.fluxes.across[0], axis=0) - np.diff(rates.fluxes.along[0], axis=1)
    density, gradient, change = exact(x)
    (mean,), (matrix,), (start,) = rates.mean, rates.matrix, solution.matrix
    carried = mean + system.grid.coordinates.reshape(2, -1).T @ matrix.T  # how fast the points of the frame move
    widening = np.trace(np.linalg.solve(start, matrix))
    expected = np.linalg.det(start) * (change + np.sum(gradient * carried, axis=1) + density * widening)
    assert np.abs(found.ravel() - expected).max() < 1e-6 * np.abs(expected).max()
    whole = np.abs(change).sum() * system.grid.volume * np.linalg.det(start)
    assert abs(system.residual(solution, rates) - whole) < 1e-6 * whole
