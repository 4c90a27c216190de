"""Numerical fluxes of transport through the faces of cells.

Conservative finite differences [shu1988]: what is kept are point values u_i of the density at the middles of cells, and
the flux through a face is the value there of the function whose cell averages are `f_i = u_i b_i`. So one evaluation of
the velocity b at the middles serves all faces, in any dimension, and `sum u_i` is conserved exactly. The stencil leans
to the side the wind comes from.

Arrays are `(rows, columns)`; a face lies before each cell, and one more after the last. Walls let nothing through.
"""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["GHOSTS", "transport_across", "transport_along"]

GHOSTS = 4
_TINY = 1e-40  # relative to the values themselves, see _weno


@kernel
def _linear7(a: float, b: float, c: float, d: float, e: float, f: float, g: float) -> float:
    """Value at the right face of the middle cell, seven averages, order seven."""
    return (319.0 * d + 214.0 * e - 101.0 * c - 38.0 * f + 25.0 * b + 4.0 * g - 3.0 * a) * (1.0 / 420.0)


@kernel
def _limited2(a: float, b: float, c: float) -> float:
    """The same from three averages with van Leer's harmonic slope [vanleer1979], order two."""
    left, right = b - a, c - b
    product = left * right
    return b + product / (left + right) if product > 0.0 else b


@kernel
def _weno5(a: float, b: float, c: float, d: float, e: float) -> float:
    """The same from five averages by weighted parabolas, WENO-Z [borges2008], order five."""
    left = 13.0 / 12.0 * (a - 2.0 * b + c) ** 2 + 0.25 * (a - 4.0 * b + 3.0 * c) ** 2
    middle = 13.0 / 12.0 * (b - 2.0 * c + d) ** 2 + 0.25 * (b - d) ** 2
    right = 13.0 / 12.0 * (c - 2.0 * d + e) ** 2 + 0.25 * (3.0 * c - 4.0 * d + e) ** 2
    # epsilon relative to the data, so that the weights do not depend on their unit; the constant keeps 0/0 away
    small = 1e-14 * (a * a + b * b + c * c + d * d + e * e) + _TINY
    global_difference = abs(left - right)
    w0 = 0.1 * (1.0 + (global_difference / (left + small)) ** 2)
    w1 = 0.6 * (1.0 + (global_difference / (middle + small)) ** 2)
    w2 = 0.3 * (1.0 + (global_difference / (right + small)) ** 2)
    p0 = (2.0 * a - 7.0 * b + 11.0 * c) * (1.0 / 6.0)
    p1 = (-b + 5.0 * c + 2.0 * d) * (1.0 / 6.0)
    p2 = (2.0 * c + 5.0 * d - e) * (1.0 / 6.0)
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2)


@kernel
def _faces(
    order: int,
    f0: Float,
    f1: Float,
    f2: Float,
    f3: Float,
    f4: Float,
    f5: Float,
    f6: Float,
    f7: Float,
    before: Float,
    after: Float,
    scale: float,
    flux: Float,
) -> None:
    """Adds the fluxes through faces between f3 and f4; `before`, `after` are the speeds on their two sides."""
    if order == 7:
        for i in range(flux.size):
            rightward = _linear7(f0[i], f1[i], f2[i], f3[i], f4[i], f5[i], f6[i])
            leftward = _linear7(f7[i], f6[i], f5[i], f4[i], f3[i], f2[i], f1[i])
            flux[i] = scale * (rightward if before[i] + after[i] >= 0.0 else leftward)
    elif order == 5:
        for i in range(flux.size):
            rightward = _weno5(f1[i], f2[i], f3[i], f4[i], f5[i])
            leftward = _weno5(f6[i], f5[i], f4[i], f3[i], f2[i])
            flux[i] = scale * (rightward if before[i] + after[i] >= 0.0 else leftward)
    else:
        for i in range(flux.size):
            rightward = _limited2(f2[i], f3[i], f4[i])
            leftward = _limited2(f5[i], f4[i], f3[i])
            flux[i] = scale * (rightward if before[i] + after[i] >= 0.0 else leftward)


@kernel
def _upwind(left: Float, right: Float, before: Float, after: Float, scale: float, flux: Float) -> None:
    """First order [courant1952]: what leaves a cell is a share of what is in it."""
    for i in range(flux.size):
        speed = 0.5 * (before[i] + after[i])
        flux[i] = scale * speed * (left[i] if speed >= 0.0 else right[i])


@kernel
def transport_along(
    order: int, density: Float, speed: Float, product: Float, scale: float, padded: Float, flux: Float
) -> None:
    """flux `(rows, n + 1)` = scale times the flux along rows of `(rows, n)`; padded is room for `(rows, n + 8)`.

    `product` is density times speed, and whatever else is to flow.
    """
    rows, n = density.shape
    for row in range(rows):
        u, b, out = density[row], speed[row], flux[row]
        out[0] = 0.0
        out[n] = 0.0
        inner = out[1:n]
        if order == 1:
            _upwind(u[: n - 1], u[1:], b[: n - 1], b[1:], scale, inner)
            continue
        given, f = product[row], padded[row]
        middle = f[GHOSTS : GHOSTS + n]
        for i in range(n):
            middle[i] = given[i]
        for i in range(GHOSTS):
            f[i] = given[0]
            f[n + GHOSTS + i] = given[n - 1]
        _faces(
            order,
            f[1:n],
            f[2 : n + 1],
            f[3 : n + 2],
            f[4 : n + 3],
            f[5 : n + 4],
            f[6 : n + 5],
            f[7 : n + 6],
            f[8 : n + 7],
            b[: n - 1],
            b[1:],
            scale,
            inner,
        )


@kernel
def transport_across(
    order: int, density: Float, speed: Float, product: Float, scale: float, padded: Float, flux: Float
) -> None:
    """The same across the rows of `(n, columns)`: flux `(n + 1, columns)`, padded is room for `(n + 8, columns)`."""
    n, columns = density.shape
    for i in range(n):
        given, f = product[i], padded[i + GHOSTS]
        for j in range(columns):
            f[j] = given[j]
    for ghost in range(GHOSTS):
        low, high, first, last = padded[ghost], padded[n + GHOSTS + ghost], padded[GHOSTS], padded[n + GHOSTS - 1]
        for j in range(columns):
            low[j] = first[j]
            high[j] = last[j]
    for j in range(columns):
        flux[0, j] = 0.0
        flux[n, j] = 0.0
    for face in range(1, n):
        if order == 1:
            _upwind(density[face - 1], density[face], speed[face - 1], speed[face], scale, flux[face])
            continue
        _faces(
            order,
            padded[face],
            padded[face + 1],
            padded[face + 2],
            padded[face + 3],
            padded[face + 4],
            padded[face + 5],
            padded[face + 6],
            padded[face + 7],
            speed[face - 1],
            speed[face],
            scale,
            flux[face],
        )
