"""A result that is no run is kept by the promises of runs: whole at every moment, taken up again, damage told."""

import shutil

import h5py
import numpy as np
import pytest
from invariant.everywhere import SOFTMAX, SPOT, interrupted, problem
from store import diagram
from store.processes import assert_same
from store.test_every_write import Tape, replay, unusual

import mfpde
from mfpde.errors import MfpdeError
from mfpde.store import checkpoint as checkpoints
from mfpde.store.checksums import row_checksums
from mfpde.store.opening import opened
from mfpde.store.result_file import ResultFile
from mfpde.store.stored_tables import StoredTables
from mfpde.store.writer import FileRecorder

COUNT = 11


@pytest.fixture(params=[2**12, 0], ids=["copies", "references"])
def smallest(request, monkeypatch):
    """Arrays from which on checkpoints refer to rows."""
    monkeypatch.setattr(checkpoints, "_REFERENCE_BYTES_MIN", request.param)
    return request.param


@pytest.fixture
def path(tmp_path, smallest):
    diagram.make(tmp_path / "diagram.h5", COUNT)
    return tmp_path / "diagram.h5"


@pytest.fixture
def tape(monkeypatch):
    tape = Tape()
    tape.recording(monkeypatch, ResultFile, "commit", lambda file: file.counts["states"])
    return tape


def same(columns, count):
    whole = diagram.expected(COUNT)
    assert columns.keys() == whole.keys()
    for name, values in columns.items():
        assert values.dtype == whole[name].dtype, name
        rows = len(values) if name == "kind" else count
        assert values.tobytes() == whole[name][:rows].tobytes(), name
    assert len(columns["kind"]) >= 1 + (count - 1) // diagram.EVERY  # a state never counts before its special point


def test_what_is_written_is_read_back(path):
    made = mfpde.load(path)
    assert made.outcome == "finished"
    assert made.provenance["statistics"] == {"turns": 2.0}
    same(made.columns, COUNT)


def test_other_tools_read_it(path):
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as dataset:
        assert dataset.moments.dims == ("state", "order")
        assert dataset.kind.dims == ("special_point",)
        np.testing.assert_array_equal(dataset.state, np.arange(COUNT))
        np.testing.assert_array_equal(dataset.branch, np.arange(COUNT) // 4)


def test_a_kill_after_any_write_leaves_every_committed_state(tape, tmp_path, smallest):
    diagram.make(tmp_path / "diagram.h5", COUNT)
    first, place = tape.commits[0][0], tmp_path / "killed.h5"
    tape = Tape(list(tape.writes), list(tape.commits))  # resumed ones are recorded, too
    wanted = [index >= first and one for index, one in enumerate(unusual(tape, 2))]
    assert sum(wanted) > 30
    for number, committed in enumerate(replay(tape, place, wanted)):
        made = mfpde.load(place)
        count = len(made.columns["moments"])
        assert count >= committed
        same(made.columns, count)
        if number % 4 == 0:
            again = shutil.copy(place, tmp_path / "again.h5")
            diagram.make(again, COUNT, resume=True)
            same(mfpde.load(again).columns, COUNT)


@pytest.mark.parametrize("each", [1, 2, 5])
def test_it_is_taken_up_where_it_was_left(tmp_path, smallest, each):
    path = tmp_path / "diagram.h5"
    diagram.make(path, 5, each=each)
    diagram.make(path, COUNT, resume=True, each=each)
    same(mfpde.load(path).columns, COUNT)


def test_a_reference_takes_the_place_of_a_copy(path, smallest):
    with h5py.File(path) as file:
        for slot in file["checkpoint"].values():
            assert (slot["state"].id.get_num_chunks() == 0) == (smallest == 0)


def test_cells_that_stand_still_are_kept_once(tmp_path, monkeypatch):
    """Of a solver of mfpde's: its densities are its snapshots; a resumed run finds them there."""
    path, cells = tmp_path / "run.h5", {"kind": "finite-volume", "cells": [32, 32], "frame": "static"}
    task = mfpde.Problem.from_dict(problem("plane", SOFTMAX, SPOT, cells, 4, 0.02))
    monkeypatch.setattr(FileRecorder, "_due", lambda _: True)
    interrupted(task, path)
    with h5py.File(path) as file:
        shown = [slot["density"].attrs["shape"].tolist() for slot in file["checkpoint"].values()]
        assert [place[-2:] for place in shown if place[0] >= 0] == [[0, 1]] * 2
    assert_same(mfpde.solve(task, path, resume=True), mfpde.solve(task))


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [("moments", (7, 2), "moments at row 7"), ("branch", 3, "branch at row 3"), ("shift", 2, "shift is not")],
)
def test_damage_is_told_and_made_anew(path, name, row, said):
    with h5py.File(path, "r+") as file:
        file[name][row] += 1
    with pytest.raises(MfpdeError, match=f"is damaged: {said}"):
        mfpde.load(path)


def test_words_that_are_damaged_are_told(path):
    with h5py.File(path, "r+") as file:
        file["kind"][1] = b"Fold"
    with pytest.raises(MfpdeError, match="is damaged: kind at row 1 is not what was written"):
        mfpde.load(path)


def test_the_states_before_a_damaged_one_are_taken_up(tmp_path, smallest):
    """The checkpoint before it is used; with references, too, if its row is whole."""
    path = tmp_path / "diagram.h5"
    diagram.make(path, COUNT)
    with h5py.File(path, "r+") as file:
        file["moments"][COUNT - 1, 0] += 1
    diagram.make(path, COUNT, resume=True)
    same(mfpde.load(path).columns, COUNT)


@pytest.mark.parametrize("told", [True, False])
def test_a_checkpoint_whose_row_is_another_does_not_count(tmp_path, monkeypatch, told):
    """Whether the checksum of the row says so or fits the other row."""
    monkeypatch.setattr(checkpoints, "_REFERENCE_BYTES_MIN", 0)
    path = tmp_path / "diagram.h5"
    diagram.make(path, COUNT)
    with h5py.File(path, "r+") as file:
        file["moments"][COUNT - 1, 0] += 1
        if not told:
            (checksum,) = row_checksums("moments", COUNT - 1, file["moments"][COUNT - 1 :])
            file["checksum/states"][COUNT - 1, 1] = checksum
    with opened(path) as file:
        found = StoredTables(path, file, diagram.tables).checkpoints({"states": COUNT, "special_points": COUNT})
    assert [one.counts["states"] for one in found.values()] == [COUNT - 1]
