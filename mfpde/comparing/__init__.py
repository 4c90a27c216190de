"""Comparison of a run with a reference solution."""

from mfpde.comparing.base import ComparedSolution, SecondSolution

__all__ = ["ComparedSolution", "SecondSolution"]
