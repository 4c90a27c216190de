"""A run held against something else that knows the solution."""

from mfpde.comparing.agreement import Agreement
from mfpde.comparing.base import Companion, Comparison
from mfpde.comparing.distances import DISTANCES

__all__ = ["DISTANCES", "Agreement", "Companion", "Comparison"]
