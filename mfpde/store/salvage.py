"""What is left of a run whose file is damaged: everything before the first row that is not what was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mfpde.run import Run
from mfpde.store.checksums import BLOCK_BYTES, DamageError, read_rows
from mfpde.store.opening import DAMAGE, opened
from mfpde.store.reader import Contents, check_kind
from mfpde.typing import Float

__all__ = ["salvaged"]


def salvaged(path: Path) -> tuple[Run, str]:
    """The run before its first damaged row, and what is damaged: then it has no outcome. Every row is looked at.

    What is written once has to be whole: the problem, the axes, the constants.
    """
    with opened(path) as file:
        check_kind(path, file)
        contents = Contents(path, file)
        if contents.columns is None:
            contents.read_end()
            contents.read_times()
            return contents.run(), ""
        found: list[str] = []
        _read_times(contents, found)
        _cut(contents, {name: _good(contents, name, *about, found) for name, about in contents.growing().items()})
        try:
            contents.read_end()
        except (DamageError, *DAMAGE) as error:
            found.append(_said(path, error, "its outcome"))
        if found:
            contents.forget_outcome()
        return contents.run(), "; ".join(dict.fromkeys(found))


def _read_times(contents: Contents, found: list[str]) -> None:
    try:
        contents.read_times()
    except (DamageError, *DAMAGE) as error:
        found.append(_said(contents.path, error, "its times"))
        contents.times = contents.series_times = _good_scale(contents, "time")
        if contents.own_times:
            contents.series_times = _good_scale(contents, "observe_time")
        if contents.layout.trail:
            contents.steps = _good_scale(contents, "step")


def _good_scale(contents: Contents, name: str) -> Float:
    try:
        return contents.scale(name)
    except DamageError as error:
        return contents.scale(name, most=error.row)
    except DAMAGE:
        return np.zeros(0)


def _good(contents: Contents, name: str, rows: int, shape: tuple[int, ...], times: Float, found: list[str]) -> int:
    """How many rows come before the first one that is damaged or cannot be read."""
    first = 0
    step = max(1, BLOCK_BYTES // max(1, 8 * int(np.prod(shape, dtype=int))))
    while first < rows:
        values = np.empty((min(step, rows - first), *shape))
        try:
            read_rows(contents.file[name], values, first)
            contents.check(name, values, first, times)
            first += len(values)
        except DamageError as error:
            found.append(str(error))
            return error.row
        except DAMAGE:
            if len(values) == 1:
                found.append(f"{contents.path} is damaged: {name} at row {first} cannot be read")
                return first
            step = 1
    return first


def _cut(contents: Contents, good: dict[str, int]) -> None:
    """Leave out what comes after the first damaged row of any dataset over the same axis."""
    layout = contents.layout
    snapshots = min(good[name] for name in layout.fields)
    observations = min((good[name] for name in good if name not in {*layout.fields, *layout.trail}), default=None)
    if observations is not None:
        contents.series_times = contents.series_times[:observations]
        if not contents.own_times:
            snapshots = min(snapshots, observations)
    contents.times = contents.times[:snapshots]
    if not contents.own_times:
        contents.series_times = contents.times
    contents.steps = contents.steps[: min((good[name] for name in layout.trail), default=0)]


def _said(path: Path, error: BaseException, what: str) -> str:
    return str(error) if isinstance(error, DamageError) else f"{path} is damaged: {what} cannot be read"
