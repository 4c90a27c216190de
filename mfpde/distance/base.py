"""What every distance answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from mfpde.measure import Measure

__all__ = ["Distance"]


class Distance(ABC):
    """A way to say how far a measure is from one that is known."""

    #: whether it looks at the measure's density on a grid (`Measure.beside`)
    of_densities: ClassVar[bool] = False

    @abstractmethod
    def between(self, measure: Measure, reference: Measure) -> float:
        """Of the measure from the reference."""
