"""Where compiled code is kept during a test."""

from pathlib import Path

import pytest

from mfpde.compilation.folders import Kept


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """An empty folder in which code is kept."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr("mfpde.compilation.cache.kept", lambda: Kept(folder, (folder,), folder, None))
    return folder
