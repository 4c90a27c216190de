"""Real processes for the tests of kills, signals and full disks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import mfpde

ROOT = Path(__file__).resolve().parents[2]


def start(*words: object, before: str = "") -> subprocess.Popen[str]:
    """`heat.py` with these words; `before` is run first in its process."""
    code = f"import runpy, sys\n{before}\nrunpy.run_module('store.heat', run_name='__main__')"
    command = [sys.executable, "-c", code, *map(str, words)]
    surroundings = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings, cwd=ROOT
    )


def ended(process: subprocess.Popen[str]) -> list[str]:
    """What it says of its outcome."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip().split("|")


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until the file is there."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def kill(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Send a signal and wait for the end."""
    process.send_signal(number)
    process.communicate(timeout=30)


def assert_same(run: mfpde.Run, other: mfpde.Run) -> None:
    """Equal to the last bit."""
    for mine, theirs in [(run.times, other.times), (run.series_times, other.series_times)]:
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in [(run.series, other.series), (run.stored, other.stored), (run.trail, other.trail)]:
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert np.asarray(mine[name]).tobytes() == np.asarray(theirs[name]).tobytes(), name
    assert run.layout.axes == other.layout.axes
    assert run.layout.constants.keys() == other.layout.constants.keys()
    for name, constant in run.layout.constants.items():
        np.testing.assert_array_equal(constant.values, other.layout.constants[name].values)
