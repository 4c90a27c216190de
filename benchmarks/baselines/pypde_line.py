"""The continuity equation on the line as good py-pde user code, the velocity handed to it.

The velocity is the one of the NumPy baseline: its kernel factored into thin matrices, BLAS multiplies. (In a function
that py-pde compiles numba freezes them into the code and compiles for minutes.) py-pde differentiates the flux by its
compiled one-sided differences, against the wind, and takes the steps by its SciPy solver; compiling is not timed. Its
centred differences are of second order, but their wiggles in the tails, which the tilt e^{xy} raises, spoil the
velocity: an error of 0.5. py-pde (Zwicker, "py-pde: A Python package for solving partial differential equations", JOSS
2020) is optional: `available()` says whether it is installed.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def available() -> bool:
    """Whether py-pde can be imported."""
    return importlib.util.find_spec("pde") is not None


def factors(x: Array) -> tuple[Array, Array]:
    """`e^{-(x-y)^2/2} = left @ right` to 1e-14."""
    left, sizes, right = np.linalg.svd(np.exp(-0.5 * (x[:, None] - x) ** 2))
    kept = sizes > 1e-14 * sizes[0]
    return np.ascontiguousarray(left[:, kept] * sizes[kept]), np.ascontiguousarray(right[kept])


def prepare(
    low: float, high: float, cells: int, until: float, method: str, tolerance: float
) -> tuple[Array, Callable[[Array], Array]]:
    """Centres of the cells, and a function from the density there to the density at the end."""
    import pde

    grid = pde.CartesianGrid([(low, high)], cells)
    x = np.ascontiguousarray(grid.axes_coords[0])
    left, right = factors(x)
    lifts = np.stack([np.exp(0.5 * x**2), x * np.exp(0.5 * x**2)], axis=1)
    before, after = (
        grid.make_operator(f"d_dx_{side}", bc={"virtual_point": "0"}, backend="numba")
        for side in ("backward", "forward")
    )

    class Continuity(pde.PDEBase):  # type: ignore[misc]
        """A = 1, V = -1: `d_t rho = d_x (rho E[y])`."""

        def evolution_rate(self, state: Any, t: float = 0) -> Any:
            return pde.ScalarField(grid, self.make_evolution_rate(state, None)(state.data, t))

        def make_evolution_rate(self, state: Any, backend: Any) -> Any:
            def rate(density: Array, t: float) -> Array:  # noqa: ARG001, py-pde asks so
                sums = left @ (right @ (np.maximum(density, 0)[:, None] * lifts))
                # where nobody is both sums are rounding noise; a mean lies among the cells
                with np.errstate(over="ignore"):
                    velocity = -np.clip(sums[:, 1] / np.maximum(sums[:, 0], 1e-300), low, high)
                return -before(np.maximum(velocity, 0) * density) - after(np.minimum(velocity, 0) * density)

            return rate

    state = pde.ScalarField(grid, np.zeros(cells))
    solver = pde.ScipySolver(Continuity(), backend="numpy", method=method, rtol=tolerance, atol=0.01 * tolerance)
    stepper = solver.make_stepper(state)

    def solve(density: Array) -> Array:
        now = pde.ScalarField(grid, density)
        stepper(now, 0.0, until)
        return now.data

    return x, solve
