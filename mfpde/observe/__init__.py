"""What can be measured of a solution, and what watches a run."""

from mfpde.contracts.observable import Instant, Observable, Series

__all__ = ["Instant", "Observable", "Series"]
