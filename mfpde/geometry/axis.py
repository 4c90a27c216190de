"""Axes of snapshots: their places, their quadrature weights, and how they grow during a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.geometry.harmonics import Harmonics
from mfpde.typing import AnyArray, Float

__all__ = ["GROWTH_ATTRIBUTES", "Axis", "Cells", "GaussNodes", "Growth", "Periodic", "growth_of"]

_SAME_CELL = 1e-6  # of a cell: the place of cells of one grid may be computed in two ways


class Growth(ABC):
    """How an axis becomes longer, and values on it are shown on the longer one."""

    @property
    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """What a file says of it."""

    @property
    def said(self) -> tuple[Any, ...]:
        """What the checksum of an axis holds of it."""
        return tuple(self.attributes.values())

    def weights(self, axis: Axis) -> Float:
        """Quadrature weights of the axis: widths of its cells."""
        return axis.bounds[:, 1] - axis.bounds[:, 0]

    def joined(self, mine: Axis, other: Axis) -> Axis:
        """The shortest axis on which both are shown exactly: the finer one."""
        return mine if mine.size >= other.size else other

    @abstractmethod
    def carry(self, values: Float, where: int, old: Axis, new: Axis, partner: int | None) -> Float:
        """Values along one dimension of an array, on the longer axis; `partner` is the dimension it goes with."""

    @property
    def partner(self) -> str | None:
        """The axis without which values cannot be carried."""
        return None


@dataclass(frozen=True)
class Cells(Growth):
    """Boxes grow by whole cells at both ends, and their values by zeros."""

    @property
    def attributes(self) -> dict[str, Any]:
        return {}

    @property
    def said(self) -> tuple[Any, ...]:
        return (None,)

    def joined(self, mine: Axis, other: Axis) -> Axis:
        """One of them, unless boxes overlap in part."""
        first = mine.place(other)
        before, after = max(0, -first), max(0, first + other.size - mine.size)
        if not before and not after:
            return mine
        if first <= 0 and first + other.size >= mine.size:
            return other
        cells = np.arange(-before, mine.size + after)
        values = mine.values[0] + mine.spacing * cells
        bounds = mine.bounds[0] + mine.spacing * cells[:, None]
        for each, start in ((other, first + before), (mine, before)):
            values[start : start + each.size], bounds[start : start + each.size] = each.values, each.bounds
        return replace(mine, values=values, bounds=bounds)

    def carry(self, values: Float, where: int, old: Axis, new: Axis, partner: int | None) -> Float:
        before = new.place(old)
        margins: Any = [(0, 0)] * values.ndim
        margins[where] = (before, new.size - before - values.shape[where])
        return np.pad(values, margins)


@dataclass(frozen=True)
class Periodic(Growth):
    """Equispaced points become more; values by zero padding of their Fourier series."""

    period: float

    @property
    def attributes(self) -> dict[str, Any]:
        return {"period": self.period}

    def carry(self, values: Float, where: int, old: Axis, new: Axis, partner: int | None) -> Float:
        if old.size == new.size:
            return values
        modes: AnyArray = np.fft.rfft(values, axis=where)
        if old.size % 2 == 0:  # the Nyquist cosine is shared by two modes of the finer grid
            nyquist: list[slice | int] = [slice(None)] * values.ndim
            nyquist[where] = old.size // 2
            modes[tuple(nyquist)] *= 0.5
        return np.fft.irfft(modes, new.size, axis=where) * (new.size / old.size)


@dataclass(frozen=True)
class GaussNodes(Growth):
    """Colatitudes whose cosines are the Gauss nodes of S^{d-1}, `dimension` d; more of them, and values by their
    polynomial in the cosine.

    `longitude` names the axis of the angle about the pole on S^2. Harmonics whose wave number in it is odd are a
    polynomial times the sine of the colatitude. Without it functions do not depend on what is about the pole, and
    weights count all of it.
    """

    dimension: int = 3
    longitude: str | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        about = {} if self.longitude is None else {"longitude": self.longitude}
        return {"gauss_nodes_of_dimension": self.dimension, **about}

    @property
    def partner(self) -> str | None:
        return self.longitude

    def weights(self, axis: Axis) -> Float:
        """`int f dx = sum_i w_i f_i`, or, with longitudes, `int f sin(colatitude) = sum_i w_i f_i`."""
        area = float(np.exp(Harmonics(self.dimension).log_area))
        share = gauss_on_sphere(axis.size, self.dimension)[1][::-1]
        return share * (area if self.longitude is None else area / (2 * np.pi))

    def carry(self, values: Float, where: int, old: Axis, new: Axis, partner: int | None) -> Float:
        if old.size == new.size:
            return values
        change = self._interpolation(old.size, new.size)
        if partner is None:
            return _along(change, values, where)
        opposite = np.roll(values, values.shape[partner] // 2, axis=partner)
        sines = [
            np.sin(axis.values).reshape([-1 if each == where else 1 for each in range(values.ndim)])
            for axis in (old, new)
        ]
        even, odd = 0.5 * (values + opposite), 0.5 * (values - opposite) / sines[0]
        return _along(change, even, where) + sines[1] * _along(change, odd, where)

    def _interpolation(self, old: int, new: int) -> Float:
        """`(new, old)`: through the harmonics that the old nodes tell apart."""
        harmonics = Harmonics(self.dimension)
        (here, weights), (there, _) = (gauss_on_sphere(count, self.dimension) for count in (old, new))
        known, shown = (harmonics.zonal(nodes[::-1], old - 1) for nodes in (here, there))
        return (shown.T * harmonics.multiplicities(old - 1)) @ (known * weights[::-1])


def _along(matrix: Float, values: Float, where: int) -> Float:
    return np.moveaxis(np.tensordot(matrix, values, axes=(1, where)), 0, where)


#: of axes in files, which tell how they grow
GROWTH_ATTRIBUTES = ("period", "gauss_nodes_of_dimension", "longitude")


def growth_of(attributes: Mapping[str, Any]) -> Growth:
    """The growth that a file says these attributes of."""
    if "period" in attributes:
        return Periodic(float(attributes["period"]))
    if "gauss_nodes_of_dimension" in attributes:
        return GaussNodes(int(attributes["gauss_nodes_of_dimension"]), attributes.get("longitude"))
    return Cells()


@dataclass(frozen=True)
class Axis:
    """One dimension scale of a file: cell centres or nodes, and the cell bounds.

    >>> Axis.of_cells("x", [0.0, 0.5, 1.0]).values
    array([0.25, 0.75])
    """

    name: str
    values: Float
    bounds: Float
    units: str
    long_name: str
    growth: Growth = field(default_factory=Cells)

    @classmethod
    def of_cells(cls, name: str, edges: Sequence[float] | Float, long_name: str = "", units: str = "1") -> Axis:
        """The cells between ascending edges."""
        given = np.asarray(edges, dtype=float)
        bounds = np.column_stack([given[:-1], given[1:]])
        return cls(name, bounds.mean(axis=1), bounds, units, long_name or f"coordinate {name}")

    @classmethod
    def of_angles(cls, name: str, count: int, long_name: str) -> Axis:
        """Equispaced angles from 0."""
        spacing = 2 * np.pi / count
        theta: Float = spacing * np.arange(count, dtype=np.float64)
        bounds = np.column_stack([theta - spacing / 2, theta + spacing / 2])
        return cls(name, theta, bounds, "radian", long_name, Periodic(2 * np.pi))

    @classmethod
    def of_colatitudes(cls, count: int, dimension: int = 3, longitude: str | None = None) -> Axis:
        """Gauss nodes between the poles; a cell about each has its weight as area.

        >>> print((Axis.of_colatitudes(4).weights.sum() / np.pi).round(12))          # all of S^2
        4.0
        """
        from scipy.special import betaincinv

        cosines, weights = gauss_on_sphere(count, dimension)
        half = 0.5 * (dimension - 1)
        ends = np.arccos(1 - 2 * betaincinv(half, half, np.clip(np.cumsum(weights[::-1])[:-1], 0.0, 1.0)))
        faces = np.concatenate([[0.0], ends, [np.pi]])
        bounds = np.column_stack([faces[:-1], faces[1:]])
        growth = GaussNodes(dimension, longitude)
        return cls("colatitude", np.arccos(cosines[::-1]), bounds, "radian", "angle to the pole", growth)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Axis) and self.name == other.name and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def weights(self) -> Float:
        """Quadrature weights."""
        return self.growth.weights(self)

    @property
    def spacing(self) -> float:
        """Width of a cell, for axes of equal ones."""
        return float(self.bounds[-1, 1] - self.bounds[0, 0]) / self.size

    def place(self, other: Axis) -> int:
        """Index among my cells, continued to both sides, of the other's first one; an error when cells do not
        coincide."""
        steps = (other.values[0] - self.values[0]) / self.spacing
        last = (other.values[-1] - self.values[0]) / self.spacing
        first = round(steps)
        if max(abs(steps - first), abs(last - first - other.size + 1)) > _SAME_CELL:
            raise ValueError(f"the cells of {self.name} changed: boxes grow by whole cells, they are not divided anew")
        return first

    def joined(self, other: Axis) -> Axis:
        """The shortest axis on which both are shown exactly."""
        return self if self == other else self.growth.joined(self, other)
