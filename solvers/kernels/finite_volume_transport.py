"""Numerical fluxes of transport through the faces of cells.

Conservative finite differences [shu1988]: the unknowns are point values u_i of the density at the middles of cells, and
the flux through a face is the value there of the function whose cell averages are `f_i = u_i b_i`. So one evaluation of
the velocity b at the middles serves all faces, in any dimension, and `sum u_i` is conserved exactly. Stencils are
upwind-biased.

Arrays are `(rows, columns)`; a face lies before each cell, and one more after the last.
"""

from __future__ import annotations

from typing import TypeAlias

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.typing import Float

__all__ = [
    "GHOSTS",
    "OPEN",
    "SMOOTH_WALLS",
    "TURNING_SPEED",
    "WALLS",
    "ends_of",
    "transport_across",
    "transport_along",
    "upwind",
    "upwind_across",
]

GHOSTS = 5  # cells beyond each end that stencils of order nine need
TURNING_SPEED = 0.1  # share of the largest speed, below which upwind stencils begin to turn
OPEN, WALLS, SMOOTH_WALLS = 0, 1, 2  # ends of the cells; with noise the density is smooth up to walls
_SPEED_FLOOR = 1e-300  # keeps 0 / 0 away where all speeds vanish
_SMOOTHNESS_FLOOR = 1e-40  # keeps 0 / 0 away in the weights of WENO where all values vanish

#: products of density and speed in the ten cells nearest to each face, five on either side
Stencil: TypeAlias = tuple[Float, Float, Float, Float, Float, Float, Float, Float, Float, Float]


@kernel
def _linear7(a: float, b: float, c: float, d: float, e: float, f: float, g: float) -> float:
    """Value at the right face of the middle cell, seven averages, order seven."""
    near = fused(319.0, d, fused(214.0, e, -101.0 * c))
    return (near + fused(-38.0, f, fused(25.0, b, fused(4.0, g, -3.0 * a)))) * (1.0 / 420.0)


@kernel
def _linear9(a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float) -> float:
    """The same from nine averages, order nine."""
    near = fused(1879.0, e, fused(1375.0, f, fused(-641.0, d, -305.0 * g)))
    far = fused(199.0, c, fused(55.0, h, fused(-41.0, b, fused(-5.0, i, 4.0 * a))))
    return (near + far) * (1.0 / 2520.0)


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
    small = 1e-14 * (a * a + b * b + c * c + d * d + e * e) + _SMOOTHNESS_FLOOR
    global_difference = abs(left - right)
    w0 = 0.1 * (1.0 + (global_difference / (left + small)) ** 2)
    w1 = 0.6 * (1.0 + (global_difference / (middle + small)) ** 2)
    w2 = 0.3 * (1.0 + (global_difference / (right + small)) ** 2)
    p0 = (2.0 * a - 7.0 * b + 11.0 * c) * (1.0 / 6.0)
    p1 = (-b + 5.0 * c + 2.0 * d) * (1.0 / 6.0)
    p2 = (2.0 * c + 5.0 * d - e) * (1.0 / 6.0)
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2)


@kernel
def _direction(wind: float, turning: float) -> float:
    """The sign of the wind, smoothed where |wind| < turning."""
    t = min(1.0, max(-1.0, wind / (turning + _SPEED_FLOOR)))
    return t * (1.5 - 0.5 * t * t)


@kernel
def _faces(
    order: int, stencil: Stencil, before: Float, after: Float, turning: float, scale: float, flux: Float
) -> None:
    """Fluxes through the faces between f4 and f5; `before`, `after` are the speeds on their two sides.

    Linear stencils change sides smoothly where |speed| < turning: with a jump, the error estimate of a time step would
    see nothing else.
    """
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 = stencil
    if order == 9:
        for i in range(flux.size):
            rightward = _linear9(f0[i], f1[i], f2[i], f3[i], f4[i], f5[i], f6[i], f7[i], f8[i])
            leftward = _linear9(f9[i], f8[i], f7[i], f6[i], f5[i], f4[i], f3[i], f2[i], f1[i])
            wind = _direction(0.5 * (before[i] + after[i]), turning)
            flux[i] = scale * (0.5 * (1.0 + wind) * rightward + 0.5 * (1.0 - wind) * leftward)
    elif order == 7:
        for i in range(flux.size):
            rightward = _linear7(f1[i], f2[i], f3[i], f4[i], f5[i], f6[i], f7[i])
            leftward = _linear7(f8[i], f7[i], f6[i], f5[i], f4[i], f3[i], f2[i])
            wind = _direction(0.5 * (before[i] + after[i]), turning)
            flux[i] = scale * (0.5 * (1.0 + wind) * rightward + 0.5 * (1.0 - wind) * leftward)
    elif order == 5:
        for i in range(flux.size):
            rightward = _weno5(f2[i], f3[i], f4[i], f5[i], f6[i])
            leftward = _weno5(f7[i], f6[i], f5[i], f4[i], f3[i])
            flux[i] = scale * (rightward if before[i] + after[i] >= 0.0 else leftward)
    else:
        for i in range(flux.size):
            rightward = _limited2(f3[i], f4[i], f5[i])
            leftward = _limited2(f6[i], f5[i], f4[i])
            flux[i] = scale * (rightward if before[i] + after[i] >= 0.0 else leftward)


@kernel
def _upwind(left: Float, right: Float, before: Float, after: Float, scale: float, flux: Float) -> None:
    """First order, upwind [courant1952]: the flux is proportional to the density of the cell that it leaves."""
    for i in range(flux.size):
        speed, here, there = 0.5 * (before[i] + after[i]), left[i], right[i]  # loaded both: a vector has no branches
        flux[i] = scale * speed * (here if speed >= 0.0 else there)


@kernel
def _beyond(first: float, second: float, third: float, k: int) -> float:
    """Density k cells beyond the first one of a tail, its logarithm extrapolated as a parabola, exact for Gaussians; 0
    where the density does not decay towards the end."""
    if not 0.0 < first < second < third:
        return 0.0
    ratio = first / second
    bend = min(1.0, ratio / (second / third))
    for _ in range(k):
        ratio *= bend
        first *= ratio
    return first


@kernel
def ends_of(walls: bool, noisy: bool) -> int:
    """Of cells with walls or without, with noise or without."""
    return (SMOOTH_WALLS if noisy else WALLS) if walls else OPEN


@kernel
def _ghosts(ends: int, u: Float, b: Float, f: Float) -> None:
    """The products beyond both ends of a row; f is the padded row. With noise they are smooth up to walls."""
    n = u.size
    for k in range(1, GHOSTS + 1):
        low, high = GHOSTS - k, n + GHOSTS + k - 1
        if ends == SMOOTH_WALLS:
            f[low] = 5.0 * (f[low + 1] - f[low + 4]) - 10.0 * (f[low + 2] - f[low + 3]) + f[low + 5]
            f[high] = 5.0 * (f[high - 1] - f[high - 4]) - 10.0 * (f[high - 2] - f[high - 3]) + f[high - 5]
        elif ends == WALLS:
            f[low] = f[GHOSTS]
            f[high] = f[n + GHOSTS - 1]
        else:
            f[low] = _beyond(u[0], u[1], u[2], k) * (b[0] + k * (b[0] - b[1]))
            f[high] = _beyond(u[n - 1], u[n - 2], u[n - 3], k) * (b[n - 1] + k * (b[n - 1] - b[n - 2]))


@kernel
def _upwind_ends(walls: bool, u: Float, b: Float, scale: float, flux: Float) -> None:
    """First-order fluxes through both ends of a row."""
    n = u.size
    before, after = _beyond(u[0], u[1], u[2], 1), _beyond(u[n - 1], u[n - 2], u[n - 3], 1)
    flux[0] = 0.0 if walls else scale * b[0] * (before if b[0] > 0.0 else u[0])
    flux[n] = 0.0 if walls else scale * b[n - 1] * (u[n - 1] if b[n - 1] > 0.0 else after)


@kernel
def upwind(walls: bool, u: Float, b: Float, scale: float, flux: Float) -> None:
    """flux `(n + 1,)` = scale times the first-order flux along one row of density and speed."""
    n = u.size
    _upwind(u[: n - 1], u[1:], b[: n - 1], b[1:], scale, flux[1:n])
    _upwind_ends(walls, u, b, scale, flux)


@kernel
def upwind_across(walls: bool, u: Float, b: Float, scale: float, flux: Float) -> None:
    """The same across the rows of `(n, columns)`: flux `(n + 1, columns)`."""
    n, columns = u.shape
    for face in range(1, n):
        _upwind(u[face - 1], u[face], b[face - 1], b[face], scale, flux[face])
    for j in range(columns):
        _upwind_ends(walls, u[:, j], b[:, j], scale, flux[:, j])


@kernel
def transport_along(
    order: int,
    ends: int,
    density: Float,
    speed: Float,
    product: Float,
    turning: float,
    scale: float,
    padded: Float,
    flux: Float,
) -> None:
    """flux `(rows, n + 1)` = scale times the flux along rows of `(rows, n)`; padded is room for `(rows, n + 10)`.

    `product` is density times speed, plus other fluxes. Walls have zero flux, and products beyond them are those of a
    polynomial of degree four where noise makes the density smooth up to them; beyond open ends tails are extrapolated.
    """
    rows, n = density.shape
    for row in range(rows):
        u, b, out = density[row], speed[row], flux[row]
        if order == 1:
            upwind(ends != OPEN, u, b, scale, out)
            continue
        given, f = product[row], padded[row]
        middle = f[GHOSTS : GHOSTS + n]
        for i in range(n):
            middle[i] = given[i]
        _ghosts(ends, u, b, f)
        for part in range(3):  # the first face, those inside, the last one
            start, end = (0, 1) if part == 0 else ((1, n) if part == 1 else (n, n + 1))
            low, high = max(start - 1, 0), min(start, n - 1)
            size = end - start
            stencil = (
                *(f[start:end], f[start + 1 : end + 1], f[start + 2 : end + 2], f[start + 3 : end + 3]),
                *(f[start + 4 : end + 4], f[start + 5 : end + 5], f[start + 6 : end + 6], f[start + 7 : end + 7]),
                *(f[start + 8 : end + 8], f[start + 9 : end + 9]),
            )
            _faces(order, stencil, b[low : low + size], b[high : high + size], turning, scale, out[start:end])
        if ends != OPEN:
            out[0] = 0.0
            out[n] = 0.0


@kernel
def transport_across(
    order: int,
    ends: int,
    density: Float,
    speed: Float,
    product: Float,
    turning: float,
    scale: float,
    padded: Float,
    flux: Float,
) -> None:
    """The same across the rows of `(n, columns)`: flux `(n + 1, columns)`, padded is room for `(n + 10, columns)`."""
    n, columns = density.shape
    if order == 1:
        upwind_across(ends != OPEN, density, speed, scale, flux)
        return
    for i in range(n):
        given, f = product[i], padded[i + GHOSTS]
        for j in range(columns):
            f[j] = given[j]
    for j in range(columns):
        _ghosts(ends, density[:, j], speed[:, j], padded[:, j])
    for face in range(n + 1):
        c = padded[face : face + 2 * GHOSTS]
        stencil = (c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9])
        before, after = speed[max(face - 1, 0)], speed[min(face, n - 1)]
        _faces(order, stencil, before, after, turning, scale, flux[face])
    if ends != OPEN:
        for j in range(columns):
            flux[0, j] = 0.0
            flux[n, j] = 0.0
