"""What tests share."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Modules that tests import or start hold no examples; collecting these for doctests would run the programs among
    them in every worker."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first, beside unit tests, which compile other kernels than it does: two workers that begin with
    the same solvers compile the same, for the time of one. Examples in docstrings, which are short, come last."""
    first = ("tests/cli/test_every_example.py", "tests/unit/", "tests/")
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in first])


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: garbage collections need not go through them, least of all in forks."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def random(request):
    """A generator seeded with the name of the test: alone, chosen by `-k` or beside others, a test draws the same.

    `--hypothesis-seed=5` draws something else here, too.
    """
    path, _, name = request.node.location
    return np.random.default_rng(list(f"{path}::{name}{request.config.getoption('hypothesis_seed')}".encode()))


@pytest.fixture(scope="session")
def calls():
    """Counts the calls of functions, built-in ones included, that something takes: work, however busy the machine."""

    def count(work):
        made = 0

        def see(_frame, event, _argument):
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(see)
        try:
            work()
        finally:
            sys.setprofile(None)
        return made

    return count
