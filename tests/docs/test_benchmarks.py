"""The scripts behind the tables of the docs have something to run."""

import subprocess
import sys


def test_problems_of_the_table_of_solvers(root):
    """They come from several scripts, which change apart."""
    code = "import which_solver; print(*(case.name for case in which_solver.cases()))"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=root / "benchmarks", capture_output=True, text=True, check=True
    ).stdout.split()
    table = (root / "docs" / "which_solver.md").read_text(encoding="utf-8")
    assert {"line-softmax-0.5", "plane-softmax-0.5", "l2"} < set(told)
    assert [name for name in told if "-" in name and not name.endswith(("0.5", "noise")) and name not in table] == []
