"""Compiled code on disk: found again, never by mistake, and no trouble where it cannot be kept."""

import os
import resource
import signal
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

from mfpde.compilation import folders, kernel, watched
from mfpde.compilation.cache import _described
from mfpde.compilation.folders import Kept, kept, remove_unused, temporary_folder


class Pair(NamedTuple):
    first: float
    second: float


class Turned(NamedTuple):
    second: float
    first: float


def twice(x: float) -> float:
    """A kernel that compiles in no time."""
    return 2.0 * x


def difference(pair: Pair) -> float:
    return pair.first - pair.second


def compiles(function: Callable[..., float], *arguments: object) -> tuple[float, bool]:
    """What a fresh kernel answers, and whether it had to be compiled."""
    needed: list[bool] = []
    with watched(needed.append):
        value = kernel(function)(*arguments)
    (compiled,) = needed
    return value, compiled


def test_code_is_kept_and_found_again(place):
    assert compiles(twice, 3.0) == (6.0, True)
    assert compiles(twice, 3.0) == (6.0, False)
    assert compiles(twice, 3) == (6.0, True), "an integer is another signature"
    assert sorted(stat.S_IMODE(file.stat().st_mode) & 0o022 for file in place.iterdir()) == [0, 0]


def test_statistics_say_where_code_is_kept(place, monkeypatch):
    assert kernel(twice).stats.cache_path == str(place)
    monkeypatch.setattr("mfpde.compilation.cache.kept", lambda: Kept(None, (), place, "it is full"))
    assert kernel(twice).stats.cache_path is None


@pytest.mark.parametrize("damage", [slice(0), slice(0, -9), slice(None, None, -1)])
def test_a_damaged_file_is_compiled_again(place, damage):
    compiles(twice, 3.0)
    (file,) = place.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[damage])
    assert compiles(twice, 3.0) == (6.0, True)
    assert compiles(twice, 3.0) == (6.0, False), "it is whole again"


def test_a_full_disk_is_no_trouble(place):
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert compiles(twice, 3.0) == (6.0, True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(place.iterdir()) == []


def test_a_folder_that_goes_away_is_no_trouble(place):
    place.rmdir()
    assert compiles(twice, 3.0) == (6.0, True)


def test_tuples_with_other_fields_are_other_signatures(place):
    types = [numba.typeof(kind(1.0, 2.0)) for kind in (Pair, Turned)]
    assert _described(types[0])[1] == ("first", "second")
    assert _described(types[0]) != _described(types[1])
    assert compiles(difference, Pair(1.0, 2.0)) == (-1.0, True)
    assert compiles(difference, Turned(1.0, 2.0)) == (1.0, True)


def test_what_nobody_used_for_long_goes(place):
    compiles(twice, 3.0)
    compiles(twice, 3)
    old, fresh = sorted(place.iterdir())
    os.utime(old, (0, 0))
    remove_unused(place)
    assert list(place.iterdir()) == [fresh]


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """A cache folder that cannot be made, for whoever asks, and an empty folder for temporary files."""
    tmp_path.joinpath("file").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    kept.cache_clear()
    yield temporary
    kept.cache_clear()


def test_without_a_place_of_its_own_code_is_kept_in_a_temporary_one(nowhere):
    own = nowhere / f"mfpde-{os.geteuid()}"
    assert kept() == Kept(own / "kernels", (kept().usual, own / "kernels"), kept().usual, "not a directory")
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def open_to_others(own: Path) -> None:
    own.mkdir()
    own.chmod(0o770)


def a_link(own: Path) -> None:
    own.with_name("elsewhere").mkdir(mode=0o700)
    own.symlink_to(own.with_name("elsewhere"))


def of_somebody_else(own: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    own.mkdir(mode=0o700)
    os.chown(own, 65534, 65534)


@pytest.mark.parametrize("make", [open_to_others, a_link, of_somebody_else, Path.touch])
def test_code_that_somebody_else_could_have_written_is_not_executed(nowhere, make):
    make(nowhere / f"mfpde-{os.geteuid()}")
    assert temporary_folder() is None
    assert kept().written is None
    assert kept().read == (kept().usual,)
    assert compiles(twice, 5.0) == (10.0, True)


def test_without_a_home_and_a_temporary_folder_nothing_is_kept(monkeypatch):
    def no_folder(*arguments: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(folders, "usual_folder", lambda: None)
    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    kept.cache_clear()
    try:
        assert kept() == Kept(None, (), None, "there is no home folder")
        assert compiles(twice, 7.0) == (14.0, True)
    finally:
        kept.cache_clear()
