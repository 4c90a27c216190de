"""What watches work on its way, whatever advances: signals, a progress line, a status file. It only looks."""

from mfpde.watching.status import read_status

__all__ = ["read_status"]
