"""The time schemes, from what their classes say."""

from __future__ import annotations

from generate.tables import table
from mfpde.cli.listing import first_sentence
from mfpde.registry import members

__all__ = ["steppers"]


def steppers() -> str:
    """A row for each: what it is, its order, how far it is stable, and whether finite volumes take it."""
    rows = [
        [
            f"`{name}`",
            first_sentence(stepper.__doc__),
            str(stepper.order),
            f"{stepper().reach:.3g}",
            f"yes, `cfl` {stepper.cfl:g}" if stepper.flux_unfit is None else f"no: {stepper.flux_unfit}",
            f"{{cite}}`{', '.join(stepper.citations)}`",
        ]
        for name, stepper in members("stepper").items()
    ]
    return table(["`stepper`", "scheme", "order", "stable for $h z$ up to", "solver.stepper", "source"], rows)
