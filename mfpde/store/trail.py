"""The arrays that grow with the steps of a run, between the integration and what keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.geometry import Layout
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration

__all__ = ["Trail"]


class Trail:
    """Rows that the integration has given and that were not taken yet; `given` counts all that came before."""

    def __init__(self, layout: Layout, given: int = 0) -> None:
        self._given = given
        self._pieces: dict[str, list[Float]] = {name: [] for name in layout.trail}

    def gather(self, integration: Integration) -> None:
        """Ask for the rows made since the last time."""
        if not self._pieces:
            return
        new = integration.trail(self._given)
        (count,) = {len(new[name]) for name in self._pieces}
        if count:
            for name, pieces in self._pieces.items():
                pieces.append(np.array(new[name], dtype=float))
            self._given += count

    def take(self) -> dict[str, Float]:
        """What was gathered since the last call, by name; empty when there is nothing new."""
        taken = {name: np.concatenate(pieces) for name, pieces in self._pieces.items() if pieces}
        self._pieces = {name: [] for name in self._pieces}
        return taken
