"""What every distance answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.specification import Part

__all__ = ["Distance"]


class Distance(Part, ABC):
    """A way to say how far a measure is from another one on the same space."""

    #: whether it compares densities, which point masses do not have
    of_densities: ClassVar[bool] = False
    #: the spaces it is made for; empty: any
    spaces: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def between(self, measure: Measure, reference: Measure) -> float:
        """Of the measure from the reference."""

    def unfit(self, space: Geometry) -> str | None:
        """Why it makes no sense on that space, or None."""
        if not self.spaces or space.counts_as(*self.spaces):
            return None
        return f"the {self.kind} distance is for {' and '.join(self.spaces)}, not for {space.name}"

    def need(self, space: Geometry) -> None:
        """Fail where it makes no sense."""
        reason = self.unfit(space)
        if reason is not None:
            raise ProblemError.at("kind", reason)
