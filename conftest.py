"""What every test needs before the package is imported."""

import gc
import os
import signal
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
# processes that tests start take half as long to import the package with its bytecode, wherever the tests themselves
# were told to write none
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# `make test` starts a process per processor: threads of BLAS that wait for each other took nine tenths of some tests
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from hypothesis import configuration, settings

sys.dont_write_bytecode = False  # nor here
gc.disable()  # until tests are collected (tests/conftest.py): a third of the time that collecting takes otherwise

# Signals that are ignored where the tests are started (`nohup`, a background shell) would be ignored in every process
# that a test starts, and tests interrupt some of them.
signal.signal(signal.SIGINT, signal.default_int_handler)

configuration.set_hypothesis_home_dir(Path(__file__).parent / "build" / "cache" / "hypothesis")
# no deadline: the first example of a property compiles kernels
settings.register_profile("mfpde", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mfpde")
