"""Processes that one run is spread over."""

from mfpde.ranks.base import ALONE, Ranks, present, shared, sharing, working
from mfpde.ranks.spread import Spread

__all__ = ["ALONE", "Ranks", "Spread", "present", "shared", "sharing", "working"]
