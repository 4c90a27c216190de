"""Numerical fluxes of diffusion, `-k g d(u/g)`: whatever is proportional to g stays as it is, to the last bit.

With g = 1 this is Fick's law, with g the Gaussian of a moving frame the Ornstein-Uhlenbeck flux. `factors` are the
staggered difference `d f(x_i) = sum_m factors[m] (f(x_i + (m + 1/2) h) - f(x_i - (m + 1/2) h)) / h`, taken twice: for
the slope at a face, and, summed up, for the flux whose difference over a cell is the divergence. Walls are mirrors.
"""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["ratio", "spread_across", "spread_along"]

GHOSTS = 4  # cells beyond each end that stencils of order eight need


@kernel
def ratio(density: Float, across: Float, along: Float, out: Float) -> None:
    """out = density / g, g = across x along."""
    for i in range(density.shape[0]):
        u, w, factor = density[i], out[i], 1.0 / across[i]
        for j in range(u.size):
            w[j] = u[j] * (factor / along[j])


@kernel
def _slope(
    factors: Float,
    f0: Float,
    f1: Float,
    f2: Float,
    f3: Float,
    f4: Float,
    f5: Float,
    f6: Float,
    f7: Float,
    out: Float,
) -> None:
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for i in range(out.size):
        out[i] = a * (f4[i] - f3[i]) + b * (f5[i] - f2[i]) + c * (f6[i] - f1[i]) + d * (f7[i] - f0[i])


@kernel
def _divergence_flux(
    factors: Float, f0: Float, f1: Float, f2: Float, f3: Float, f4: Float, f5: Float, f6: Float, flux: Float
) -> None:
    """flux -= sum_l s_l (f at l faces to both sides), s_l = sum_{m >= l} factors[m]."""
    s3 = factors[3]
    s2 = factors[2] + s3
    s1 = factors[1] + s2
    s0 = factors[0] + s1
    for i in range(flux.size):
        flux[i] -= s0 * f3[i] + s1 * (f2[i] + f4[i]) + s2 * (f1[i] + f5[i]) + s3 * (f0[i] + f6[i])


@kernel
def spread_along(
    values: Float, factors: Float, strength: float, across: Float, faces: Float, padded: Float, flux: Float
) -> None:
    """flux `(rows, n + 1)` -= strength g times the slope of `values = u / g` `(rows, n)` along rows.

    `across` (rows,) and `faces` (n + 1,) are the factors of g; padded is room for `(2, n + 8)`.
    """
    rows, n = values.shape
    mirrored, slope = padded[0], padded[1]
    for row in range(rows):
        w, middle = values[row], mirrored[GHOSTS : GHOSTS + n]
        for i in range(n):
            middle[i] = w[i]
        for i in range(GHOSTS):
            mirrored[GHOSTS - 1 - i] = w[i]
            mirrored[GHOSTS + n + i] = w[n - 1 - i]
        # slope[3 + k] belongs to face k
        inner = slope[GHOSTS : GHOSTS + n - 1]
        _slope(
            factors,
            mirrored[1:n],
            mirrored[2 : n + 1],
            mirrored[3 : n + 2],
            mirrored[4 : n + 3],
            mirrored[5 : n + 4],
            mirrored[6 : n + 5],
            mirrored[7 : n + 6],
            mirrored[8 : n + 7],
            inner,
        )
        weight, between = strength * across[row], faces[1:n]
        for i in range(n - 1):
            inner[i] *= weight * between[i]
        slope[3] = 0.0
        slope[3 + n] = 0.0
        for i in range(1, 4):
            slope[3 - i] = -slope[3 + i]
            slope[3 + n + i] = -slope[3 + n - i]
        _divergence_flux(
            factors,
            slope[1:n],
            slope[2 : n + 1],
            slope[3 : n + 2],
            slope[4 : n + 3],
            slope[5 : n + 4],
            slope[6 : n + 5],
            slope[7 : n + 6],
            flux[row, 1:n],
        )


@kernel
def spread_across(
    values: Float, factors: Float, strength: float, faces: Float, along: Float, padded: Float, slope: Float, flux: Float
) -> None:
    """The same across the rows of `(n, columns)`; padded and slope are room for `(n + 8, columns)`."""
    n, columns = values.shape
    for i in range(n):
        w, out = values[i], padded[GHOSTS + i]
        for j in range(columns):
            out[j] = w[j]
    for i in range(GHOSTS):
        first, last, low, high = values[i], values[n - 1 - i], padded[GHOSTS - 1 - i], padded[GHOSTS + n + i]
        for j in range(columns):
            low[j] = first[j]
            high[j] = last[j]
    for face in range(1, n):
        out, weight = slope[3 + face], strength * faces[face]
        _slope(
            factors,
            padded[face],
            padded[face + 1],
            padded[face + 2],
            padded[face + 3],
            padded[face + 4],
            padded[face + 5],
            padded[face + 6],
            padded[face + 7],
            out,
        )
        for j in range(columns):
            out[j] *= weight * along[j]
    for j in range(columns):
        slope[3, j] = 0.0
        slope[3 + n, j] = 0.0
        for i in range(1, 4):
            slope[3 - i, j] = -slope[3 + i, j]
            slope[3 + n + i, j] = -slope[3 + n - i, j]
    for face in range(1, n):
        _divergence_flux(
            factors,
            slope[face],
            slope[face + 1],
            slope[face + 2],
            slope[face + 3],
            slope[face + 4],
            slope[face + 5],
            slope[face + 6],
            flux[face],
        )
