"""`mfpde cite`."""

from __future__ import annotations

from pathlib import Path

import click

from mfpde.bibliography import bibliography

__all__ = ["cite"]


@click.command(short_help="Print BibTeX of the papers behind a run.")
@click.argument("file", metavar="RUN.h5")
def cite(file: str) -> None:
    """Print BibTeX of the papers behind what this run (or problem file) used."""
    known = bibliography()
    click.echo("\n\n".join(known[key] for key in _keys(Path(file))))


def _keys(path: Path) -> list[str]:
    if path.suffix in (".yaml", ".yml"):
        from mfpde.prepare import citations_of
        from mfpde.spec import read_yaml

        return citations_of(read_yaml(path), {})
    from mfpde.store import load

    return load(path).citations()
