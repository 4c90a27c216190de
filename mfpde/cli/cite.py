"""`mfpde cite`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mfpde.problem import Problem

__all__ = ["bibliography", "citations", "cite"]

OWN = "mfpde"


@click.command(short_help="Print BibTeX of the papers behind a run.")
@click.argument("file", metavar="RUN.h5")
def cite(file: str) -> None:
    """Print BibTeX of the papers behind what this run (or problem file) used."""
    known = bibliography()
    keys = citations(*_problem(Path(file)))
    click.echo("\n\n".join(known[key] for key in keys))


def _problem(path: Path) -> tuple[Problem, dict[str, Any]]:
    """And the statistics of its run, if it is one."""
    if path.suffix in (".yaml", ".yml"):
        from mfpde.spec import read_yaml

        return read_yaml(path), {}
    from mfpde.store import load

    run: Any = load(path)
    return run.problem, dict(run.provenance.get("statistics", {}))


def citations(problem: Problem, statistics: Mapping[str, Any]) -> list[str]:
    """Keys of everything the problem uses, mfpde first, each once."""
    from mfpde.contracts.solver import Solver
    from mfpde.prepare import chosen_solver

    parts = [part for part in _parts(problem) if not isinstance(part, Solver)]
    found = [key for part in parts for key in getattr(type(part), "citations", ())]
    return list(dict.fromkeys([OWN, *found, *chosen_solver(problem).sources(problem.equation, statistics)]))


def _parts(specification: Any) -> Iterator[Any]:
    """The specification and every one inside it."""
    from mfpde.specification import Specification

    if isinstance(specification, Specification):
        yield specification
        for part in specification.written().values():
            yield from _parts(part)
    elif isinstance(specification, tuple):
        for item in specification:
            yield from _parts(item)


def bibliography() -> dict[str, str]:
    """The entries of references.bib by key."""
    text = (Path(__file__).parent.parent / "references.bib").read_text(encoding="utf-8")
    entries = re.finditer(r"^@\w+\{(?P<key>[^,]+),.*?^\}", text, re.MULTILINE | re.DOTALL)
    return {entry["key"]: entry[0] for entry in entries}
