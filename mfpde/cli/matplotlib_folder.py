"""A folder for what matplotlib keeps, where the user's own cannot be written."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

__all__ = ["give_matplotlib_a_folder"]


def give_matplotlib_a_folder() -> None:
    """Without one matplotlib complains in two long lines at every start, and lists all fonts again."""
    from mfpde.compilation.folders import temporary_folder

    if "MPLCONFIGDIR" in os.environ or not sys.platform.startswith("linux") or _has_folders():
        return
    folder = temporary_folder()
    if folder is None:
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
    else:
        os.environ["MPLCONFIGDIR"] = str(folder / "matplotlib")


def _has_folders() -> bool:
    """Whether the folders can be written where matplotlib keeps settings and fonts."""
    from mfpde.compilation.folders import refused

    places = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
    try:
        parents = [Path(os.environ.get(name) or Path.home() / usual) for name, usual in places.items()]
    except RuntimeError:  # there is no home
        return False
    return not any(refused(parent / "matplotlib") for parent in parents)
