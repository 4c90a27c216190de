"""What the program exits with."""

from __future__ import annotations

DONE = 0  # and checks passed
CHECK_FAILED = 1  # of `validate`, `doctor`, `compare` or `--strict`
BAD_INPUT = 2  # as argparse has it
ENDED_EARLY = 3  # the file holds everything up to there
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE
