"""Stops a run whose density has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfpde.contracts import STEADY, Outcome

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration

__all__ = ["THRESHOLD", "Steady"]

#: what `stop_when_steady: true` stands for
THRESHOLD = 1e-9


class Steady:
    """The observer that ends a run when `int |d_t rho| * until < threshold` at a save or observe time, t > 0.

    That is how far the density would still move in one more run. Good values: 1e-6 to 1e-9, above the solver's
    tolerance. Fails, by stopping too early, where a density rests for a while before it leaves an unstable state.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._until = 0.0

    def begin(self, integration: Integration, until: float) -> None:
        self._until = until

    def see(self, integration: Integration, *, at_event: bool) -> Outcome | None:
        if not at_event or integration.time <= 0:
            return None
        residual = integration.residual()
        if not residual * self._until < self._threshold:
            return None
        return Outcome(STEADY, integration.time, "the density has come to rest", residual=residual)

    def end(self, integration: Integration) -> None:
        """Nothing to put away."""
