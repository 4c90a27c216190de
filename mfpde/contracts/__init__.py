"""What solvers, observables, comparisons and results must answer, so that whoever uses them knows none of them."""

from mfpde.contracts.agreement import Agreement
from mfpde.contracts.comparison import Companion, Comparison
from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.contracts.outcome import (
    BLOW_UP,
    FINISHED,
    INTERRUPTED,
    NOT_FINITE,
    OUTPUT_FAILED,
    RESOLUTION_LOST,
    STEADY,
    Outcome,
)
from mfpde.contracts.result import Result, Summary
from mfpde.contracts.solver import PROMISED, Accuracy, Integration, Progress, Solver, State
from mfpde.contracts.watched import Watched

__all__ = [
    "BLOW_UP",
    "FINISHED",
    "INTERRUPTED",
    "NOT_FINITE",
    "OUTPUT_FAILED",
    "PROMISED",
    "RESOLUTION_LOST",
    "STEADY",
    "Accuracy",
    "Agreement",
    "Companion",
    "Comparison",
    "Instant",
    "Integration",
    "Observable",
    "Outcome",
    "Progress",
    "Result",
    "Series",
    "Solver",
    "State",
    "Summary",
    "Watched",
]
