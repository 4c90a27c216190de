"""The docs' own machinery, and their pages."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))


@pytest.fixture(scope="session")
def root():
    return ROOT


#: a program of its own, whose imports are files that test_own_parts.py writes beside it
collect_ignore = ["own_parts.py"]
