"""Messages about compilation, once for each command: its duration, and an unusual cache folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["kept_elsewhere", "told_of_compiling"]


@contextmanager
def told_of_compiling(quiet: bool = False) -> Iterator[None]:
    """While this lasts, one line on stderr says what compiled code means for the user, when it is first needed."""
    if quiet:
        yield
        return
    from mfpde.compilation import watched

    told = False

    def tell(compiling: bool) -> None:
        nonlocal told
        line = None if told else _line(compiling)
        if line is not None:
            told = True
            click.echo(line, err=True)

    with watched(tell):
        yield


def _line(compiling: bool) -> str | None:
    elsewhere = kept_elsewhere()
    if compiling:
        return "compiling, once for this version (about ten seconds)" + (f"; {elsewhere}" if elsewhere else "")
    return elsewhere


def kept_elsewhere() -> str | None:
    """Where compiled code is kept when that is not the usual place, and why; None when it is."""
    from mfpde.compilation import kept

    place = kept()
    if place.refused is None:
        return None
    why = place.refused if place.usual is None else f"{place.usual} cannot be written ({place.refused})"
    if place.written is None:
        return f"compiled code is not kept: {why}, and there is no temporary folder; set NUMBA_CACHE_DIR"
    return f"compiled code is kept in {place.written} for the time being: {why}"
