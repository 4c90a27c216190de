"""Runs in files."""

from mfpde.store.reader import load
from mfpde.store.status import read_status

__all__ = ["load", "read_status"]
