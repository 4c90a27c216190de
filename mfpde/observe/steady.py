"""When the density of a run has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfpde.contracts import STEADY, Outcome

if TYPE_CHECKING:
    from mfpde.contracts import Integration

__all__ = ["at_rest"]

_REST = 1e-9  # what `stop_when_steady: true` stands for, as a mass


def at_rest(integration: Integration, until: float, stop_when_steady: bool | float) -> Outcome | None:
    """The end of a run whose `int |d_t rho| * until` is less than `stop_when_steady`, at t > 0.

    That is how far the density would still move in one more run. Good values: 1e-6 to 1e-9, above the solver's
    tolerance. Fails, by stopping too early, where a density rests for a while before it leaves an unstable state.
    """
    if stop_when_steady is False or integration.time <= 0:
        return None
    residual = integration.residual()
    if not residual * until < (_REST if stop_when_steady is True else stop_when_steady):
        return None
    return Outcome(STEADY, integration.time, "the density has come to rest", residual=residual)
