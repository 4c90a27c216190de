"""Single bits flipped in a file: what comes out of it is what was written, or an error says what is damaged.

As a program: `flips.py RUN.h5 [FLIPS] [SEED]` flips bits in copies of any run's file.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mfpde


def everything(run: mfpde.Run) -> dict[str, Any]:
    """All that a run gives, as values that can be compared."""
    found: dict[str, Any] = {"problem": run.problem.canonical(), "outcome": repr(run.outcome)}
    found |= {"provenance": repr(run.provenance), "form": run.layout.form, "axes": run.layout.axes}
    arrays = {"times": run.times, "series_times": run.series_times, **run.stored, **run.trail}
    arrays |= {f"series {name}": run.series[name] for name in run.series}
    for axis in run.layout.axes:
        found[f"axis {axis.name}"] = repr((axis.units, axis.long_name, axis.period))
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


def outcomes(path: Path, folder: Path, count: int, seed: int) -> Counter[str]:
    """How many flips changed nothing, were told, or were silent, which none may be."""
    expected = everything(mfpde.load(path))
    found: Counter[str] = Counter()
    place = folder / "flipped.h5"
    for byte, bit in flipped(path.read_bytes(), place, count, seed):
        try:
            same = everything(mfpde.load(place)) == expected
        except mfpde.MfpdeError as error:
            found["told" if "\n" not in str(error) else f"told in several lines: {error}"] += 1
        else:
            found["same" if same else f"silent: bit {bit} of byte {byte}"] += 1
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        options = [int(word) for word in sys.argv[2:]]
        print(sys.argv[1], dict(outcomes(Path(sys.argv[1]), Path(place), *options, *(2000, 0)[len(options) :])))
