"""A run held against something else that knows the solution."""

from mfpde.comparing.base import ComparedSolution, SecondSolution
from mfpde.comparing.distances import DISTANCES

__all__ = ["DISTANCES", "ComparedSolution", "SecondSolution"]
