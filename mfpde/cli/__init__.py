"""The command `mfpde`."""

from mfpde.cli.program import main

__all__ = ["main"]
