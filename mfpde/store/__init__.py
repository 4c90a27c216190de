"""Results in files."""

from mfpde.store.reader import load

__all__ = ["load"]
