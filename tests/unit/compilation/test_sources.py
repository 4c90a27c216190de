"""What kept code depends on: every import is followed, nothing else is, and what has changed gets another name."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mfpde.compilation.sources import imported_names, sources

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted(path for folder in ("mfpde", "solvers", "validation") for path in (ROOT / folder).rglob("*.py"))
KERNELS = "mfpde.solvers.kernels.circle"
DIGEST = f"from mfpde.compilation.sources import source_digest; print(source_digest({KERNELS!r}))"


def read_by_ast(source: str, module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: -node.level] if node.level else []
            origin = ".".join([*parents, *filter(None, [node.module])])
            yield from (origin, *(f"{origin}.{alias.name}" for alias in node.names))


def test_every_import_of_the_package_is_seen():
    assert len(MODULES) > 300
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        assert set(read_by_ast(source, "mfpde.x")) <= imported_names(source, "mfpde.x", is_package=False), path


@pytest.mark.parametrize(
    "source",
    [
        "import a.b as c, d",
        "def f():\n    from a.b import (\n        c as d,  # why, and what\n        e,\n    )",
        "if x: from a import b",
        "x = 1; import a",
        "from . import b",
        "from .a import b",
        "from .. import b, c",
        "from a import \\\n    b, c",
    ],
)
def test_each_form_of_an_import_is_seen(source):
    module = "mfpde.one.two"
    assert set(read_by_ast(source, module)) <= imported_names(source, module, is_package=False)


def test_imports_are_followed_also_those_for_types_only():
    found = sources(KERNELS)
    assert {"mfpde.solvers.kernels.circle_work", "mfpde.solvers.steppers.gif853", "mfpde.compilation"} <= found.keys()
    assert not {name for name in found if name.startswith(("mfpde.plotting", "mfpde.store", "numpy"))}


@pytest.fixture
def copy(tmp_path) -> Path:
    """The package without a version control, as an installation has it: keys must not depend on a checkout."""
    package = shutil.copytree(ROOT / "mfpde", tmp_path / "mfpde", ignore=shutil.ignore_patterns("__pycache__"))
    assert not package.joinpath("solvers").is_symlink()
    return package


def digest(copy: Path) -> str:
    surroundings = {**os.environ, "PYTHONPATH": str(copy.parent)}
    done = subprocess.run(
        [sys.executable, "-c", DIGEST], cwd=copy.parent, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip()) == 64, "a hash"
    return done.stdout


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_the_key_follows_what_the_code_depends_on_and_nothing_else(copy):
    seen = [digest(copy)]
    replace(copy / "plotting" / "__init__.py", '"""', '"""Another sentence. ')
    assert digest(copy) == seen[0], "compiled again although nothing changed that it depends on"
    for file, old, new in [
        (
            "solvers/kernels/circle_work.py",
            "    density: Float\n    speed: Float\n",
            "    speed: Float\n    density: Float\n",
        ),
        ("solvers/steppers/gif853.py", "LARGEST_DECAY = ", "LARGEST_DECAY = 1 + "),
        ("solvers/kernels/zonal_slope.py", "count > 2", "count > 3"),
        ("compilation/__init__.py", '"error_model": "numpy"', '"error_model": "python"'),
    ]:
        replace(copy / file, old, new)
        seen.append(digest(copy))
    assert len(set(seen)) == len(seen), "code of before is taken for code of now"
