"""Measures that can be written down in a problem file."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Lattice, Queries
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.damping import LogFactors
from mfpde.specification import Real, Specification
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.measure.positioned import Positioned

__all__ = ["Initial", "fields_like_properties"]


class Initial(Specification, Measure, ABC):
    """A measure that can be written down in a problem file. `on(geometry)` makes it concrete; used directly it lives
    on its natural space."""

    weight: Real | None = Field(default=None, description="its share, as a component of a mixture")

    @abstractmethod
    def on(self, geometry: Geometry) -> Measure:
        """The measure on that space; a space on which it makes no sense is an error."""

    def over_positions(self, geometry: Geometry, positions: Sequence[float]) -> Positioned:
        """The law of tokens at ascending positions (masked attention): the same at each unless it says otherwise."""
        from mfpde.measure.positioned import Positioned

        places = np.atleast_1d(numbers("positions", positions))
        return Positioned(places, [self.on(geometry)] * places.size)

    @abstractmethod
    def natural_geometry(self) -> Geometry:
        """The space it lives on when nobody says which."""

    @property
    def concrete(self) -> Measure:
        return self.on(self.geometry)

    @property
    def geometry(self) -> Geometry:
        return self.natural_geometry()

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self.concrete.nodes(accuracy, refinement)

    @property
    def positions(self) -> Float | None:
        return self.concrete.positions

    def tilt(
        self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors | None = None
    ) -> tuple[Float, Float]:
        return self.concrete.tilt(queries, matrix, log_factors)

    def evaluate(self, points: AnyArray) -> Float:
        return self.concrete.evaluate(points)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.concrete.sample(count, seed)

    @property
    def compact(self) -> bool:
        return self.concrete.compact

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        return self.concrete.reach(tolerance, tilts)

    def cell_averages(self, lattice: Lattice) -> Float:
        return self.concrete.cell_averages(lattice)

    def fourier(self, count: int) -> Complex:
        return self.on(Circle()).fourier(count)

    @property
    def mean(self) -> Float:
        return self.concrete.mean

    @property
    def covariance(self) -> Float:
        return self.concrete.covariance

    def unfit(self, geometry: Geometry, instead: str) -> ProblemError:
        """The error for a space on which this measure makes no sense."""
        mine = self.model_dump().get("kind", type(self).__name__)
        return ProblemError.at("initial", f"{mine} is not a measure on {geometry.name}; use {instead}")


@contextmanager
def fields_like_properties(*names: str) -> Iterator[None]:
    """For initial measures with fields of these names: the fields hold what was written, the attributes of the same
    names are those of every measure, arrays. pydantic warns of that when it makes the class."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f'Field name "({"|".join(names)})"', UserWarning)
        yield
