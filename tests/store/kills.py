"""kill -9 again and again: a writer as fast as possible, forked so that a thousand kills take minutes.

As a program: `kills.py FOLDER [KILLS] [SEED]`.
"""

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from store.heat import Heat, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.store.writer import FileRecorder

TASK: dict[str, Any] = {"until": 40, "save_every": 0.02, "observe_every": 0.05}
SETTINGS = Heat(step=0.05, points=32, finer=(11.0,))


def _child(path: Path, told: int, *, resume: bool) -> None:
    """Every row is a commit, and how many there are is told after each."""
    commit = FileRecorder._commit

    def telling(recorder: FileRecorder, integration: Any) -> None:
        commit(recorder, integration)
        os.write(told, f"{recorder._file.safe_counts()['snapshots']}\n".encode())

    FileRecorder._commit = telling
    FileRecorder._due = lambda _: True
    solve(problem(**TASK), path, SETTINGS, resume=resume)


def killed(path: Path, wait: float, *, resume: bool) -> tuple[int, bool]:
    """How many rows a writer had committed when it was killed after so many seconds, and whether it was at work."""
    out, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            _child(path, told, resume=resume)
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(out) as lines:
        first = lines.readline()
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        counts = [int(line) for line in [first, *lines] if line.endswith("\n")]
    return max(counts, default=0), os.WIFSIGNALED(status)


def campaign(folder: Path, kills: int, seed: int) -> Counter[str]:
    """Chains of a start and resumes, each killed; after each kill every committed row is there, in its bits."""
    dice, whole = np.random.default_rng(seed), solve(problem(**TASK), None, SETTINGS)
    coarse = solve(problem(**TASK), None, Heat(step=0.05, points=32))
    found: Counter[str] = Counter()
    path, rows = folder / "run.h5", 0
    while found["kills"] < kills:
        committed, hit = killed(path, dice.exponential(0.02), resume=path.exists())
        found["kills"] += hit
        run = mfpde.load(path)
        count = len(run.times)
        assert count >= max(rows, committed), f"{count} rows, but {committed} were committed, and {rows} before"
        found["rows looked at"] += count
        same = whole if run.density.shape[1] == whole.density.shape[1] else coarse
        assert run.density.tobytes() == same.density[:count].tobytes()
        assert run.times.tobytes() == whole.times[:count].tobytes()
        assert run["mass"].tobytes() == whole["mass"][: len(run.series_times)].tobytes()
        rows = count
        if run.outcome == "finished" or dice.random() < 0.02:
            assert_same(solve(problem(**TASK), path, SETTINGS, resume=True), whole)
            path.unlink()
            rows, found["chains"] = 0, found["chains"] + 1
    return found


if __name__ == "__main__":
    print(dict(campaign(Path(sys.argv[1]), *(int(word) for word in sys.argv[2:]), *(1000, 0)[len(sys.argv) - 2 :])))
