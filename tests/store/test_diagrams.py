"""Files of diagrams: whole at every moment, taken up again bit for bit, and what a full disk leaves."""

import errno
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from store.test_every_write import Tape, replay

import mfpde
from mfpde.bifurcation import bifurcating
from mfpde.store.result_file import ResultFile
from mfpde.watching import progress

#: with branches that leave branches, the second beside the first; and a fold that ties
BLOCKS = {"geometry": {"kind": "circle"}, "interaction": {"coefficients": [1, -0.5, 1.5, 0.3]}}
PROBLEM = mfpde.Problem.from_dict({**BLOCKS, "bifurcation": {"range": [1.2, 2.4], "branches": [1, 3]}})
#: what tells of the search itself, not of what it found
_OWN = ("checkpoint", "provenance", "checksum/header", "checksum/end", "checksum/counts")


def datasets(path):
    """The bytes of everything that was found."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, one: (
                found.update({name: one[()].tobytes()})
                if isinstance(one, h5py.Dataset) and not name.startswith(_OWN)
                else None
            )
        )
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "diagram.h5"
    diagram = mfpde.bifurcate(PROBLEM, path)
    assert [branch.name for branch in diagram.branches] == ["uniform", "mode 1", "mode 3", "from mode 3", "from mode 3"]
    return path, diagram


def stopped(monkeypatch, path, after):
    """A search that is interrupted while it works on the branch of that number."""
    made, count = bifurcating.branch_of, iter(range(1, 99))

    def counted(*about):
        if next(count) == after:
            raise KeyboardInterrupt
        return made(*about)

    with monkeypatch.context() as patched:
        patched.setattr(bifurcating, "branch_of", counted)
        return mfpde.bifurcate(PROBLEM, path, force=True)


@pytest.mark.parametrize("after", [1, 3, 4])
def test_an_interrupted_search_goes_on_bit_for_bit(whole, tmp_path, monkeypatch, after):
    path = tmp_path / "diagram.h5"
    found = stopped(monkeypatch, path, after)
    assert found.outcome == "interrupted"
    assert len(found.branches) == len(mfpde.load(path).branches) == after
    begun = []
    monkeypatch.setattr(bifurcating, "branch_of", lambda *a, of=bifurcating.branch_of: begun.append(a) or of(*a))
    again = mfpde.bifurcate(PROBLEM, path, resume=True)
    assert again.outcome == "finished"
    assert len(begun) == 5 - after  # nothing is computed twice
    assert datasets(path) == datasets(whole[0])


def test_what_comes_back_is_what_was_found(whole):
    path, diagram = whole
    loaded = mfpde.load(path)
    assert loaded.outcome == "finished"
    for ours, theirs in zip(diagram.branches, loaded.branches, strict=True):
        assert [(p.kind, p.parameter, p.branches) for p in ours.special] == [
            (p.kind, p.parameter, p.branches) for p in theirs.special
        ]
        for one, other in zip(ours.special, theirs.special, strict=True):  # also where branches tie between two points
            np.testing.assert_allclose(one.moments[:5], other.moments[:5], atol=1e-12)
    ((branch, tie),) = [(b, p) for b, p in loaded.special if p.kind == "first-order"]
    assert tie.branches == (2, branch.number)
    assert branch.number in (3, 4)
    assert mfpde.bifurcate(PROBLEM, path, resume=True).outcome == "finished"


def test_a_kill_after_any_write_leaves_every_branch(monkeypatch, tmp_path, whole):
    tape = Tape()
    with monkeypatch.context() as patched:
        tape.recording(patched, ResultFile, "commit", lambda file: file.counts["branch_rows"])
        whole[1].save(tmp_path / "diagram.h5")
    first, place = tape.commits[0][0], tmp_path / "killed.h5"
    wanted = [index >= first and index % 5 == 0 for index in range(len(tape.writes))]
    assert sum(wanted) > 7
    names = [branch.name for branch in whole[1].branches]
    for number, committed in enumerate(replay(tape, place, wanted)):
        found = mfpde.load(place)
        assert len(found.branches) >= committed
        assert [branch.name for branch in found.branches] == names[: len(found.branches)]
        last, same = found.branches[-1], whole[1].branches[len(found.branches) - 1]
        np.testing.assert_array_equal(last.parameter, same.parameter)
        assert len(last.special) == len(same.special)
        if number == 7:
            assert found.outcome == "interrupted"
            assert "killed" in found.outcome.message


def test_a_full_disk_keeps_what_is_there(whole, tmp_path, monkeypatch):
    path = tmp_path / "diagram.h5"
    commit, count = ResultFile.commit, iter(range(99))

    def refused(file, *about):
        if next(count) == 3:
            raise OSError(errno.ENOSPC, "")
        commit(file, *about)

    with monkeypatch.context() as patched:
        patched.setattr(ResultFile, "commit", refused)
        found = mfpde.bifurcate(PROBLEM, path)
    assert found.outcome == "output failed"
    assert "the disk is full" in str(found.outcome)
    assert len(mfpde.load(path).branches) == 3
    mfpde.bifurcate(PROBLEM, path, resume=True)
    assert datasets(path) == datasets(whole[0])


def test_damage_is_told_and_made_anew(whole, tmp_path):
    path = tmp_path / "diagram.h5"
    path.write_bytes(whole[0].read_bytes())
    with h5py.File(path, "r+") as file:
        file["moments"][-1, 2] += 1
    with pytest.raises(mfpde.MfpdeError, match="is damaged: moments at row"):
        mfpde.load(path)
    mfpde.bifurcate(PROBLEM, path, resume=True)
    assert datasets(path) == datasets(whole[0])


def test_no_branch_no_file(tmp_path):
    block = {"range": [0.1, 0.2]}
    with pytest.raises(mfpde.ProblemError, match="no mode leaves"):
        mfpde.bifurcate(mfpde.Problem.from_dict({**BLOCKS, "bifurcation": block}), tmp_path / "none.h5")
    assert list(tmp_path.iterdir()) == []


def test_refusals(whole, tmp_path):
    other = mfpde.Problem.from_dict({**BLOCKS, "bifurcation": {"range": [1.2, 2.5], "branches": [1, 3]}})
    with pytest.raises(mfpde.MfpdeError, match="diagram of another problem"):
        mfpde.bifurcate(other, whole[0], resume=True)
    with pytest.raises(mfpde.OutputError, match="exists already"):
        mfpde.bifurcate(PROBLEM, whole[0])
    with pytest.raises(mfpde.MfpdeError, match="resume needs the output"):
        mfpde.bifurcate(PROBLEM, resume=True)
    with pytest.raises(mfpde.MfpdeError, match=r"there is no .* to resume"):
        mfpde.bifurcate(PROBLEM, tmp_path / "none.h5", resume=True)


def test_progress_and_status(tmp_path, monkeypatch):
    """News come while branches are followed, and the status file is there meanwhile."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    seen = []

    def look(report):
        seen.append((report.doing or report.words, (tmp_path / "diagram.status.json").exists()))

    mfpde.bifurcate(PROBLEM, tmp_path / "diagram.h5", progress=look)
    assert seen[-1] == ("branch 5 of 5", True)
    assert ("branch 2 of 3", True) in seen  # both modes are known from the start
    assert any("mode" in words and "kappa = " in words for words, _ in seen)
    assert not (tmp_path / "diagram.status.json").exists()


@pytest.mark.long
def test_a_killed_process(whole, tmp_path):
    """SIGKILL while it writes, later and later."""
    path, file = tmp_path / "diagram.h5", tmp_path / "problem.yaml"
    file.write_text(PROBLEM.to_yaml())
    command = [sys.executable, "-m", "mfpde", "bifurcate", str(file), "-o", str(path), "--quiet"]
    held = []
    for wait in 0.05 * np.arange(12):
        process = subprocess.Popen([*command, "--resume"] if held else command)
        before = path.stat().st_mtime_ns if held else 0
        while process.poll() is None:
            time.sleep(0.01)
            if path.exists() and path.stat().st_mtime_ns != before:
                time.sleep(wait)
                os.kill(process.pid, signal.SIGKILL)
        if process.wait() == 0:
            break
        held.append(len(mfpde.load(path).branches))
    assert process.returncode == 0
    assert held[0] < 5
    assert datasets(path) == datasets(whole[0])
