"""What is not a whole file of mfpde's is refused in one line."""

import contextlib

import h5py
import numpy as np
import pytest
from store.heat import problem, solve

import mfpde
from mfpde.errors import ResumeError


def without_checksums(path) -> None:
    """As files were before there were any."""
    with h5py.File(path, "r+") as file:
        del file["checksum"]
        del file.attrs["mfpde_checksums"]


def read_all(path) -> None:
    run = mfpde.load(path)
    _ = run.density, [run[name] for name in run.series]


def refusal(path) -> str:
    with pytest.raises(mfpde.MfpdeError) as caught:
        read_all(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def path(tmp_path):
    solve(problem(), tmp_path / "run.h5")
    return tmp_path / "run.h5"


def test_no_file(tmp_path):
    assert refusal(tmp_path / "none.h5").startswith("there is no file")
    assert "is a folder" in refusal(tmp_path)
    assert refusal(tmp_path / "none" / "none.h5").startswith("there is no file")
    assert "null" in refusal(str(tmp_path / "a\0b"))


def test_files_of_others(tmp_path):
    empty, text, foreign = tmp_path / "empty.h5", tmp_path / "text.h5", tmp_path / "foreign.h5"
    empty.touch()
    text.write_text("time: 1", encoding="utf-8")
    with h5py.File(foreign, "w") as file:
        file["density"] = np.zeros(3)
    assert refusal(empty).endswith("is empty")
    assert refusal(text).endswith("is not an HDF5 file")
    assert "not one of mfpde's" in refusal(foreign)


def test_a_newer_format(path):
    with h5py.File(path, "r+") as file:
        file.attrs["mfpde_format"] = 2
    assert "a newer mfpde wrote it" in refusal(path)


def test_a_problem_of_another_version(path):
    without_checksums(path)
    with h5py.File(path, "r+") as file:
        del file["provenance/problem"]
        file["provenance/problem"] = '{"geometry": {"kind": "torus"}}'
    assert "not one of this version" in refusal(path)


@pytest.mark.parametrize("name", ["time", "theta", "density", "mass", "provenance", "weight"])
def test_a_part_is_missing(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]
    assert "damaged" in refusal(path)


def test_cut_short(path, tmp_path):
    whole = path.read_bytes()
    for size in [*range(1, 12), 100, 1000, len(whole) // 2, len(whole) - 100]:
        part = tmp_path / "part.h5"
        part.write_bytes(whole[:size])
        assert "not an HDF5 file" in refusal(part) or "damaged" in refusal(part)


def test_noise_in_the_file_is_never_a_traceback(path, tmp_path):
    whole = path.read_bytes()
    dice = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(whole)
        start = int(dice.integers(len(data)))
        data[start : start + 16] = dice.bytes(16)
        part = tmp_path / "part.h5"
        part.write_bytes(data[: len(whole)])
        with contextlib.suppress(mfpde.MfpdeError):
            read_all(part)


def test_resuming_what_cannot_be(path, tmp_path):
    (tmp_path / "text.h5").write_text("x", encoding="utf-8")
    with pytest.raises(ResumeError, match="there is no"):
        solve(problem(), tmp_path / "none.h5", resume=True)
    with pytest.raises(ResumeError, match="is not an HDF5 file"):
        solve(problem(), tmp_path / "text.h5", resume=True)
    with pytest.raises(ResumeError, match="needs the output"):
        solve(problem(), None, resume=True)
    with pytest.raises(ResumeError, match="goes without force"):
        solve(problem(), path, resume=True, force=True)


def test_nothing_committed_and_nothing_stored(path):
    without_checksums(path)
    with h5py.File(path, "r+") as file:
        file["time"][:] = np.nan
    with pytest.raises(mfpde.MfpdeError, match="holds no committed snapshot"):
        mfpde.load(path)
    with h5py.File(path, "r+") as file:
        file["time"][0] = 0.0
        del file["density"]
    before = path.read_bytes()
    with pytest.raises(mfpde.MfpdeError, match="is damaged: it holds no density"):
        mfpde.load(path)
    with pytest.raises(ResumeError, match="is damaged"):
        solve(problem(until=9), path, resume=True)
    assert path.read_bytes() == before
