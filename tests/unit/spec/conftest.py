"""Problem files in a folder of their own, and what is said about them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mfpde.errors import ProblemError
from mfpde.spec import read_yaml

Complaints = Callable[..., list[str]]


@pytest.fixture
def complaints(tmp_path, monkeypatch) -> Complaints:
    """The messages about a text, read as p.yaml, with settings."""
    monkeypatch.chdir(tmp_path)

    def read(text: str, **settings: str) -> list[str]:
        Path("p.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(ProblemError) as caught:
            read_yaml("p.yaml", {key.replace("__", "."): value for key, value in settings.items()})
        return [str(fault) for fault in caught.value.faults]

    return read
