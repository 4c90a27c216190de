"""`mfpde report`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

__all__ = ["report"]

_PAGES = (".html", ".htm")
_NUMBERS, _PAGE = "report.json", "index.html"  # what `validate --report` writes


@click.command(short_help="Make one page of a result, with a slider through time.")
@click.argument("file", metavar="RESULT")
@click.option("-o", "--output", metavar="REPORT.html", help="A .html file; RESULT's name with .html by default.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def report(file: str, output: str | None, force: bool) -> None:
    """Make one page of a run, a diagram or a sweep that needs no other file and no network: what `info` tells, the
    figure, a slider through the snapshots of a run, the problem, the references. Of a validation (the folder of
    `validate --report`, or its report.json) it is a copy of the page that is there."""
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder
    from mfpde.errors import OutputError
    from mfpde.store.atomic_file import replacing

    if output is not None and Path(output).suffix.lower() not in _PAGES:
        raise click.BadParameter(f"{output} must end in one of {', '.join(_PAGES)}", param_hint="'-o'")
    source = os.path.join(file, _NUMBERS) if os.path.isdir(file) else file  # noqa: PTH112, PTH118  any name
    make = _copied(Path(source)) if Path(source).name == _NUMBERS else _drawn(source)
    target = output or str(Path(source).with_suffix(".html"))
    if os.path.lexists(target) and not force:
        raise OutputError(f"{target} exists; --force overwrites it")
    give_matplotlib_a_folder()
    with replacing(target) as part, told_of_compiling():
        part.write_bytes(make())
    click.echo(f"wrote {target}", err=True)


def _drawn(file: str) -> Callable[[], bytes]:
    """Of a result: what is no result is said at once."""
    from mfpde.cli.summary import facts
    from mfpde.reporting import page
    from mfpde.store import load

    result = load(file)
    return lambda: page(result, facts(file, result)).encode(errors="backslashreplace")


def _copied(numbers: Path) -> Callable[[], bytes]:
    """Of a validation: the page beside its numbers holds everything already."""
    from mfpde.errors import MfpdeError
    from mfpde.store.atomic_file import reason

    try:
        numbers.stat()
        content = numbers.with_name(_PAGE).read_bytes()
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        told = f"a folder that `validate --report` wrote has {_NUMBERS} and {_PAGE}; {numbers.parent} has not"
        raise MfpdeError(f"{told}: {why}") from None
    return lambda: content
