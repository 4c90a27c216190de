"""The disk under an HDF5 file, held against a plain array of bytes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mfpde.store.transaction import Transaction


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def test_it_reads_what_was_written_in_whatever_order(path):
    dice, disk, model = np.random.default_rng(0), Transaction(path, create=True), bytearray()
    for step in range(1500):
        start, size = (int(number) for number in dice.integers(0, [2000, 300]))
        if dice.random() < 0.6:
            piece = dice.bytes(size) if dice.random() < 0.7 else bytes(model[start : start + size]).ljust(size, b"\0")
            disk.seek(start)
            disk.write(memoryview(piece))
            if size:
                model.extend(bytes(max(0, start + size - len(model))))
                model[start : start + size] = piece
        elif dice.random() < 0.1:
            size = max(start, len(model))
            model = model.ljust(size, b"\0")
            disk.truncate(size)
        disk.seek(start)
        assert disk.read(size) == model[start : start + size], step
        if dice.random() < 0.05:
            disk.commit()
            assert path.read_bytes() == model
    disk.close()


def test_only_what_differs_is_written(path, monkeypatch):
    disk = Transaction(path, create=True)
    disk.write(memoryview(bytes(range(100)) * 2000))
    disk.commit()
    written, put = [], Transaction._put

    def recorded_put(disk, offset, piece):
        written.append((offset, bytes(piece)))
        put(disk, offset, piece)

    monkeypatch.setattr(Transaction, "_put", recorded_put)
    data = bytearray(bytes(range(100)) * 2000)
    data[70_001], data[150_000] = 255, 254
    disk.seek(0)
    disk.write(memoryview(data))
    assert written == []
    disk.commit()
    assert written == [(70_001, bytes(data[70_001:150_001]))]
    disk.close()
    assert path.read_bytes() == data


def test_growth_is_filled_with_real_zeros(path):
    """A hole could run out of disk when it is written later."""
    disk, size = Transaction(path, create=True), 3 * 2**20 + 17
    disk.truncate(size)
    disk.commit()
    disk.sync()
    assert path.stat().st_size == size
    descriptor = os.open(path, os.O_RDONLY)
    assert os.lseek(descriptor, 0, os.SEEK_HOLE) == size
    os.close(descriptor)
    assert path.stat().st_blocks * 512 >= size
    disk.close()


def test_what_a_failed_write_left_beyond_the_end_is_cut_off(path, monkeypatch):
    disk = Transaction(path, create=True)
    disk.write(memoryview(b"committed"))
    disk.commit()
    monkeypatch.setattr(os, "pwrite", _full(os.pwrite))
    disk.write(memoryview(b"too much"))
    monkeypatch.undo()
    with pytest.raises(OSError, match="No space left"):
        disk.commit()
    disk.close()
    assert path.read_bytes() == b"committed"


def _full(pwrite):
    calls = iter([3])

    def half(descriptor, piece, offset):
        if next(calls, None) is None:
            raise OSError(28, "No space left on device")
        return pwrite(descriptor, piece[:3], offset)

    return half


MEASURE = """
import resource, sys
import numpy as np
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
"""


def measured(code: str, *words: object) -> float:
    """What a program of its own prints."""
    command = [sys.executable, "-c", MEASURE + code, *map(str, words)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_writing_a_state_takes_no_memory(tmp_path):
    code = """
from pathlib import Path
from mfpde.store.checkpoint import Checkpoint, create_slots, write_slot
from mfpde.store.table import Table
from mfpde.store.transaction import Transaction, open_file
disk = Transaction(Path(sys.argv[1]), create=True)
file = open_file(disk, "w")
state = {"x": np.ones(5_000_000)}
slots = file.create_group("checkpoint")
tables = [Table("row", "number", "number of the row", {})]
create_slots(slots, tables, state)
before = peak()
for number in range(4):
    write_slot(slots, str(number % 2), Checkpoint(0.0, 1, state, {"rows": 1}), tables, disk)
    file.flush()
    disk.commit()
    state["x"] += 1
print((peak() - before) / state["x"].nbytes)
disk.close(file)
"""
    assert measured(code, tmp_path / "file.h5") < 0.1


def test_all_densities_take_their_memory_once(tmp_path):
    from store.heat import Heat, problem, solve

    run = solve(problem(until=100, save_every=0.06), tmp_path / "run.h5", Heat(step=1.0, points=4096))
    assert run.density.nbytes > 50e6
    code = """
import mfpde
run = mfpde.load(sys.argv[1])
run.stored["density"][0]
before = peak()
size = run.density.nbytes
print((peak() - before) / size)
"""
    assert measured(code, run.path) < 1.2


def test_beyond_the_end_there_are_zeros(path):
    """h5py takes whatever is in the buffer then for read."""
    path.write_bytes(b"data")
    disk, buffer = Transaction(path), bytearray(b"rubbish")
    disk.seek(2)
    assert disk.readinto(memoryview(buffer)) == 2
    assert buffer == b"ta" + bytes(5)
    disk.close()


def test_a_file_that_is_replaced_while_it_is_opened(path, monkeypatch):
    path.write_bytes(b"old")

    def slow(descriptor):
        path.with_name("other").write_bytes(b"new")
        path.with_name("other").replace(path)

    monkeypatch.setattr("mfpde.store.transaction._lock", slow)
    with pytest.raises(BlockingIOError):
        Transaction(path)
    assert path.read_bytes() == b"new"
