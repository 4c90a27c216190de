"""The circle equation as good exponax user code: a stepper subclass, ETDRK4 in double precision, one jitted scan.

exponax (Koehler et al., "APEBench", NeurIPS 2024) is optional: `available()` says whether it is installed.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.numpy_etdrk4 import drift_multipliers

Array = NDArray[np.float64]


def available() -> bool:
    """Whether exponax can be imported."""
    return importlib.util.find_spec("exponax") is not None


def build_stepper(points: int, beta: float, kappa: float, step: float, dealiasing_fraction: float | None) -> Any:
    """The exponax stepper of d_t mu = mu''/kappa - (mu G)', unnormalized kernel."""
    import jax

    jax.config.update("jax_enable_x64", True)  # before any array is made
    import exponax
    import jax.numpy as jnp

    pull = jnp.asarray(drift_multipliers(points, beta, "unnormalized")[0] * (2 * np.pi))[None, :]

    class Interaction(exponax.nonlin_fun.BaseNonlinearFun):  # type: ignore[misc]
        derivative: Any
        pull: Any

        def __init__(self, derivative: Any) -> None:
            super().__init__(1, points, dealiasing_fraction=dealiasing_fraction)
            self.derivative = derivative
            self.pull = pull

        def __call__(self, coefficients: Any) -> Any:
            # Channels share one batched inverse transform; exponax transforms are unscaled forward, 1/points backward.
            density, drift = self.ifft(jnp.concatenate([coefficients, self.pull * coefficients]))
            return -self.derivative * self.fft((density * drift)[None, :])

    class Circle(exponax.BaseStepper):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(1, 2 * np.pi, points, step, num_channels=1, order=4)

        def _build_linear_operator(self, derivative: Any) -> Any:
            return derivative**2 / kappa

        def _build_nonlinear_fun(self, derivative: Any) -> Any:
            return Interaction(derivative)

    return Circle()


def prepare(
    points: int, beta: float, kappa: float, until: float, steps: int, dealiasing_fraction: float | None = None
) -> Callable[[Array], Array]:
    """A compiled function from the density on `points` equispaced angles to the density at time `until`."""
    stepper = build_stepper(points, beta, kappa, until / steps, dealiasing_fraction)
    import jax
    import jax.numpy as jnp

    @jax.jit  # type: ignore[untyped-decorator]
    def run(values: Any) -> Any:
        # Staying in Fourier space saves one transform pair per step against repeat(stepper).
        start = jnp.fft.rfft(values)[None, :]
        end = jax.lax.fori_loop(0, steps, lambda _, c: stepper.step_fourier(c), start)
        return jnp.fft.irfft(end[0], points)

    def solve(values: Array) -> Array:
        return np.asarray(jax.block_until_ready(run(jnp.asarray(values))))

    return solve
