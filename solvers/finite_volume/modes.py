"""Modes of the cells in which diffusion is diagonal, for steps that integrate it exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mfpde.solvers.finite_volume.grid import Grid
from mfpde.typing import Float

__all__ = ["Modes"]


class Modes(ABC):
    """Of the cells of a grid; densities and their coefficients are `(panels, rows, columns)`."""

    #: rounding errors of sums of modes, as a share of the peak in units of the scale
    floor: ClassVar[float]
    #: shares of the peak, in units of the scale, below which the drift may not notice densities
    shares: ClassVar[tuple[float, ...]]

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

    def lifting(self, density: Float, speeds: Float) -> Float:
        """What the slopes of densities at walls add to their rates, where modes have none."""
        return np.zeros_like(density)

    def rates(self, conductivities: Float) -> Float:
        """Of diffusion with conductivities `(panels, d)` along the axes, `(panels, rows, columns)`."""
        across, along = self.along
        found: Float = conductivities[:, -1, None, None] * along
        return found if self.grid.dimension == 1 else found + conductivities[:, 0, None, None] * across[:, None]
