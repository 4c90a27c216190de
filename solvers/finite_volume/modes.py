"""Modes of the cells in which diffusion is diagonal, for steps that integrate it exactly.

Along each axis they are those of `(g (u / g)')'` between ends that nothing passes, with a weight g > 0; on the plane
g is a product. Where a density flows towards a wall at a speed b besides `K grad log g`, u / g has a slope there,
`K g d_n (u / g) = u b_n` (the whole flux is zero), which the modes have not: `lifting` gives what is missing to second
order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.kernels.line_exact import LineModes
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY
from mfpde.typing import AnyArray, Float

__all__ = ["Modes", "antiderivative"]

_TO_THE_WALL = np.array([15.0, -10.0, 3.0]) / 8.0  # the value at a wall from those in the three cells before it
_SPLINE_DEGREE = 7  # order eight, as the staggered differences


class Modes(ABC):
    """Of the cells of a grid; densities and their coefficients are `(panels, rows, columns)`."""

    #: g at the middles along each axis, and at the faces
    weights: tuple[Float, ...]
    face_weights: tuple[Float, ...]
    #: rounding errors of sums of modes, as a share of the peak in units of the scale
    floor: ClassVar[float]
    #: shares of the peak, in units of the scale, below which the drift may not notice densities
    shares: ClassVar[tuple[float, ...]]
    #: whether densities too small for the modes go on as g does
    continued = False
    #: the largest |h L| of modes whose stages know of each other
    slow = LARGEST_DECAY

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @property
    @abstractmethod
    def scale(self) -> Float:
        """What rounding errors of densities are relative to in each cell, `(rows, columns)`."""

    @property
    @abstractmethod
    def along(self) -> tuple[Float, Float]:
        """Rates of diffusion with unit conductivity along rows' index and columns' index, 0 for the only row of the
        line; the first mode of each is the steady one."""

    @abstractmethod
    def coefficients(self, values: Float) -> Float:
        """Of densities."""

    @abstractmethod
    def values(self, coefficients: Float) -> Float:
        """Where they came from."""

    @abstractmethod
    def microseconds(self, panels: int) -> float:
        """That the modes of one stage take, estimated."""

    @abstractmethod
    def spread(self, direction: int, values: Float) -> Float:
        """`(g (u / g)')'` of values u along an axis, in the modes."""

    def remaining(self, speeds: Float, conductivities: Float) -> Float:
        """What the modes leave of speeds `(panels, d, rows, columns)` to transport."""
        return speeds

    def rates(self, conductivities: Float) -> Float:
        """Of diffusion with conductivities `(panels, d)` along the axes, `(panels, rows, columns)`."""
        across, along = self.along
        found: Float = conductivities[:, -1, None, None] * along
        return found if self.grid.dimension == 1 else found + conductivities[:, 0, None, None] * across[:, None]

    def lifting(self, density: Float, speeds: Float) -> Float:
        """What slopes at the walls add to the rates of densities `(panels, rows, columns)` that are transported with
        speeds `(panels, d, rows, columns)`.

        `u = q + s g psi` with `g psi' = x / L`, 1 at the right wall, leaves q / g without a slope there if `K s` is the
        flux u b at the wall. Then `d_t u = K (Lq + s (g psi')') - d_x(u b)`, and as L, in modes, acts on u, and
        transport has no flux through the wall, `K s ((g psi')' - L(g psi) - e / h)` is missing; e is 1 in the last
        cell. Its sum over the cells is zero.
        """
        product = density[:, None] * speeds
        (left, right), along = self._missing[-1], product[:, -1]
        added: Float = (along[..., -3:] @ _TO_THE_WALL[::-1])[..., None] * right
        added -= (along[..., :3] @ _TO_THE_WALL)[..., None] * left
        if self.grid.dimension == 2:
            (left, right), across = self._missing[0], product[:, 0]
            added += right[:, None] * np.tensordot(across[:, -3:], _TO_THE_WALL[::-1], axes=(1, 0))[:, None]
            added -= left[:, None] * np.tensordot(across[:, :3], _TO_THE_WALL, axes=(1, 0))[:, None]
        return added

    @property
    def known_on_line(self) -> bool:
        """Whether compiled steps on the line know them; no table is laid to say so."""
        return True

    def on_line(self, walls: bool) -> LineModes | None:
        """For compiled steps on the line, with walls or open ends; None where compiled code does not know the modes."""
        tables = self._line_tables
        return tables if tables is None or not walls else tables._replace(walls=self._missing_on_line)

    @property
    @abstractmethod
    def _line_tables(self) -> LineModes | None:
        """The same without walls."""

    @cached_property
    def _missing_on_line(self) -> Float:
        return np.array(self._missing[0])

    @cached_property
    def _missing(self) -> list[tuple[Float, Float]]:
        """`(g psi')' - L(g psi) - e / h` of the left and the right wall along each axis."""
        return [(self._missing_at(i, -1)[::-1], self._missing_at(i, 1)) for i in range(self.grid.dimension)]

    def _missing_at(self, direction: int, turn: int) -> Float:
        """Of the wall at which an axis, turned round by -1, ends; in cells from its start on."""
        inside, faces = self.weights[direction][::turn], self.face_weights[direction][::turn]
        width = float(self.grid.widths[direction])
        flux = np.linspace(0.0, 1.0, 2 * inside.size + 1)
        weights, places = np.empty(flux.size), 0.5 * width * np.arange(flux.size)
        weights[1::2], weights[::2] = inside, faces
        lift = inside * antiderivative(places, flux / weights, places[1::2])
        missing: Float = 1.0 / (inside.size * width) - self.spread(direction, lift[::turn])[::turn]
        missing[-1] -= 1.0 / width
        return missing


def antiderivative(places: AnyArray, values: AnyArray, where: AnyArray) -> Float:
    """Of a function with values at some places, from the first of them on: that of a spline of degree seven."""
    from scipy.interpolate import make_interp_spline

    degree = min(_SPLINE_DEGREE, (places.size - 1) // 2 * 2 - 1)
    return np.asarray(make_interp_spline(places, values, k=degree).antiderivative()(where))
