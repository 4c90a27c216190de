"""The shipped examples and the snippets of the README run as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mfpde

EXAMPLES = sorted((Path(mfpde.__file__).parent / "examples").glob("*.yaml"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_shipped_example_runs_to_its_end(path):
    problem = mfpde.Problem.from_yaml(path)
    if problem.of_states:
        assert mfpde.bifurcate(problem).outcome.complete
    else:
        run = mfpde.solve(problem)
        assert run.outcome.complete or run.outcome.kind == path.stem, str(run.outcome)
        assert run.agreement is None or run.agreement.passed
    assert problem.title
    assert path.read_text(encoding="utf-8").startswith("# ")


def snippets(root, language):
    text = (root / "README.md").read_text(encoding="utf-8")
    return [code for found, code in FENCE.findall(text) if found == language]


def test_the_readme_runs(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yaml, python = snippets(root, "yaml"), snippets(root, "python")
    assert yaml
    assert python
    for index, text in enumerate(yaml):
        name = "kuramoto.yaml" if index == 0 else f"problem{index}.yaml"
        Path(name).write_text(text, encoding="utf-8")
        assert mfpde.solve(name).outcome.complete
    for code in python:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert mfpde.load("kuramoto.h5").outcome.complete


def test_the_problem_of_the_readme_is_the_shipped_one(root, tmp_path):
    (tmp_path / "readme.yaml").write_text(snippets(root, "yaml")[0], encoding="utf-8")
    shipped = mfpde.Problem.from_yaml(Path(mfpde.__file__).parent / "examples" / "noisy-kuramoto.yaml")
    assert mfpde.Problem.from_yaml(tmp_path / "readme.yaml") == shipped


def test_the_commands_of_the_readme_exist(root):
    from mfpde.cli import main

    text = (root / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"\bmfpde ([a-z]+)\b(?= |`)", "\n".join(code for _, code in FENCE.findall(text))))
    told = set(re.findall(r"^\| `mfpde ([a-z]+)", text, re.MULTILINE))
    assert used <= set(main.commands)
    assert told == set(main.commands)
