"""The command `mfpde`."""

import sys

from mfpde.cli.exit_codes import INTERRUPTED

try:
    from mfpde.cli.program import main
except KeyboardInterrupt:  # while Python is still reading what the commands are made of
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)

__all__ = ["main"]
