"""A kill between any two writes to the disk leaves a file that opens and holds every committed row.

Random kills hit the moments that last; here each write is recorded and the file rebuilt as it was after every one.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pytest
from store import drifting
from store.heat import Heat, Heating, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.store import checkpoint
from mfpde.store.opening import opened
from mfpde.store.reader import load_run, stored_run
from mfpde.store.rewriting import rewrite
from mfpde.store.transaction import Transaction
from mfpde.store.writer import FileRecorder

SMALL = Heat(points=8, step=1.0)
ALIKE = 1  # commits of as many writes that are looked into


@dataclass
class Tape:
    """Every write (offset, bytes) and cut (length, None), and how many of them each commit took to be complete."""

    writes: list[tuple[int, bytes | None]] = field(default_factory=list)
    commits: list[tuple[int, int]] = field(default_factory=list)
    start: bytes = b""  # what is written to

    def recording(self, patched, owner, commit: str, counted) -> None:
        """Everything from now on: `owner.commit(self, ..)` is over when `counted(self)` rows are."""
        put, cut, committed = Transaction._put, Transaction._cut, getattr(owner, commit)

        def recorded_put(disk, offset, piece):
            self.writes.append((offset, bytes(piece)))
            put(disk, offset, piece)

        def recorded_cut(disk, size):
            self.writes.append((size, None))
            cut(disk, size)

        def recorded_commit(one, *about):
            committed(one, *about)
            self.commits.append((len(self.writes), counted(one)))

        patched.setattr(Transaction, "_put", recorded_put)
        patched.setattr(Transaction, "_cut", recorded_cut)
        patched.setattr(owner, commit, recorded_commit)


@pytest.fixture
def tape(monkeypatch) -> Tape:
    tape = Tape()
    tape.recording(monkeypatch, FileRecorder, "_commit", lambda recorder: recorder._file.counts["snapshots"])
    monkeypatch.setattr(FileRecorder, "_due", lambda _: True)
    return tape


@contextlib.contextmanager
def resuming(tape: Tape, path: Path) -> Iterator[None]:
    """The tape begins with the file made anew. Until that is in its place the earlier one is there, and nothing is ever
    written to that one."""
    before, kept, rows = path.read_bytes(), path.with_name("kept.h5"), len(mfpde.load(path).times)
    os.link(path, kept)

    def anew(*about):
        assert path.samefile(kept)
        made = rewrite(*about)
        assert not path.samefile(kept)
        tape.start, tape.commits[:] = path.read_bytes(), [(0, rows)]
        tape.writes.clear()
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mfpde.store.result_file.rewrite", anew)
        yield
    assert kept.read_bytes() == before
    assert tape.start != before


def replay(tape: Tape, place: Path, wanted: list[bool]):
    """The file after each wanted write, with the number of rows that were committed by then."""
    image = bytearray(tape.start)
    stops = [stop for stop, _ in tape.commits]
    for index, (offset, piece) in enumerate(tape.writes):
        if piece is None:
            del image[offset:]
        else:
            image.extend(bytes(max(0, offset + len(piece) - len(image))))
            image[offset : offset + len(piece)] = piece
        if wanted[index]:
            done = int(np.searchsorted(stops, index + 1, side="right"))
            place.write_bytes(image)
            yield tape.commits[done - 1][1] if done else 0


def check(place: Path, whole: mfpde.Run, committed: int) -> None:
    run = load_run(place)
    assert len(run.times) >= committed
    count = len(run.times)
    np.testing.assert_array_equal(run.times, whole.times[:count])
    np.testing.assert_array_equal(run.density, whole.density[:count])
    np.testing.assert_array_equal(run["mass"], whole["mass"][: len(run.series_times)])
    np.testing.assert_array_equal(run["modes-sine"], whole["modes-sine"][: len(run.series_times)])
    with opened(place) as file:
        stored = stored_run(place, file)
        stored.read_scales()
        fitting = stored.checkpoints(stored.counts).values()
    assert max(slot.counts["snapshots"] for slot in fitting) >= committed


def unusual(tape: Tape, always: int) -> list[bool]:
    """Writes of the first commits, of the last, and of the first few of every length (some grow a tree)."""
    wanted, start, alike = [False] * len(tape.writes), 0, Counter()
    for index, (stop, _) in enumerate(tape.commits):
        alike[stop - start] += 1
        if index < always or index > len(tape.commits) - 3 or alike[stop - start] <= ALIKE:
            wanted[start:stop] = [True] * (stop - start)
        start = stop
    wanted[start:] = [True] * (len(wanted) - start)
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own_times", "chunk"),
    [({}, 64), ({"observe_every": 0.35}, 2**16)],
    ids=["with-snapshots, chunks of a row", "own-times, shared-chunks"],
)
def test_after_every_write_of_a_run(tape, tmp_path, own_times, chunk, monkeypatch):
    monkeypatch.setattr("mfpde.store.table._CHUNK_BYTES", chunk)
    task = problem(until=8, **own_times)
    run = solve(task, tmp_path / "run.h5", SMALL)
    whole = solve(task, None, SMALL)
    first = tape.commits[0][0]  # the file has no name before
    wanted = [index >= first and one for index, one in enumerate(unusual(tape, 2))]
    assert sum(wanted) > 70
    for committed in replay(tape, tmp_path / "replay.h5", wanted):
        check(tmp_path / "replay.h5", whole, committed)
    assert (tmp_path / "replay.h5").read_bytes() == run.path.read_bytes()


def ranges(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Where in the file each row of a dataset is, and its checksum."""
    with h5py.File(path) as file:
        found = {}
        for name in ("density", "mass", "modes-sine", "time", "checksum/snapshots"):
            dataset = file[name]
            size, rows = dataset[:1].nbytes, dataset.chunks[0]
            chunks = [dataset.id.get_chunk_info(index) for index in range(dataset.id.get_num_chunks())]
            starts = {chunk.chunk_offset[0]: chunk.byte_offset for chunk in chunks}
            places = [starts[k - k % rows] + (k % rows) * size for k in range(len(dataset))]
            found[name] = [(place, place + size) for place in places]
    return found


def rewritten(tape: Tape, path: Path) -> list[tuple[str, int]]:
    """Rows of which a byte was written once more after they had been committed."""
    places, found = ranges(path), []
    for (stop, rows), (end, _) in zip(tape.commits, [*tape.commits[1:], (len(tape.writes), 0)], strict=True):
        last = {name: where[:rows] for name, where in places.items()}
        for offset, piece in tape.writes[stop:end]:
            if piece is not None:
                for name, where in last.items():
                    hit = [k for k, (a, b) in enumerate(where) if a < offset + len(piece) and offset < b]
                    found += [(name, k) for k in hit]
    return found


def test_no_commit_writes_a_committed_row_again(tape, tmp_path):
    """Though rows share chunks, which HDF5 writes as wholes."""
    run = solve(problem(until=6), tmp_path / "run.h5", SMALL)
    with h5py.File(run.path) as file:
        assert file["density"].chunks == (61, 8)
    assert len(tape.commits) >= 60
    assert rewritten(tape, run.path) == []


def test_a_resumed_run_writes_no_committed_row_again(tape, tmp_path):
    path, task = tmp_path / "run.h5", problem(until=6)
    solve(task, path, Heat(points=8, step=1.0, lost=3.05))
    with resuming(tape, path):
        solve(task, path, SMALL, resume=True)
    assert rewritten(tape, path) == []


@pytest.mark.slow
def test_after_every_write_of_a_resumed_run(tape, tmp_path):
    task, path = problem(until=4.5), tmp_path / "run.h5"
    solve(task, path, Heat(points=8, step=1.0, lost=3.05))
    with resuming(tape, path):
        solve(task, path, SMALL, resume=True)
    whole = solve(task, None, SMALL)
    assert len(mfpde.load(path).times) == len(whole.times)
    for committed in replay(tape, tmp_path / "replay.h5", unusual(tape, 2)):
        check(tmp_path / "replay.h5", whole, committed)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [np.inf, 5.0], ids=["to-the-end", "stopped-at-once"])
def test_after_every_write_of_a_run_resumed_from_a_torn_commit(tape, tmp_path, lost):
    """Half-written rows are in the file: they are overwritten, or cut off at the end."""
    task, path = problem(until=6, observe_every=0.25), tmp_path / "run.h5"
    solve(task, path, SMALL)
    half = (tape.commits[50][0] + tape.commits[51][0]) // 2
    wanted = [index == half for index in range(len(tape.writes))]
    for committed in replay(tape, path, wanted):
        assert committed == tape.commits[50][1]
    with resuming(tape, path):
        solve(task, path, Heat(points=8, step=1.0, lost=lost), resume=True)
    whole = solve(task, None, SMALL)
    for committed in replay(tape, tmp_path / "replay.h5", unusual(tape, 1)):
        check(tmp_path / "replay.h5", whole, committed)
    with opened(path) as file:
        assert np.isfinite(file["time"][:]).all()
        assert file["density"].shape[0] == file["time"].shape[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["panels", "particles", "trail"])
def test_after_every_write_of_other_forms(tape, tmp_path, form, monkeypatch):
    monkeypatch.setattr(checkpoint, "_REFERENCE_BYTES_MIN", 0)
    task = drifting.problem(until=0.6, observe=["mean"], observe_every=0.07)
    drifting.solve(task, tmp_path / "run.h5", drifting.Drift(form))
    whole = drifting.solve(task, None, drifting.Drift(form))
    first = tape.commits[0][0]
    wanted = [index >= first and one for index, one in enumerate(unusual(tape, 2))]
    for committed in replay(tape, tmp_path / "replay.h5", wanted):
        run = load_run(tmp_path / "replay.h5")
        count = len(run.times)
        assert count >= committed
        for name, rows in whole.stored.items():
            np.testing.assert_array_equal(run.stored[name], rows[:count])
        np.testing.assert_array_equal(run["mean"], whole["mean"][: len(run.series_times)])
        for name, rows in whole.trail.items():
            np.testing.assert_array_equal(run.trail[name], rows[: len(run.trail[name])])
        if form == "trail":
            assert np.asarray(run.trail["path_time"])[-1] >= run.times[-1]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["grid", "particles", "trail"])
def test_a_run_goes_on_from_any_moment(tmp_path, form, monkeypatch):
    """Killed after commits of both slots, boxes grown and trails begun: it ends in the same bits."""
    task = drifting.problem(until=0.6)
    whole = drifting.solve(task, None, drifting.Drift(form))
    path, commit = tmp_path / "run.h5", FileRecorder._commit
    monkeypatch.setattr(FileRecorder, "_due", lambda _: True)
    monkeypatch.setattr(checkpoint, "_REFERENCE_BYTES_MIN", 0)
    for stop in (2, 5, 8, 13):
        left = iter(range(stop))

        def killed(recorder, integration, left=left):
            if next(left, None) is None:
                raise MemoryError
            commit(recorder, integration)

        monkeypatch.setattr(FileRecorder, "_commit", killed)
        with contextlib.suppress(MemoryError):
            drifting.solve(task, path, drifting.Drift(form), force=True)
        monkeypatch.setattr(FileRecorder, "_commit", commit)
        assert_same(drifting.solve(task, path, drifting.Drift(form), resume=True), whole)


class Heavy(Heating):
    """With a state that HDF5 does not cache: it is written directly over the older of the two."""

    def state(self):
        return {**super().state(), "ballast": np.full(2**20, self.now)}


class Heavily(Heat):
    def start(self, task):
        return Heavy(self, task)


@pytest.mark.slow
def test_after_every_write_of_a_large_state(tape, tmp_path):
    task = problem(until=0.4)
    solve(task, tmp_path / "run.h5", Heavily(points=8, step=1.0))
    whole, place = solve(task, None, SMALL), tmp_path / "replay.h5"
    direct = [piece for _, piece in tape.writes if piece is not None and len(piece) > 2**20]
    assert len(direct) >= len(tape.commits)
    for committed in replay(tape, place, [index >= tape.commits[0][0] for index in range(len(tape.writes))]):
        check(place, whole, committed)
        with opened(place) as file:
            stored = stored_run(place, file)
            stored.read_scales()
            _, found = stored.latest()
            assert (np.asarray(found.state["ballast"]) == found.time).all()  # read when it is asked for


@pytest.mark.long
def test_after_every_write_while_the_trees_grow_to_three_levels(tape, tmp_path, monkeypatch):
    monkeypatch.setattr("mfpde.store.table._CHUNK_BYTES", 8)  # a row each
    task = problem(until=480, observe=["mass", {"kind": "modes", "count": 1}])
    solve(task, tmp_path / "run.h5", SMALL)
    whole = solve(task, None, SMALL)
    first = tape.commits[0][0]
    wanted = [index >= first and one for index, one in enumerate(unusual(tape, 1))]
    for committed in replay(tape, tmp_path / "replay.h5", wanted):
        check(tmp_path / "replay.h5", whole, committed)
