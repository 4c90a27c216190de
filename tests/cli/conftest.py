"""The command line, in this process and in processes of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mfpde.cli import main

SMALL = """\
title: small
geometry:  {kind: circle}
attention: {kind: unnormalized, beta: 0}
noise:     {kappa: 4}
initial:   {kind: density, expression: 1 + 0.1*cos(theta)}
time:      {until: 1, save_every: 0.5}
observe:   [order-parameter, mass]
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def said() -> Callable[[str], list[str]]:
    """The lines of a stderr without those of progress, which a slow machine shows of any run."""

    def lines(stderr: str) -> list[str]:
        return [line for line in stderr.splitlines() if not re.search(r" so far$|^t = .* steps, ", line)]

    return lines


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working folder with the small problem in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


@pytest.fixture
def mfpde(here) -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    return run


@pytest.fixture
def command(here) -> Callable[..., subprocess.Popen[str]]:
    """Start a command as a process of its own."""
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(*arguments: str, **options) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "mfpde", *arguments]
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": surroundings, **options}
        return subprocess.Popen(line, cwd=here, **settings)

    return start


@pytest.fixture
def solved(mfpde) -> Path:
    """A finished run of the small problem."""
    result = mfpde("solve", "small.yaml", "--quiet")
    assert result.exit_code == 0, result.output
    return Path("small.h5")
