"""Numerical fluxes of diffusion, `-k g d(u/g)`: densities proportional to g are steady states, to the last bit.

With g = 1 this is Fick's law, with g the Gaussian of a moving frame the Ornstein-Uhlenbeck flux. `factors` are the
staggered difference `d f(x_i) = sum_m factors[m] (f(x_i + (m + 1/2) h) - f(x_i - (m + 1/2) h)) / h`, taken twice: for
the slope at a face, and, summed up, for the flux whose difference over a cell is the divergence. Values are reflected
at open ends, where there are none to speak of. At walls the slope is `u G_n / K`, so that nothing passes: values and
slopes beyond are those of polynomials of degree four and three through the nearest ones.
"""

from __future__ import annotations

from typing import TypeAlias

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["ratio", "spread_across", "spread_along"]

GHOSTS = 4  # cells beyond each end that stencils of order eight need

#: values in the eight cells nearest to each face, and slopes at the seven faces about it
Cells: TypeAlias = tuple[Float, Float, Float, Float, Float, Float, Float, Float]
Faces: TypeAlias = tuple[Float, Float, Float, Float, Float, Float, Float]


@kernel
def ratio(density: Float, across: Float, along: Float, out: Float) -> None:
    """out = density / g, g = across x along."""
    for i in range(density.shape[0]):
        u, w, factor = density[i], out[i], 1.0 / across[i]
        for j in range(u.size):
            w[j] = u[j] * (factor / along[j])


@kernel
def _slope(factors: Float, cells: Cells, out: Float) -> None:
    f0, f1, f2, f3, f4, f5, f6, f7 = cells
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for i in range(out.size):
        out[i] = a * (f4[i] - f3[i]) + b * (f5[i] - f2[i]) + c * (f6[i] - f1[i]) + d * (f7[i] - f0[i])


@kernel
def _divergence_flux(factors: Float, faces: Faces, flux: Float) -> None:
    """flux -= sum_l s_l (f at l faces to both sides), s_l = sum_{m >= l} factors[m]."""
    f0, f1, f2, f3, f4, f5, f6 = faces
    s3 = factors[3]
    s2 = factors[2] + s3
    s1 = factors[1] + s2
    s0 = factors[0] + s1
    for i in range(flux.size):
        flux[i] -= s0 * f3[i] + s1 * (f2[i] + f4[i]) + s2 * (f1[i] + f5[i]) + s3 * (f0[i] + f6[i])


@kernel
def _ends(walls: bool, f: Float, n: int) -> None:
    """Values beyond both ends of a row, of which the first is f[GHOSTS]."""
    for i in range(GHOSTS):
        low, high = GHOSTS - 1 - i, GHOSTS + n + i
        if walls:
            f[low] = 5.0 * (f[low + 1] - f[low + 4]) - 10.0 * (f[low + 2] - f[low + 3]) + f[low + 5]
            f[high] = 5.0 * (f[high - 1] - f[high - 4]) - 10.0 * (f[high - 2] - f[high - 3]) + f[high - 5]
        else:
            f[low] = f[GHOSTS + i]
            f[high] = f[GHOSTS + n - 1 - i]


@kernel
def _end_slopes(walls: bool, f: Float, n: int) -> None:
    """Slopes at the first and last face, 3 and 3 + n, and beyond; odd at open ends."""
    for i in range(4):
        low, high = 3 - i, 3 + n + i
        if walls:
            f[low] = 4.0 * (f[low + 1] + f[low + 3]) - 6.0 * f[low + 2] - f[low + 4]
            f[high] = 4.0 * (f[high - 1] + f[high - 3]) - 6.0 * f[high - 2] - f[high - 4]
        else:
            f[low] = -f[3 + i] if i > 0 else 0.0
            f[high] = -f[3 + n - i] if i > 0 else 0.0


@kernel
def spread_along(
    walls: bool,
    values: Float,
    factors: Float,
    strength: float,
    across: Float,
    faces: Float,
    padded: Float,
    flux: Float,
) -> None:
    """flux `(rows, n + 1)` -= strength g times the slope of `values = u / g` `(rows, n)` along rows.

    `across` (rows,) and `faces` (n + 1,) are the factors of g; padded is room for `(2, n + 8)`.
    """
    rows, n = values.shape
    extended, slope = padded[0], padded[1]
    for row in range(rows):
        w, middle = values[row], extended[GHOSTS : GHOSTS + n]
        for i in range(n):
            middle[i] = w[i]
        _ends(walls, extended, n)
        # slope[3 + k] belongs to face k
        inner = slope[GHOSTS : GHOSTS + n - 1]
        m, end = extended, n + 1
        cells = (
            *(m[1:n], m[2:end], m[3 : end + 1], m[4 : end + 2]),
            *(m[5 : end + 3], m[6 : end + 4], m[7 : end + 5], m[8 : end + 6]),
        )
        _slope(factors, cells, inner)
        weight, between = strength * across[row], faces[1:n]
        for i in range(n - 1):
            inner[i] *= weight * between[i]
        _end_slopes(walls, slope, n)
        g = slope
        beside = (g[1:n], g[2:end], g[3 : end + 1], g[4 : end + 2], g[5 : end + 3], g[6 : end + 4], g[7 : end + 5])
        _divergence_flux(factors, beside, flux[row, 1:n])


@kernel
def spread_across(
    walls: bool,
    values: Float,
    factors: Float,
    strength: float,
    faces: Float,
    along: Float,
    padded: Float,
    slope: Float,
    flux: Float,
) -> None:
    """The same across the rows of `(n, columns)`; padded and slope are room for `(n + 8, columns)`."""
    n, columns = values.shape
    for i in range(n):
        w, out = values[i], padded[GHOSTS + i]
        for j in range(columns):
            out[j] = w[j]
    for j in range(columns):
        _ends(walls, padded[:, j], n)
    for face in range(1, n):
        out, weight = slope[3 + face], strength * faces[face]
        f = padded[face : face + 2 * GHOSTS]
        _slope(factors, (f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]), out)
        for j in range(columns):
            out[j] *= weight * along[j]
    for j in range(columns):
        _end_slopes(walls, slope[:, j], n)
    for face in range(1, n):
        g = slope[face : face + 2 * GHOSTS - 1]
        _divergence_flux(factors, (g[0], g[1], g[2], g[3], g[4], g[5], g[6]), flux[face])
