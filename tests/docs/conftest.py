"""The docs' own machinery, and their pages."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))


@pytest.fixture(scope="session")
def root():
    return ROOT
