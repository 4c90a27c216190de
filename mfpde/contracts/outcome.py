"""How a piece of work ended, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from mfpde.contracts.solver import Accuracy

__all__ = [
    "BLOW_UP",
    "FINISHED",
    "INTERRUPTED",
    "NOT_FINITE",
    "OUTPUT_FAILED",
    "RESOLUTION_LOST",
    "STEADY",
    "Outcome",
]

FINISHED = "finished"
STEADY = "steady"
INTERRUPTED = "interrupted"
BLOW_UP = "blow-up"
RESOLUTION_LOST = "resolution lost"
NOT_FINITE = "not finite"
OUTPUT_FAILED = "output failed"

_DECIMALS_MAX = 15  # of a number of size 1
_ZEROS_MAX = 4  # after the decimal point; smaller times are told with a power of ten


@dataclass(frozen=True)
class Outcome:
    """How a run, or any other work, ended: its `kind`, when, why, and what would help.

    Kinds are `finished` and `steady` (then it is `complete`), `blow-up`, `interrupted`, `resolution lost`, `not finite`
    and `output failed`: the same words everywhere, in files and in `mfpde info`, too. An outcome equals a text that
    names its kind. The `time` of what has none is NaN; that of a blow-up is extrapolated, after the last snapshot, and
    wrong by about its
    `uncertainty`. `accuracy` says whether the solver's promise was kept up to there: what was promised, the estimate of
    the error, kept or not (None: unknown), and the cause.

    >>> str(Outcome("finished", 40.0)), str(Outcome("blow-up", 0.5, uncertainty=1e-6))
    ('finished at t = 40', 'blow-up at t = 0.5000000 +- 1e-06')
    >>> Outcome("blow-up", 0.5) == "blow-up", Outcome("blow-up", 0.5).complete
    (True, False)
    """

    kind: str
    time: float
    message: str = ""
    advice: str = ""
    residual: float | None = None
    uncertainty: float | None = None
    accuracy: Accuracy = field(default_factory=Accuracy)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Outcome:
        """From what a file holds; earlier versions knew nothing of accuracy."""
        return cls(**{**record, "accuracy": Accuracy(**record.get("accuracy", {}))})

    @property
    def complete(self) -> bool:
        """True when the run came to the end it was asked for."""
        return self.kind in (FINISHED, STEADY)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.kind == other
        return astuple(self) == astuple(other) if isinstance(other, Outcome) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.kind)

    def __str__(self) -> str:
        when = f"{self.time:.6g}" if not self.uncertainty else _with_uncertainty(self.time, self.uncertainty)
        ended = self.kind if np.isnan(self.time) else f"{self.kind} at t = {when}"
        parts = [ended, "; ".join(filter(None, [self.message, str(self.accuracy)])), self.advice]
        return ": ".join(part for part in parts if part)


def _with_uncertainty(time: float, uncertainty: float) -> str:
    """One digit of the time more than its uncertainty leaves, as far as numbers have digits."""
    decimals = int(1 - np.floor(np.log10(uncertainty)))
    first = int(np.floor(np.log10(abs(time)))) if time else 0
    if first >= -_ZEROS_MAX:
        return f"{time:.{int(np.clip(decimals, 0, _DECIMALS_MAX))}f} +- {uncertainty:.1g}"
    return f"{time:.{int(np.clip(decimals + first, 0, _DECIMALS_MAX))}e} +- {uncertainty:.1g}"
