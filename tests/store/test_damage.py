"""A flipped bit is noticed by whatever reads it, and a resumed run makes anew what is damaged."""

import logging
from pathlib import Path

import h5py
import numpy as np
import pytest
from store.flips import KINDS, bad, campaign, everything, timeless
from store.heat import Heat, Heating, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.errors import MfpdeError, ResumeError
from mfpde.store.writer import FileRecorder

#: enough for one that is told when the run is loaded, where five are not; `make long` flips a thousand of each
FLIPS = {"heat": 15, "gaussian": 10, "trail": 10}


@pytest.fixture
def path(tmp_path):
    solve(problem(), tmp_path / "run.h5")
    return tmp_path / "run.h5"


def begun(kind: str, path: Path) -> Path:
    """A run that is to be resumed."""
    with timeless():
        KINDS[kind].first(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_the_flipped_files_are_the_same_every_time(tmp_path, kind):
    """So no flip succeeds or fails by luck."""
    assert begun(kind, tmp_path / "one.h5").read_bytes() == begun(kind, tmp_path / "other.h5").read_bytes()


@pytest.mark.parametrize(("kind", "flips"), [(kind, FLIPS.get(kind, 5)) for kind in KINDS])
def test_no_flip_is_silent_and_none_crashes(tmp_path, kind, flips):
    """Neither when the run is loaded nor when it is resumed."""
    found = campaign(KINDS[kind], begun(kind, tmp_path / "run.h5"), flips, seed=1)
    assert bad(found) == []
    assert found["loaded: told"] >= flips // 30  # about an eighth of a file: ten flips may all miss it
    assert found["resumed: went on"] >= flips // 2


def test_without_checksums_flips_are_silent(tmp_path):
    """What the other tests would find if nobody checked."""
    path = begun("heat", tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        del file["checksum"]
        del file.attrs["mfpde_checksums"]
    found = campaign(KINDS["heat"], path, 40, seed=10, resume=False)
    assert len([words for words in bad(found) if words.endswith("loaded: silent")]) >= 3


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("density", (17, 3), r"run.h5 is damaged: density at row 17 \(t = 1.7\) is not what was written"),
        ("mass", 4, r"mass at row 4 \(t = 0.4\)"),
        ("modes-sine", (20, 2), r"modes-sine at row 20 \(t = 2\)"),
        ("time", 9, "time at row 9"),
        ("theta", 5, "theta is not"),
        ("theta_bounds", (5, 1), "theta is not"),
        ("weight", 5, "weight is not"),
    ],
)
def test_what_is_damaged_is_named(path, name, row, message):
    with h5py.File(path, "r+") as file:
        file[name][row] = np.nextafter(file[name][row], 10)
    with pytest.raises(MfpdeError, match=message):
        everything(mfpde.load(path))


def test_values_of_a_type_that_is_damaged_are_not_converted(path):
    """HDF5 would look for their bits two kB further on, and fall over when it writes them there."""
    data = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        header = h5py.h5o.get_info(file["density"].id).addr
    place = data.index(bytes.fromhex("11203f00080000000000"), header)  # the type: class, bits, size, where they begin
    data[place + 9] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(MfpdeError, match=r"run\.h5: /density has a type that nobody has written"):
        _ = mfpde.load(path).density


def test_other_rows_can_still_be_read(path):
    whole = mfpde.load(path).density
    with h5py.File(path, "r+") as file:
        file["density"][17, 3] += 1
    run = mfpde.load(path)
    np.testing.assert_array_equal(run.stored["density"][16], whole[16])
    np.testing.assert_allclose(run.measure(-1).on_grid(32), whole[-1], atol=1e-15)
    for look in (lambda: run.stored["density"][17], lambda: run.density, lambda: run.measure(17), run.to_xarray):
        with pytest.raises(MfpdeError, match="density at row 17"):
            look()


@pytest.mark.parametrize("last", [np.nan, 1e300])
def test_the_last_time_of_a_killed_run(tmp_path, monkeypatch, last):
    """A row whose time is gone counts as never written, where nobody knows better."""
    path = tmp_path / "run.h5"
    monkeypatch.setattr(FileRecorder, "finish", lambda recorder, *_: recorder.abandon())
    monkeypatch.setattr(FileRecorder, "_due", lambda _: True)
    solve(problem(), path)
    rows = len(mfpde.load(path).times)
    with h5py.File(path, "r+") as file:
        file["time"][rows - 1] = last
    with pytest.raises(MfpdeError, match=f"time at row {rows - 1}"):
        mfpde.load(path)


@pytest.mark.parametrize(
    ("name", "row", "since"),
    [
        *[("density", (3, 3), 0.0), ("density", (17, 3), 1.0), ("mass", 20, 1.0)],
        *[("time", 20, 1.0), ("time", 0, 0.0), ("checksum/end", 30, 2.0)],
    ],
)
def test_resuming_a_damaged_run(tmp_path, monkeypatch, caplog, name, row, since):
    path, whole = tmp_path / "run.h5", solve(problem(), None)
    monkeypatch.setattr(FileRecorder, "_due", lambda recorder: len(recorder.rows) > 9)
    solve(problem(), path)
    with h5py.File(path, "r+") as file:
        file[name][row] += 1
    damaged = path.read_bytes()
    with caplog.at_level(logging.WARNING, "mfpde"):
        run = solve(problem(), path, resume=True)
    assert run.outcome == "finished"
    assert_same(run, whole)
    assert_same(mfpde.load(path), whole)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "is damaged" in said
    assert f"everything after t = {since:g} is made anew" in said
    assert (tmp_path / "run.damaged.h5").read_bytes() == damaged
    with h5py.File(path) as file:
        assert said in file.attrs["history"]
    assert_same(solve(problem(), path, resume=True), whole)  # nothing is left to be done
    assert len(caplog.records) == 1


def test_resuming_without_a_whole_checkpoint(path, tmp_path, caplog):
    with h5py.File(path, "r+") as file:
        for name in ("0", "1"):
            file[f"checkpoint/{name}/modes"][0] = 17
    assert len(mfpde.load(path).times) == 21
    with caplog.at_level(logging.WARNING, "mfpde"):
        run = solve(problem(until=3, save_every=0.1), path, resume=True)
    assert_same(run, solve(problem(until=3, save_every=0.1), None))
    assert "holds no whole checkpoint; everything after t = 0 is made anew" in caplog.text


def test_rows_after_the_checkpoint_are_in_the_file_that_is_made_anew(tmp_path, monkeypatch):
    """So that none is gone when the resumed run is killed before it has made them again."""
    path = tmp_path / "run.h5"
    with timeless():
        solve(problem(), path, Heat(lost=1.25))
    path.chmod(0o640)
    rows, kept = len(mfpde.load(path).times), path.stat().st_ino
    with h5py.File(path) as file:
        assert max(slot.attrs["snapshot"] for slot in file["checkpoint"].values()) + 1 < rows

    def killed(*_):
        raise MemoryError

    monkeypatch.setattr(FileRecorder, "add", killed)
    with pytest.raises(MemoryError):
        solve(problem(), path, resume=True)
    assert len(mfpde.load(path).times) == rows
    assert path.stat().st_ino != kept
    assert path.stat().st_mode & 0o777 == 0o640


EARLIER = r"^cannot resume .*run.h5: its checkpoint was written by an earlier version of mfpde, which this one cannot"
ANOTHER = (
    r"^cannot resume .*run.h5: its checkpoint holds a state of version 2 of the heat solver, and this mfpde continues "
    r"version 1; start again, or from its last snapshot with initial: \{kind: snapshot\}$"
)


@pytest.mark.parametrize(("version", "said"), [(0, EARLIER), (2, ANOTHER)])
def test_resuming_a_run_whose_checkpoint_is_of_another_version(tmp_path, monkeypatch, version, said):
    path, state = tmp_path / "run.h5", Heating.state
    with monkeypatch.context() as patch:
        patch.setattr(Heating, "state", lambda heating: {"modes": state(heating)["modes"]})
        solve(problem(), path, Heat(lost=1.05, state_version=version))
    before = path.read_bytes()
    with pytest.raises(ResumeError, match=said):
        solve(problem(), path, resume=True)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_files_of_releases_that_did_not_say_their_version_go_on(tmp_path):
    path = tmp_path / "run.h5"
    solve(problem(), path, Heat(lost=1.05, state_version=0))
    with h5py.File(path, "r+") as file:
        for slot in file["checkpoint"].values():
            del slot.attrs["version"]
    assert_same(solve(problem(), path, resume=True), solve(problem(), None))


def test_a_state_of_this_version_that_cannot_be_continued_is_a_mistake_of_ours(tmp_path, monkeypatch):
    """It is told as what it is, not as an old file."""
    path, state = tmp_path / "run.h5", Heating.state
    with monkeypatch.context() as patch:
        patch.setattr(Heating, "state", lambda heating: {"modes": state(heating)["modes"]})
        solve(problem(), path, Heat(lost=1.05))
    with pytest.raises(KeyError):
        solve(problem(), path, resume=True)


@pytest.mark.parametrize("name", ["theta", "weight", "checksum/header"])
def test_what_describes_a_run_has_to_be_whole(path, name):
    with h5py.File(path, "r+") as file:
        file[name][7] += 1
    before = path.read_bytes()
    with pytest.raises(ResumeError, match=r"cannot resume: .*run.h5 is damaged: \w+"):
        solve(problem(until=3, save_every=0.1), path, resume=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("until", [2.0, 3.0])
def test_files_of_before_there_were_checksums(tmp_path, until):
    path = tmp_path / "run.h5"
    solve(problem(), path, Heat(lost=1.05))
    with h5py.File(path, "r+") as file:
        del file["checksum"]
        del file.attrs["mfpde_checksums"]
    assert len(mfpde.load(path).times) == 11
    task = problem(until=until, save_every=0.1)
    assert_same(solve(task, path, resume=True), solve(task, None))
    with h5py.File(path, "r+") as file:
        file["density"][17, 3] += 1
    with pytest.raises(MfpdeError, match="density at row 17"):
        _ = mfpde.load(path).density


def test_checksums_that_are_gone_are_missed(path):
    with h5py.File(path, "r+") as file:
        del file["checksum"]
    with pytest.raises(MfpdeError, match="is damaged"):
        mfpde.load(path)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_flip_campaign(tmp_path, kind):
    assert bad(campaign(KINDS[kind], begun(kind, tmp_path / "run.h5"), 1000, seed=5)) == []
