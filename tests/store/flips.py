"""Single bits flipped in a file: what comes out of it is what was written, or an error says what is damaged.

As a program: `flips.py KIND [FLIPS] [SEED]` flips bits in copies of a run's file of one of the `KINDS`.
"""

import logging
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store import drifting, heat
from store.processes import assert_same

import mfpde
from mfpde import run_loop
from mfpde.errors import MfpdeError, ResumeError
from mfpde.store import writer

GOOD = frozenset({"loaded: same", "loaded: told", "resumed: went on", "resumed: refused"})
_LONGEST = 60  # seconds that anybody may look at a file
_WAITING = 4  # rows to a commit


def everything(run: mfpde.Run) -> dict[str, Any]:
    """All that a run gives, as values that can be compared."""
    found: dict[str, Any] = {"problem": run.problem.canonical(), "outcome": repr(run.outcome)}
    found |= {"provenance": repr(run.provenance), "form": run.layout.form, "axes": run.layout.axes}
    arrays = {"times": run.times, "series_times": run.series_times, **run.stored, **run.trail}
    arrays |= {f"series {name}": run.series[name] for name in run.series}
    for axis in run.layout.axes:
        found[f"axis {axis.name}"] = repr((axis.units, axis.long_name, axis.growth))
        arrays |= {f"{axis.name} values": axis.values, f"{axis.name} bounds": axis.bounds}
    for name, constant in run.layout.constants.items():
        found[f"field {name}"] = repr(constant.field)
        arrays[f"constant {name}"] = constant.values
    for name, values in arrays.items():
        array = np.asarray(values)
        found[name] = (array.dtype.str, array.shape, array.tobytes())
    return found


def flipped(whole: bytes, place: Path, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Copies of a file with one other bit each: which byte, which bit."""
    dice = np.random.default_rng(seed)
    for _ in range(count):
        data, byte, bit = bytearray(whole), int(dice.integers(len(whole))), int(dice.integers(8))
        data[byte] ^= 1 << bit
        place.write_bytes(data)
        yield byte, bit


@dataclass(frozen=True)
class Kind:
    """`solve(output, resume=...)`; `first` makes a file of the beginning of that run, to be resumed."""

    solve: Callable[..., mfpde.Run]
    first: Callable[[Path], object]


@contextmanager
def timeless() -> Iterator[None]:
    """Files in which no byte depends on the clock or on who asks."""
    made = {"versions": {"mfpde": "0"}, "platform": "any", "cpu": "any", "seed": 0, "command": "flips"}
    with pytest.MonkeyPatch.context() as patch:
        for module in (run_loop, writer):
            patch.setattr(module, "perf_counter", lambda: 0.0)
        patch.setattr(run_loop, "history_line", lambda: "2026-01-01T00:00:00Z flips")
        patch.setattr(run_loop, "provenance_of", lambda *_: {**made, "timings": {"seconds": 0.0}, "statistics": {}})
        patch.setattr(writer.FileRecorder, "_due", lambda recorder: len(recorder.rows) > _WAITING)
        yield


def _killed(solve: Callable[..., mfpde.Run], rows: int, output: Path) -> None:
    """A run that is killed when it wants to keep another row."""
    left, add = iter(range(rows)), writer.FileRecorder.add

    def last(recorder: writer.FileRecorder, *row: Any) -> None:
        if next(left, None) is None:
            raise SystemError
        add(recorder, *row)

    with pytest.MonkeyPatch.context() as patch, suppress(SystemError):
        patch.setattr(writer.FileRecorder, "add", last)
        solve(output)


def _real(**blocks: Any) -> Kind:
    """Of a solver of mfpde's."""
    solve = partial(mfpde.solve, mfpde.Problem.from_dict(blocks))
    return Kind(solve, partial(_killed, solve, 13))


def _stand_in(form: str) -> Kind:
    task = drifting.problem(observe=["mean"], observe_every=0.07)
    return Kind(
        lambda output=None, **options: drifting.solve(task, output, drifting.Drift(form), **options),
        lambda output: drifting.solve(task, output, drifting.Drift(form, lost=0.55)),
    )


_HEAT = heat.problem()
KINDS = {
    "heat": Kind(
        lambda output=None, **options: heat.solve(_HEAT, output, **options),
        lambda output: heat.solve(_HEAT, output, heat.Heat(lost=1.05)),
    ),
    **{form: _stand_in(form) for form in drifting.FORMS},
    "spectral": _real(
        geometry={"kind": "circle"},
        attention={"kind": "softmax", "beta": 2},
        noise={"kappa": 10},
        initial={"kind": "density", "expression": "1 + 0.5*cos(theta)"},
        time={"until": 1, "save_every": 0.05},
        observe=["mass"],
        solver={"kind": "spectral"},
    ),
    "finite-volume": _real(
        geometry={"kind": "line"},
        attention={"kind": "softmax", "A": 1, "V": -1},
        initial={"kind": "gaussian", "mean": 0.5, "covariance": 1.0},
        time={"until": 0.4, "save_every": 0.02, "observe_every": 0.03},
        observe=["mean"],
        solver={"kind": "finite-volume", "cells": 32, "tolerance": 1e-4},
    ),
}


def _loaded(place: Path, expected: dict[str, Any]) -> str:
    try:
        return "same" if everything(mfpde.load(place)) == expected else "silent"
    except MfpdeError as error:
        return "told" if "\n" not in str(error) else f"told in several lines: {error}"


def _resumed(place: Path, kind: Kind, whole: mfpde.Run) -> str:
    try:
        run = kind.solve(place, resume=True)
        assert_same(run, whole)
        assert_same(mfpde.load(place), whole)
    except ResumeError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"
    return "went on"


def _told_of(looks: Iterable[Callable[[], str]]) -> list[str]:
    """What comes of looking at a file in a process of its own: words for each look, or how that process ended."""
    out, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            logging.disable()
            for look in looks:
                signal.alarm(_LONGEST)
                os.write(told, _words_of(look).encode()[:3000] + b"\n")
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(out) as words:
        said = words.read().splitlines()
    status = os.waitpid(child, 0)[1]
    return said if status == 0 else [*said, f"signal {os.WTERMSIG(status)}"]


def _words_of(look: Callable[[], str]) -> str:
    try:
        return " ".join(look().split())
    except BaseException as error:  # noqa: BLE001  whatever it is, it is told
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def campaign(kind: Kind, path: Path, count: int, seed: int, *, resume: bool = True) -> Counter[str]:
    """How often loading (and resuming) flipped copies of the file, which `kind.first` made, went well, and each time
    that it did not."""
    place, found = path.with_name("flipped.h5"), Counter()
    with timeless():
        whole, expected = kind.solve(), everything(mfpde.load(path))
        for byte, bit in flipped(path.read_bytes(), place, count, seed):
            looks = {"loaded": partial(_loaded, place, expected), "resumed": partial(_resumed, place, kind, whole)}
            asked = looks if resume else {"loaded": looks["loaded"]}
            for name, said in zip(asked, _told_of(asked.values()), strict=False):
                words = f"{name}: {said}"
                found[words if words in GOOD else f"bit {bit} of byte {byte}: {words}"] += 1
    return found


def bad(found: Counter[str]) -> list[str]:
    """What should not have happened."""
    return [words for words in found if words not in GOOD]


if __name__ == "__main__":
    kind = KINDS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as spot:
        with timeless():
            kind.first(Path(spot) / "run.h5")
        options = [int(word) for word in sys.argv[2:]]
        print(sys.argv[1], dict(campaign(kind, Path(spot) / "run.h5", *options, *(1000, 0)[len(options) :])), sep="\n")
