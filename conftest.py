"""What every test needs before the package is imported."""

import os
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

from mfpde.compilation import prepare_cache

# numba reads the place of its cache once, when it is imported, and does not notice that a callee in another
# file changed: the place is named after all kernel sources
prepare_cache()

from hypothesis import configuration, settings  # noqa: E402 - after the cache is in place

configuration.set_hypothesis_home_dir(Path(__file__).parent / "build" / "cache" / "hypothesis")
# no deadline: the first example of a property compiles kernels
settings.register_profile("mfpde", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mfpde")
