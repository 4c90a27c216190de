"""The same problem has the same bits in a process that compiles, in one that loads compiled code, and when a run begins
in the one and is resumed in the other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EVERYWHERE = Path(__file__).with_name("everywhere.py")
ROOT = Path(__file__).resolve().parents[2]


#: short to compile
SOME = ("characteristics circle",)


def solve_everywhere(cache: Path, folder: Path, *words: str) -> dict[str, str]:
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, EVERYWHERE, folder, *words], env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "kernels"), [(SOME, 3), pytest.param((), 21, id="every solver", marks=pytest.mark.long)]
)
def test_a_process_that_compiles_has_the_bits_of_one_that_does_not(names, kernels, tmp_path):
    cache = tmp_path / "cache"
    first = solve_everywhere(cache, tmp_path, "first", *names)
    compiled = set(cache.rglob("*.nbc"))
    again = solve_everywhere(cache, tmp_path, "again", *names)
    assert len(compiled) >= kernels, "the first process was to compile"
    since = {file.name.partition("-")[0] for file in set(cache.rglob("*.nbc")) - compiled}
    assert since == {"fast_fourier.copy_rows"}, "the second was to compile what is called by hand, and nothing else"
    expected = {**first, **{f"{name}, resumed": bits for name, bits in first.items()}}
    assert {name for name in expected if again[name] != expected[name]} == set()
