"""Where tokens live, and the axes on which a density over that space is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mfpde.specification import Specification
from mfpde.typing import AnyArray, Float

__all__ = ["Axis", "Geometry", "Layout"]


class Geometry(Specification, ABC):
    """Where tokens live: its coordinates, its tangent projection, its embedding into R^d."""

    #: R^d itself: points are vectors and nothing is projected
    flat: ClassVar[bool] = False

    @property
    @abstractmethod
    def ambient_dimension(self) -> int:
        """Dimension d of the R^d that the space is embedded in."""

    @abstractmethod
    def points(self, points: AnyArray) -> Float:
        """Points in native form, `(m, components)`; everything a user may give is accepted, nothing else."""

    @abstractmethod
    def embed(self, points: Float) -> Float:
        """Native points as vectors of R^d, `(m, d)`."""

    @abstractmethod
    def coordinates(self, points: Float) -> dict[str, Float]:
        """Native points by the names that expressions may use."""

    @abstractmethod
    def tangent(self, points: Float, vectors: Float) -> Float:
        """Vectors of R^d at native points, projected and written in native components, `(m, components)`."""


@dataclass(frozen=True)
class Axis:
    """One dimension scale of a file: cell centres or nodes, and the cell bounds."""

    name: str
    values: Float
    bounds: Float
    units: str
    long_name: str
    period: float | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self.name == other.name and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Layout:
    """What one snapshot looks like: its axes and the quadrature weights on their product.

    `(density * weight).sum()` is the mass. `dimensions` are the axis names, in the order of the array's axes.
    """

    axes: tuple[Axis, ...]
    weight: Float

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.values.size for axis in self.axes)

    def refine(self, density: Float, finer: Layout) -> Float:
        """Densities `(..., *shape)` on this layout, carried exactly to a finer periodic one by zero padding of their
        Fourier series."""
        for position, (coarse, fine) in enumerate(zip(self.axes, finer.axes, strict=True)):
            where = density.ndim - len(self.axes) + position
            density = _pad_periodic(density, where, coarse.values.size, fine.values.size)
        return density


def _pad_periodic(density: Float, where: int, coarse: int, fine: int) -> Float:
    if coarse == fine:
        return density
    modes = np.fft.rfft(density, axis=where)
    if coarse % 2 == 0:  # the Nyquist cosine is shared by two modes of the finer grid
        nyquist: list[slice | int] = [slice(None)] * density.ndim
        nyquist[where] = coarse // 2
        modes[tuple(nyquist)] *= 0.5
    return np.fft.irfft(modes, fine, axis=where) * (fine / coarse)
