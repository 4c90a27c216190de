"""Nobody asks geometries, measures and laws what they are: they answer. A new one is then as good as the others."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mfpde.contracts.solver import SHOWN
from mfpde.registry import members

ROOT = Path(__file__).resolve().parents[2]
HOMES = ("mfpde/geometry", "mfpde/measure", "mfpde/attention")
#: checks that remain, with the reason of each
ALLOWED = {
    ("mfpde/measure/base.py", "Queries"): "the public edge takes arrays as well",
    ("mfpde/measure/initial/density.py", "Circle"): "an initial measure knows the spaces that it makes sense on",
    ("mfpde/measure/initial/mixture.py", "Circle"): "as above; sums of series are a series",
    ("mfpde/measure/initial/uniform.py", "Circle"): "as above",
    ("mfpde/measure/initial/uniform.py", "Sphere"): "as above",
    ("mfpde/measure/initial/von_mises.py", "Circle"): "as above",
    ("mfpde/measure/initial/von_mises.py", "Sphere"): "as above",
    ("solvers/gaussian/__init__.py", "Gaussian"): "asks the moments that were written down, before any measure is made",
    ("solvers/gaussian/integration.py", "Normal"): "refuses whatever is no normal law, and takes its factor",
}


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def nouns() -> dict[str, str]:
    """Classes by name, with the package that they live in."""
    trees = ((home, tree) for home in HOMES for _, tree in parsed(home))
    return {node.name: home for home, tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def checks(tree: ast.Module) -> Iterator[str]:
    """Names of the classes in `isinstance(.., classes)` and `type(..) is cls`."""
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and getattr(getattr(node.left, "func", None), "id", "") == "type":
            asked = node.comparators
        for part in asked:
            yield from (getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(part))


def test_measures_answer_and_nobody_asks_what_they_are():
    homes, found = nouns(), Counter()
    for folder in ("mfpde", "solvers", "validation"):
        for file, tree in parsed(folder):
            if not file.startswith(("mfpde/solvers/", "mfpde/validation/")):  # links to the folders
                found.update(
                    (file, name) for name in checks(tree) if name in homes and not file.startswith(homes[name])
                )
    assert set(found) - set(ALLOWED) == set()
    assert sum(found.values()) < 30


def test_what_a_state_is_has_one_vocabulary():
    shown = set(SHOWN)
    assert {solver.shows for solver in members("solver").values()} <= shown
    assert {form.shows for form in members("form").values()} == shown
    assert {word for observable in members("observable").values() for word in observable.looks_at} <= shown
    assert {form for portrait in members("portrait").values() for form in portrait.forms} == set(members("form"))
