"""Two slots for the solver's native state: while one is overwritten, the other is whole.

A slot holds the arrays of `Integration.state()` and says up to which snapshot and observation it goes. Its checksum
tells a torn slot from a whole one. Space, once taken, is only overwritten: freed space would be given to others while
the disk still refers to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.store.opening import DAMAGE, attribute, typed
from mfpde.typing import AnyArray

__all__ = ["Checkpoint", "copy_slots", "create_slots", "read_slots", "write_slot"]

_MOST_AXES = 8


@dataclass(frozen=True)
class Checkpoint:
    """A state to continue from, after `snapshots` rows of snapshots, `observations` of series, `steps` of the trail."""

    snapshots: int
    observations: int
    steps: int
    time: float
    state: Mapping[str, AnyArray]

    @property
    def checksum(self) -> int:
        """Of everything in it."""
        total = zlib.crc32(repr((self.snapshots, self.observations, self.steps, self.time)).encode())
        for name in sorted(self.state):
            array = np.ascontiguousarray(self.state[name])
            total = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), total)
            total = zlib.crc32(array.reshape(-1).view(np.uint8).data, total)
        return total


def create_slots(group: Any, state: Mapping[str, AnyArray]) -> None:
    """Both slots, empty, with room for such a state."""
    for name in ("0", "1"):
        slot = group.create_group(name)
        for key, value in {"snapshot": -1, "observation": -1, "step": -1, "checksum": 0}.items():
            slot.attrs.create(key, value, dtype="int64")
        slot.attrs.create("time", 0.0)
        for key, array in state.items():
            _create(slot, key, np.asarray(array))


def _create(slot: Any, key: str, array: AnyArray) -> None:
    size = max(array.size, 1)
    dataset = slot.create_dataset(key, (size,), maxshape=(None,), chunks=(size,), dtype=array.dtype, track_times=False)
    dataset.attrs.create("shape", np.full(_MOST_AXES, -1), dtype="int64")


def write_slot(group: Any, name: str, checkpoint: Checkpoint) -> None:
    """Overwrite one slot; it counts once all of it is on the disk."""
    slot = group[name]
    for key in set(slot) - set(checkpoint.state):
        slot[key].attrs.modify("shape", np.full(_MOST_AXES, -1))
    for key, value in checkpoint.state.items():
        array = np.asarray(value)
        if key in slot and slot[key].dtype != array.dtype:
            del slot[key]
        if key not in slot:
            _create(slot, key, array)
        dataset = slot[key]
        if dataset.shape[0] < array.size:
            dataset.resize((array.size,))
        if array.size:
            dataset[: array.size] = array.ravel()
        dataset.attrs.modify("shape", np.array([array.ndim, *array.shape, *[-1] * (_MOST_AXES - 1 - array.ndim)]))
    slot.attrs.modify("snapshot", checkpoint.snapshots - 1)
    slot.attrs.modify("observation", checkpoint.observations - 1)
    slot.attrs.modify("step", checkpoint.steps - 1)
    slot.attrs.modify("time", checkpoint.time)
    slot.attrs.modify("checksum", checkpoint.checksum)


def read_slots(group: Any) -> dict[str, Checkpoint]:
    """The whole ones, by the name of their slot."""
    found = {}
    for name in ("0", "1"):
        try:
            checkpoint, checksum = _read(group[name])
        except DAMAGE:
            continue
        if checkpoint.snapshots > 0 and checkpoint.checksum == checksum:
            found[name] = checkpoint
    return found


def _read(slot: Any) -> tuple[Checkpoint, int]:
    state = {}
    for key, dataset in slot.items():
        axes, *shape = (int(number) for number in attribute(dataset, "shape"))
        if axes >= 0:
            size = int(np.prod(shape[:axes], dtype=int))
            state[key] = typed(dataset)[:size].reshape(shape[:axes])
    snapshots, observations, steps = (int(attribute(slot, name)) + 1 for name in ("snapshot", "observation", "step"))
    checkpoint = Checkpoint(snapshots, observations, steps, float(attribute(slot, "time")), state)
    return checkpoint, int(attribute(slot, "checksum"))


def copy_slots(source: Any, target: Any) -> None:
    """Carry both slots to another file."""
    whole = read_slots(source)
    create_slots(target, next(iter(whole.values())).state if whole else {})
    for name, checkpoint in whole.items():
        write_slot(target, name, checkpoint)
