"""A run held against something else that knows the solution."""

from mfpde.comparing.base import ComparedSolution, SecondSolution

__all__ = ["ComparedSolution", "SecondSolution"]
