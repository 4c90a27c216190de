"""What acts between the nodes of a lattice, from its table in the distance."""

from __future__ import annotations

import math

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.transform.piecewise import Piecewise, piecewise_value, value_beside
from mfpde.typing import Float

__all__ = ["act", "act_on_differences", "integrate_stencils", "slide"]

_KINK_MARGIN = 1e-12  # of a cell: kinks nearer to its ends lie on them


@kernel
def act_on_differences(table: Piecewise, steps: Float, first: Float, radial: bool, odd: bool, out: Float) -> None:
    """out `(parts, rows, columns)` = what acts over the differences `steps (first + (i, j))`: the vector along them of
    that length where it is `odd`, otherwise the number itself. Where the differences are `radial`, i.e. with each one
    its negative is among them, half of them are asked for."""
    rows, columns = out.shape[1], out.shape[2]
    size, panel = rows * columns, 0
    for index in range((size + 1) // 2 if radial else size):
        i, j = index // columns, index % columns
        p, q = first[0] + i, first[1] + j
        x, y = steps[0, 0] * p + steps[0, 1] * q, steps[1, 0] * p + steps[1, 1] * q
        distance = math.sqrt(x * x + y * y)
        value = 0.0 if odd else table.centre
        if distance > 0.0:
            value, panel = value_beside(table, panel, distance)
        if not odd:
            out[0, i, j] = value
            if radial:
                out[0, rows - 1 - i, columns - 1 - j] = value
            continue
        ratio = value / distance if distance > 0.0 else 0.0
        out[out.shape[0] - 1, i, j] = ratio * y
        if out.shape[0] == 2:
            out[0, i, j] = ratio * x
        if radial:
            out[out.shape[0] - 1, rows - 1 - i, columns - 1 - j] = -(ratio * y)
            if out.shape[0] == 2:
                out[0, rows - 1 - i, columns - 1 - j] = -(ratio * x)


@kernel
def act(table: Piecewise, difference: float, odd: bool) -> float:
    """What acts over a difference on the line."""
    if difference == 0.0:
        return 0.0 if odd else table.centre
    value = piecewise_value(table, abs(difference))
    return -value if odd and difference < 0.0 else value


@kernel
def _basis(t: float, nodes: Float, weights: Float, out: Float) -> None:
    """out = the polynomials of a stencil's nodes at one place."""
    for k in range(nodes.size):
        product = weights[k]
        for other in range(nodes.size):
            if other != k:
                product *= t - nodes[other]
        out[k] = product


@kernel
def _add_stretch(
    table: Piecewise, width: float, cell: float, ends: tuple[float, float], odd: bool,
    rule: tuple[Float, Float, Float], stencil: tuple[Float, Float], basis: Float, moments: Float,
) -> None:  # fmt: skip
    """moments += `int F(h (q - t)) l_k(t) dt` over t in q minus what lies between both ends."""
    (low, high), points, shares = ends, rule[0], rule[1]
    for index in range(points.size):
        place = low + 0.5 * (high - low) * (1.0 + points[index])
        acting = (high - low) * shares[index] * act(table, width * place, odd)
        _basis(cell - place, stencil[0], stencil[1], basis)
        for k in range(basis.size):
            moments[k] += acting * basis[k]


@kernel
def _add_cell(
    table: Piecewise, width: float, cell: float, odd: bool, points: Float, usual: Float, moments: Float
) -> None:
    """The same over a whole cell, by a rule whose weights are in `usual`."""
    for point in range(points.size):
        line, acting = usual[point], act(table, width * (cell - 0.5 * (1.0 + points[point])), odd)
        for k in range(moments.size):
            moments[k] += acting * line[k]


@kernel
def integrate_stencils(
    table: Piecewise, width: float, first: int, kinks: Float, odd: bool,
    rule: tuple[Float, Float, Float], stencil: tuple[Float, Float], room: Float, out: Float,
) -> None:  # fmt: skip
    """out_n = `sum_k int_0^1 F(h (n + first + s_k - t)) l_k(t) dt`, over the nodes s_k of a stencil.

    By a Gauss rule on either side of every kink, which are given in cells, ascending: points, weights of sum 1, and
    `(points, nodes)` weights times l_k for cells without any. `room`: two numbers for each node.
    """
    count = stencil[0].size
    basis, moments, kink = room[:count], room[count : 2 * count], 0
    for n in range(out.size):
        out[n] = 0.0
    for index in range(out.size + count - 1):
        cell = float(first + int(stencil[0][0]) + index)  # over [cell - 1, cell] h
        for k in range(count):
            moments[k] = 0.0
        while kink < kinks.size and kinks[kink] <= cell - 1.0 + _KINK_MARGIN:
            kink += 1
        low = cell - 1.0
        while kink < kinks.size and kinks[kink] < cell - _KINK_MARGIN:
            _add_stretch(table, width, cell, (low, kinks[kink]), odd, rule, stencil, basis, moments)
            low = kinks[kink]
            kink += 1
        if low == cell - 1.0:
            _add_cell(table, width, cell, odd, rule[0], rule[2], moments)
        else:
            _add_stretch(table, width, cell, (low, cell), odd, rule, stencil, basis, moments)
        for n in range(max(0, index - count + 1), min(out.size, index + 1)):
            out[n] += moments[index - n]


@kernel
def slide(masses: Float, acting: Float, out: Float) -> None:
    """`out_i += sum_j masses_j acting_{i - j + n - 1}` over n masses, four of them at a time."""
    n, whole = masses.size, masses.size - masses.size % 4
    for j in range(0, whole, 4):
        m0, m1, m2, m3 = masses[j], masses[j + 1], masses[j + 2], masses[j + 3]
        start = n - 1 - j
        a0, a1, a2, a3 = acting[start:], acting[start - 1 :], acting[start - 2 :], acting[start - 3 :]
        for i in range(out.size):
            total = fused(m0, a0[i], out[i])
            total = fused(m1, a1[i], total)
            total = fused(m2, a2[i], total)
            out[i] = fused(m3, a3[i], total)
    for j in range(whole, n):
        mass, here = masses[j], acting[n - 1 - j :]
        for i in range(out.size):
            out[i] = fused(mass, here[i], out[i])
