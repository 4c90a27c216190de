"""What watches a run while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mfpde.contracts import Outcome

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration

__all__ = ["Observer"]


class Observer(Protocol):
    """Called between slices of work. It only looks: no observer changes a bit of the solution."""

    def begin(self, integration: Integration, until: float) -> None:
        """Before the first step."""

    def see(self, integration: Integration, *, at_event: bool) -> Outcome | None:
        """After a slice; `at_event` when a save or observe time is reached. An outcome ends the run."""

    def end(self, integration: Integration) -> None:
        """After the last step, however the run ended."""
