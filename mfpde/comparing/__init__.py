"""A run held against something else that knows the solution."""

from mfpde.comparing.agreement import Agreement
from mfpde.comparing.base import Companion, Comparison

__all__ = ["Agreement", "Companion", "Comparison"]
