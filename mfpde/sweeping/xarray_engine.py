"""`xarray.open_dataset(file, engine="mfpde")`: any result of mfpde's, with texts as texts and only what counts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import xarray
from xarray.backends import BackendEntrypoint

from mfpde.store import load

__all__ = ["MfpdeBackend"]


class MfpdeBackend(BackendEntrypoint):
    """What xarray finds by the entry point `mfpde` of the group `xarray.backends`."""

    description = "Results of mfpde in HDF5: runs, diagrams, sweeps"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = ("filename_or_obj", "drop_variables")

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None
    ) -> xarray.Dataset:
        """As `mfpde.load(file).to_xarray()`."""
        found = load(Path(os.fspath(filename_or_obj))).to_xarray()
        return found if drop_variables is None else found.drop_vars(drop_variables, errors="ignore")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Never unasked: other engines read these files, too."""
        return False
