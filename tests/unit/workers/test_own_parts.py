"""Parts that a user's script registers, and the processes that have to know them."""

import importlib
import subprocess
import sys

import pytest

from mfpde import registry
from mfpde.workers import InProcess, Pool, Task, own_parts, workers_for

MODULE = '''
from mfpde.attention import Softmax
from mfpde.registry import register
from typing import Literal

@register("attention", "of-mine")
class OfMine(Softmax):
    """Softmax under another name."""
    kind: Literal["of-mine"] = "of-mine"

def known(name):
    from mfpde.registry import lookup
    return lookup("attention", name).__name__
'''


@pytest.fixture
def of_mine(tmp_path, monkeypatch):
    """A module with an attention of its own."""
    (tmp_path / "parts_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    registry.members("attention")
    yield importlib.import_module("parts_of_mine")
    del sys.modules["parts_of_mine"], registry._members["attention"]["of-mine"]


def test_workers_import_the_modules_of_parts(of_mine, monkeypatch):
    others = [name for name in registry.own_modules() if name != "parts_of_mine"]  # of tests before this one
    assert registry.own_modules() == sorted([*others, "parts_of_mine"])
    monkeypatch.setattr(own_parts, "own_modules", lambda: ["parts_of_mine"])
    with workers_for(1) as workers:
        assert isinstance(workers, Pool)
        assert workers.notes == ()
        (answer,) = workers.answers([Task("mfpde.registry:lookup", ("attention", "softmax"))])
        assert answer.value.__name__ == "Softmax"
        (answer,) = workers.answers([Task("parts_of_mine:known", ("of-mine",))])
    assert (answer.value, answer.error) == ("OfMine", "")
    with Pool(1) as workers:  # without its module a worker has not heard of it
        (answer,) = workers.answers([Task("mfpde.registry:lookup", ("attention", "of-mine"))])
    assert "no attention is called 'of-mine'" in answer.error


def test_parts_of_the_script_itself_keep_tasks_in_this_process(of_mine, monkeypatch):
    monkeypatch.setattr(of_mine.OfMine, "__module__", "__main__")
    with workers_for(2) as workers:
        assert isinstance(workers, InProcess)
        found = workers.answers([Task("mfpde.registry:lookup", ("attention", name)) for name in ("of-mine", "nothing")])
        errors = [answer.error[:30] for answer in found]
    assert errors == ["", "no attention is called 'nothin"]
    assert "parts registered in __main__ are known to this process alone" in workers.notes[0]


def test_a_module_that_cannot_be_imported_again_is_told_of(of_mine, tmp_path):
    (tmp_path / "parts_of_mine.py").write_text("raise RuntimeError('once only')")
    importlib.invalidate_caches()
    with workers_for(1) as workers:
        (answer,) = workers.answers([Task("math:sqrt", (4.0,))])
    assert answer.error == "workers cannot import parts_of_mine: RuntimeError: once only"


SCRIPT = """
import mfpde
problem = mfpde.Problem.from_dict({
    "geometry": {"kind": "line"},
    "attention": {"kind": "of-mine", "A": 0.5, "V": -1.0},
    "initial": {"kind": "uniform", "box": [[-1, 1]]},
    "time": {"until": 0.1},
})
if __name__ == "__main__":
    report = mfpde.validate(problem, quick=True, counts=[10, 20, 40], repeats=4)
    print([check.claim for check in report.failed], *report.notes, sep="\\n")
"""


@pytest.mark.long  # five seconds; a sweep below has the same workers
@pytest.mark.parametrize(
    ("script", "in_this_process"),
    [("import parts_of_mine" + SCRIPT, False), (MODULE + SCRIPT, True)],
    ids=["module", "script"],
)
def test_the_limit_of_a_problem_with_parts_of_its_own(script, in_this_process, tmp_path):
    (tmp_path / "parts_of_mine.py").write_text(MODULE)
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[]\n")
    assert ("known to this process alone" in done.stdout) is in_this_process


SWEPT = """
import mfpde
problem = mfpde.Problem.from_dict({
    "geometry": {"kind": "line"},
    "attention": {"kind": "of-mine", "A": 0.5, "V": -1.0},
    "initial": {"kind": "uniform", "box": [[-1, 1]]},
    "solver": {"kind": "particles", "count": 10},
    "time": {"until": 0.1},
    "sweep": {"attention.V": [-1.0, -0.5]},
    "collect": ["mean"],
})
if __name__ == "__main__":
    found = mfpde.sweep(problem, workers=1)
    print(found["outcome"].tolist(), found["message"].tolist())
"""


@pytest.mark.parametrize(
    ("script", "in_this_process"),
    [("import parts_of_mine" + SWEPT, False), (MODULE + SWEPT, True)],
    ids=["module", "script"],
)
@pytest.mark.slow
def test_a_sweep_over_parts_of_its_own(script, in_this_process, tmp_path):
    (tmp_path / "parts_of_mine.py").write_text(MODULE)
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "['finished', 'finished'] ['', '']\n", done.stderr
    assert ("known to this process alone" in done.stderr) is in_this_process
