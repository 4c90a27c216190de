"""The equation on the circle for any kernel, by dense quadrature: no transforms, no import from mfpde.

    d_t mu + d_theta(mu G) = (1/kappa) mu'',    G(x) = sum_h V_h int k_h(x, y) y dmu(y) / (int k_h(x, y) dmu(y) or 1)

on equispaced nodes, with the derivative of the trigonometric interpolant, by scipy. Kernels are functions of vectors x
`(m, 2)` and y `(n, 2)`; those with kinks are integrated on finer nodes, to which densities are interpolated.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.circle import differentiation_matrices, equispaced, interpolate

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]
#: kernel, V, whether it is divided by its integral
Head = tuple[Kernel, Array, bool]


def unit(theta: Array) -> Array:
    """Vectors of angles."""
    return np.stack([np.cos(theta), np.sin(theta)], axis=-1)


def exponential(matrix: Array) -> Kernel:
    """`e^{<Ax, y>}`, up to a factor of nothing but the matrix."""
    shift = np.linalg.norm(matrix, 2)
    return lambda x, y: np.exp(x @ matrix.T @ y.T - shift)


class Nodes:
    """Right-hand side on `points` nodes for densities at several positions, of which each sees those up to its own."""

    def __init__(self, heads: Sequence[Head], kappa: float, points: int, finer: int = 1) -> None:
        theta, fine = equispaced(points), equispaced(points * finer)
        self.finer = finer
        if finer > 1:
            self.refine = interpolate(np.eye(points), fine).T
        x, y = unit(theta), unit(fine)
        along = np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
        self.heads = []
        for kernel, value, divided in heads:
            weights = kernel(x, y) * (2 * np.pi / fine.size)
            self.heads.append((weights * (along @ value @ y.T), weights if divided else None))
        self.first, second = differentiation_matrices(points)
        self.diffusion = second / kappa if np.isfinite(kappa) else np.zeros_like(second)

    def drift(self, density: Array) -> Array:
        """G at the nodes."""
        seen = self.refine @ density if self.finer > 1 else density
        total = np.zeros_like(density)
        for above, below in self.heads:
            total += above @ seen if below is None else (above @ seen) / (below @ seen)
        return total

    def rhs(self, densities: Array, extra: Array | float = 0.0) -> Array:
        """d/dt of densities `(slices, points)`."""
        seen = np.cumsum(densities, axis=0)
        flux = [row * (self.drift(total) + extra) for row, total in zip(densities, seen, strict=True)]
        return np.stack([self.diffusion @ row - self.first @ each for row, each in zip(densities, flux, strict=True)])


def solve(
    stages: Sequence[tuple[float, Nodes]],
    starts: Sequence[Callable[[Array], Array]],
    points: int,
    extra: Callable[[Array], Array] | None = None,
    masses: Sequence[float] | None = None,
) -> Array:
    """Densities `(slices, points)` after stages, each until its time; `extra` moves every token on its own."""
    theta = equispaced(points)
    rows = np.stack([start(theta) for start in starts])
    rows /= rows.mean(axis=1, keepdims=True) * 2 * np.pi
    rows *= np.array(masses or [1 / len(rows)] * len(rows))[:, None]
    now, more = 0.0, 0.0 if extra is None else extra(theta)
    for until, nodes in stages:
        change = _flattened(nodes, more, rows.shape)
        rows = (
            solve_ivp(change, (now, until), rows.ravel(), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1].reshape(rows.shape)
        )
        now = until
    return rows


def _flattened(nodes: Nodes, extra: Array | float, shape: tuple[int, ...]) -> Callable[[float, Array], Array]:
    return lambda _, flat: nodes.rhs(flat.reshape(shape), extra).ravel()
