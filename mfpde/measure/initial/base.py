"""Measures that can be written down in a problem file."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure.base import Measure
from mfpde.specification import Real, Specification

if TYPE_CHECKING:
    from mfpde.measure.positioned import Positioned

__all__ = ["Initial", "fields_like_properties"]


def _asked(name: str) -> Any:
    """A method of the concrete measure."""

    def ask(self: Initial, *given: Any, **named: Any) -> Any:
        return getattr(self.concrete, name)(*given, **named)

    ask.__doc__ = getattr(Measure, name).__doc__
    return ask


def _told(name: str) -> Any:
    """A property of it."""
    return property(lambda self: getattr(self.concrete, name))


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

    nodes, evaluate, sample = _asked("nodes"), _asked("evaluate"), _asked("sample")
    tilt, reach, cell_averages = _asked("tilt"), _asked("reach"), _asked("cell_averages")
    positions, compact, mean, covariance = _told("positions"), _told("compact"), _told("mean"), _told("covariance")

    @property
    def density_unfit(self) -> str | None:
        """Why it has no density, or None."""
        return None

    def seam(self, geometry: Geometry) -> str | None:
        """How what is written jumps where coordinates of that space end, which no harmonics show; None where it does
        not."""
        return None

    def unfit(self, geometry: Geometry, instead: str) -> ProblemError:
        """The error for a space on which this measure makes no sense."""
        mine = self.model_dump().get("kind", type(self).__name__)
        return ProblemError.at("initial", f"{mine} is not a measure on {geometry.name}; use {instead}")


_PROPERTIES = ("mass", "by_degree", "normal", "summands", "slices", "lattices", "views")
_METHODS = (
    *("up_to", "positions_at", "node_queries", "sizes", "fingerprint", "harmonics", "density_grids", "density_nodes"),
    *("entropy", "relative_entropy", "minimum", "clusters", "places", "share_at_edge", "pair_excess", "beside"),
    *("tilted_covariance", "sample_positions", "sample_share"),
    "point_masses",
)
for _names, _made in ((_PROPERTIES, _told), (_METHODS, _asked)):
    for _name in _names:
        setattr(Initial, _name, _made(_name))


@contextmanager
def fields_like_properties(*names: str) -> Iterator[None]:
    """For initial measures with fields of these names: the fields hold what was written, the attributes of the same
    names are those of every measure, arrays. pydantic warns of that when it makes the class."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f'Field name "({"|".join(names)})"', UserWarning)
        yield
