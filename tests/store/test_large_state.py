"""What a state of 64 MB costs when it is kept: particles, whose state is their snapshot."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNT = 4_000_000

PROGRAM = '''
import sys
from pathlib import Path
import numpy as np
from mfpde import prepare, run_loop
from mfpde.contracts import Progress, State
from mfpde.solvers.forms import particles_fields, particles_layout
from mfpde.store import writer
from mfpde.store.result_file import ResultFile
from mfpde.store.transaction import Transaction
from store.drifting import Drift, Drifting, problem

class Many(Drifting):
    """Moves in place, without any memory of its own."""
    def __init__(self, settings, task):
        super().__init__(settings, task)
        count = int(sys.argv[2])
        self.points, self.weights = np.zeros((count, 2)), np.full(count, 1 / count)
        for number, piece in enumerate(np.array_split(self.points, 64)):
            piece += number
    @property
    def layout(self):
        return particles_layout(self.weights, 2)
    def advance(self, target, budget):
        for piece in np.array_split(self.points, 64):
            piece += 0.25
        self.now = min(self.now + 0.5, target)
        return Progress(State.REACHED if self.now >= target else State.UNDER_WAY)
    def fields(self):
        return particles_fields(self.points)
    def state(self):
        return {"points": self.points, "now": np.array(self.now)}
    def restore(self, state):
        self.points, self.now = state["points"], float(state["now"])

class Settings(Drift):
    def start(self, task):
        return Many(self, task)

def memory(name):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split(name + ":")[1].split()[0])

found, written = [], 0
put, commit = Transaction._put, ResultFile.commit

def counted(disk, offset, piece):
    global written
    written += len(piece)
    put(disk, offset, piece)

def measured(file, rows, checkpoint=None):
    global written
    Path("/proc/self/clear_refs").write_text("5")
    written, before = 0, memory("VmRSS")
    commit(file, rows, checkpoint)
    found.append((bool(rows["snapshots"]["time"]), memory("VmHWM") - before, written))

Transaction._put, ResultFile.commit = counted, measured
writer._CHECKPOINT_SECONDS = 0.0
prepare.chosen_solver = lambda _: Settings("particles")
run_loop.solve(problem(2, until=4, save_every=2), sys.argv[1])
for snapshot, peak, size in found:
    print("snapshot" if snapshot else "state", peak, size)
'''


@pytest.mark.slow
def test_a_commit_takes_hardly_any_memory_and_one_copy_on_disk(tmp_path):
    """Beside the state itself, which the integration has; at snapshots the checkpoint is the snapshot."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run.h5"), str(COUNT)]
    tests = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        command, env={"PYTHONPATH": f"{tests.parent}:{tests}"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    state = 16 * COUNT
    *commits, last = [line.split() for line in done.stdout.splitlines()]
    for kind, peak, written in commits:
        assert int(peak) < 0.05 * state, kind
        assert state <= int(written) < 1.001 * state, kind
    assert [kind for kind, *_ in commits].count("snapshot") == 3
    assert [kind for kind, *_ in commits].count("state") >= 4
    assert last == ["state", "0", "0"]  # nothing is new at the end
