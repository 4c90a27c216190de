"""What every test needs before the package is imported."""

import os
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

from hypothesis import configuration, settings

configuration.set_hypothesis_home_dir(Path(__file__).parent / "build" / "cache" / "hypothesis")
# no deadline: the first example of a property compiles kernels
settings.register_profile("mfpde", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mfpde")
