"""The continuity equation on the line as good py-pde user code, by the Python that has py-pde: `pypde_line.py REPEATS
CELLS[,CELLS]`.

Softmax attention with A = 1, V = -1 on N(0.5, 1) to T = 2. All is compiled: py-pde's numba backend, its adaptive
Runge-Kutta-Fehlberg steps, the velocity by the thin factors of the kernel (as the NumPy baseline), MUSCL fluxes,
py-pde's difference of them. That was the fastest of what was tried to a given error: its one-sided differences of the
flux are of first order (150 times the error for the same time), its centred ones lose to MUSCL's by a factor of
three, its SciPy solver spends half of its time between calls. py-pde: Zwicker, "py-pde: A Python package for solving
partial differential equations", JOSS 2020.

One line of JSON for each number of cells: seconds of the processor of the best run, compiled before, and the integral
of |error| of cell averages against the closed form's.
"""

import json
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numba
import numpy as np
import pde
from scipy.special import ndtr

UNTIL, MEAN, LOW, HIGH = 2.0, 0.5, -6.0, 7.0
TOLERANCE = 1e-8  # absolute, of a step; ten times more costs as much and is twice as wrong
FIRST_STEP = 1e-4
SECONDS_MIN = 0.3  # of all runs of so many cells, as in `timing`


def factors(x):
    """`e^{-(x-y)^2/2} = left @ right` to 1e-14."""
    left, sizes, right = np.linalg.svd(np.exp(-0.5 * (x[:, None] - x) ** 2))
    kept = sizes > 1e-14 * sizes[0]
    return np.ascontiguousarray(left[:, kept] * sizes[kept]), np.ascontiguousarray(right[kept])


class Continuity(pde.PDEBase):
    """`d_t rho = d_x (rho E[y])`, E of the law tilted by `e^{xy}`."""

    def __init__(self, grid):
        super().__init__()
        self.grid = grid

    def evolution_rate(self, state, t=0):
        """py-pde wants it; the compiled form is what runs."""
        return pde.ScalarField(self.grid, self.make_evolution_rate(state, None)(state.data, t))

    def make_evolution_rate(self, state, backend):
        """A compiled function of density and time."""
        x = np.ascontiguousarray(self.grid.axes_coords[0])
        left, right = factors(x)
        lifts = np.exp(0.5 * x**2)
        difference = self.grid.make_operator("d_dx_backward", bc={"virtual_point": "0"}, backend="numba")

        @numba.njit
        def rate(density, t):  # noqa: ARG001, py-pde asks so
            size = density.size
            lifted, velocity = np.empty((size, 2)), np.empty(size)
            for i in range(size):
                lifted[i, 0] = max(density[i], 0.0) * lifts[i]
                lifted[i, 1] = lifted[i, 0] * x[i]
            sums = np.dot(left, np.dot(right, lifted))
            for i in range(size):
                # where nobody is both sums are rounding noise; a mean lies among the cells
                velocity[i] = -min(max(sums[i, 1] / max(sums[i, 0], 1e-300), LOW), HIGH)
            slope, flux = np.zeros(size), np.zeros(size)
            for i in range(1, size - 1):
                before, after = density[i] - density[i - 1], density[i + 1] - density[i]
                if before * after > 0:
                    slope[i] = 2 * before * after / (before + after)
            for i in range(size - 1):
                speed = 0.5 * (velocity[i] + velocity[i + 1])
                upwind = density[i] + 0.5 * slope[i] if speed > 0 else density[i + 1] - 0.5 * slope[i + 1]
                flux[i] = speed * upwind
            return -difference(flux)

        return rate


def averages(faces, mean, deviation):
    """Of a Gaussian, over the cells."""
    return np.diff(ndtr((faces - mean) / deviation)) / np.diff(faces)


def main() -> None:
    """Print the lines."""
    grown = 1 + 2 * UNTIL  # A = 1, V = -1: variance 1 / grown, mean e^{-t} grown^{-1/2} of the first
    for cells in map(int, sys.argv[2].split(",")):
        grid = pde.CartesianGrid([(LOW, HIGH)], cells)
        faces = np.linspace(LOW, HIGH, cells + 1)
        start = averages(faces, MEAN, 1.0)
        solver = pde.RungeKuttaSolver(Continuity(grid), backend="numba", adaptive=True, tolerance=TOLERANCE)
        stepper = solver.make_stepper(pde.ScalarField(grid, start), dt=FIRST_STEP)
        times: list[float] = []  # the first one compiles what is left
        while len(times) <= int(sys.argv[1]) or sum(times[1:]) < SECONDS_MIN:
            state = pde.ScalarField(grid, start)
            began = time.process_time()
            stepper(state, 0.0, UNTIL)
            times.append(time.process_time() - began)
        exact = averages(faces, np.exp(-UNTIL) * grown**-0.5 * MEAN, grown**-0.5)
        error = float(np.abs(state.data - exact).sum() * (faces[1] - faces[0]))
        print(json.dumps({"cells": cells, "seconds": min(times[1:]), "error": error}), flush=True)


if __name__ == "__main__":
    main()
