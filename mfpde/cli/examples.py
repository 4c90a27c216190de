"""`mfpde examples`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

__all__ = ["examples"]


@click.command(short_help="List, print or copy the shipped problem files.")
@click.argument("name", required=False)
@click.option("-o", "--output", metavar="FILE", help="Copy it there (a folder keeps its name).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def examples(name: str | None, output: str | None, force: bool) -> None:
    """List the shipped problem files; print one; or copy it with -o."""
    from mfpde.cli.tables import columns

    shipped = {path.stem: path for path in sorted(_folder().glob("*.yaml"))}
    if name is None:
        click.echo(columns([stem, _first_comment(path)] for stem, path in shipped.items()))
        return
    source = _find(name, shipped)
    if output is None:
        click.echo(source.read_text(encoding="utf-8"), nl=False)
        return
    target = os.path.join(output, source.name) if os.path.isdir(output) else output  # noqa: PTH112, PTH118
    _copy(source, target, force)
    base = _base(source)
    if base is not None:
        beside = Path(target).parent / base.name
        if not beside.exists():
            _copy(base, str(beside), force)


def _folder() -> Path:
    return Path(__file__).parent.parent / "examples"


def _find(name: str, shipped: dict[str, Path]) -> Path:
    from mfpde.errors import MfpdeError, nearest

    stem = name.removesuffix(".yaml")
    if stem not in shipped:
        raise MfpdeError(f"no example is called {name!r}{nearest(stem, shipped)}; there are: {', '.join(shipped)}")
    return shipped[stem]


def _first_comment(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip()


def _base(source: Path) -> Path | None:
    """The file an example builds on: a copy of it alone would be of no use."""
    match = re.search(r"^base: *(\S+)", source.read_text(encoding="utf-8"), re.MULTILINE)
    return source.parent / match[1] if match else None


def _copy(source: Path, target: str, force: bool) -> None:
    from mfpde.errors import OutputError
    from mfpde.store.atomic_file import replacing

    if os.path.lexists(target) and not force:
        raise OutputError(f"{target} exists; --force overwrites it")
    with replacing(target) as part:
        part.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    click.echo(f"wrote {target}", err=True)
