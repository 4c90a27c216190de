"""A file appears whole or not at all, and never in the place of another one unasked."""

import os
import threading
import time
from pathlib import Path

import pytest
from store.heat import Heat, problem, solve

import mfpde
import mfpde.prepare
from mfpde.errors import OutputError


class Untouched(Heat):
    """Fails the test when anything is computed."""

    def start(self, task):
        raise AssertionError("computed before the output was checked")


def refused(path, **options) -> str:
    with pytest.raises(OutputError) as caught:
        solve(problem(), path, Untouched(), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_output_is_checked_before_anything_is_computed(tmp_path, monkeypatch):
    existing = tmp_path / "run.h5"
    existing.write_bytes(b"precious")
    assert "exists already; --force" in refused(existing)
    assert "there is no folder" in refused(tmp_path / "none" / "run.h5")
    assert "is a folder; name a file in it" in refused(tmp_path)
    assert "is a folder" in refused(tmp_path, force=True)
    assert "not a regular file" in refused("/dev/null", force=True)
    assert "cannot write" in refused(tmp_path / ("x" * 300))
    assert "null" in refused(str(tmp_path / "a\0b"))
    assert existing.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    def forbidden(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", forbidden)
    assert "permission denied" in refused(tmp_path / "run.h5")


def test_force_replaces(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"old")
    assert len(solve(problem(), path, force=True).times) == 21
    link = tmp_path / "link.h5"
    link.symlink_to(path)
    solve(problem(until=1), link, force=True)
    assert link.is_symlink()
    assert len(mfpde.load(path).times) == 11


def test_a_failure_at_the_start_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    path.write_bytes(b"old")
    monkeypatch.setattr("mfpde.store.schema.create", lambda *_: (_ for _ in ()).throw(RuntimeError("bug")))
    with pytest.raises(RuntimeError, match="bug"):
        solve(problem(), path, force=True)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path, monkeypatch, links):
    path = tmp_path / "run.h5"

    class Slow(Heat):
        def start(self, task):
            path.write_bytes(b"precious")
            return super().start(task)

    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")))
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(OutputError, match="created by somebody else meanwhile"):
        solve(problem(), path, Slow())
    assert len(list(Path("/dev/fd").iterdir())) == before  # nothing stays open
    assert path.read_bytes() == b"precious"
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")))
    assert len(solve(problem(), tmp_path / "run.h5").times) == 21
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_two_runs_race_for_one_name(tmp_path):
    path, outcomes = tmp_path / "run.h5", []
    barrier = threading.Barrier(4)

    class Together(Heat):
        def start(self, task):
            barrier.wait()
            return super().start(task)

    def race():
        try:
            outcomes.append(mfpde.run_loop.solve(problem(), path).outcome.kind)
        except OutputError:
            outcomes.append("refused")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mfpde.prepare, "chosen_solver", lambda _: Together())
        threads = [threading.Thread(target=race) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["finished", "refused", "refused", "refused"]
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_a_run_under_way_is_not_replaced(tmp_path):
    path = tmp_path / "run.h5"
    seen = []

    def look(report):
        if report.time == report.until:  # the last report comes when the file is closed
            return
        with pytest.raises(OutputError, match="being written by a run that is under way"):
            solve(problem(), path, force=True)
        with pytest.raises(mfpde.errors.ResumeError, match="under way"):
            solve(problem(), path, resume=True)
        with pytest.raises(mfpde.MfpdeError, match="under way"):
            mfpde.load(path)
        seen.append(report)

    solve(problem(), path, Heat(seconds=0.003), progress=look)
    assert len(seen) > 1


@pytest.mark.parametrize("resume", [False, True])
def test_what_killed_runs_left_half_written_is_swept_away(tmp_path, resume):
    path, nobody = tmp_path / "run.h5", 2**22 + 1
    if resume:
        solve(problem(), path, Heat(lost=1.05))
    names = {
        f".run.h5.{nobody}-0badcafe.part": 100,  # of a process that is no more
        f".run.h5.{nobody}-00c0ffee.part": 1,  # may be of one on another machine
        f".run.h5.{os.getpid()}-0badcafe.part": 100,  # of one that lives
        f".other.h5.{nobody}-0badcafe.part": 100,
        ".run.h5.mine.part": 100,
    }
    for name, age in names.items():
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    solve(problem(), path, resume=resume)
    assert {one.name for one in tmp_path.iterdir()} == {"run.h5", *list(names)[1:]}
