"""What a comparison came to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """The largest distance from the companion, when that was, and what was allowed.

    >>> str(Agreement("gaussian-closed-form", "l1", 2e-7, 1.5, 1e-6))
    'l1 distance from gaussian-closed-form at most 2e-07, at t = 1.5; 1e-06 allowed'
    """

    kind: str
    distance: str
    worst: float
    time: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether it stayed below the tolerance at all times."""
        return self.worst <= self.tolerance

    def __str__(self) -> str:
        return (
            f"{self.distance} distance from {self.kind} at most {self.worst:.3g}, at t = {self.time:.6g}; "
            f"{self.tolerance:g} allowed"
        )
