"""The top level of the repository holds what CONTRIBUTING.md lists and nothing else."""

import subprocess

import pytest

FOLDERS = {".ci", "benchmarks", "docs", "mfpde", "solvers", "tests", "validation"}
FILES = {
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "conftest.py",
    "pyproject.toml",
    "setup.cfg",
}


@pytest.fixture
def tracked(house) -> list[str]:
    if not (house.root / ".git").exists():
        pytest.skip("only git knows what belongs to the repository and what lies about")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listing = subprocess.run(command, cwd=house.root, capture_output=True, text=True, check=True)
    return listing.stdout.rstrip("\0").split("\0")


def test_top_level_holds_what_was_agreed(tracked):
    folders = {name.split("/")[0] for name in tracked if "/" in name}
    files = {name for name in tracked if "/" not in name}
    assert folders - FOLDERS == set()
    assert files - FILES == set()
    assert FILES - files == set()


def test_no_generated_file_is_tracked(tracked):
    endings = (".pyc", ".nbi", ".nbc", ".h5", ".ipynb", ".so")
    assert [name for name in tracked if name.endswith(endings) or ".egg-info/" in name] == []
