"""What every test needs before the package is imported."""

import os
import signal
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
# `make test` starts a process per processor: threads of BLAS that wait for each other took nine tenths of some tests
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from hypothesis import configuration, settings

# Signals that are ignored where the tests are started (`nohup`, a background shell) would be ignored in every process
# that a test starts, and tests interrupt some of them.
signal.signal(signal.SIGINT, signal.default_int_handler)

configuration.set_hypothesis_home_dir(Path(__file__).parent / "build" / "cache" / "hypothesis")
# no deadline: the first example of a property compiles kernels
settings.register_profile("mfpde", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mfpde")
