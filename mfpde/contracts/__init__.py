"""What solvers, observables and comparisons must answer, so that a problem's blocks have types."""

from mfpde.contracts.agreement import Agreement
from mfpde.contracts.comparison import Companion, Comparison
from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.contracts.solver import PROMISED, Accuracy, Integration, Progress, Solver, State

__all__ = [
    "PROMISED",
    "Accuracy",
    "Agreement",
    "Companion",
    "Comparison",
    "Instant",
    "Integration",
    "Observable",
    "Progress",
    "Series",
    "Solver",
    "State",
]
