"""`mfpde list`."""

from __future__ import annotations

import re
from typing import Any

import click

from mfpde.cli.options import as_json, print_json

__all__ = ["first_sentence", "listing"]

FAMILIES = (
    *("attention", "drift", "geometry", "initial", "solver", "stepper"),
    *("observable", "comparison", "distance", "case"),
)


@click.command("list", short_help="Name what there is: kinds of attention, solvers, ...")
@click.argument("family", type=click.Choice(FAMILIES), required=False, metavar="[FAMILY]")
@as_json
def listing(family: str | None, as_json: bool) -> None:
    """Name what there is of a FAMILY and its keys in problem files: attention, drift, geometry, initial, solver,
    stepper, observable, comparison, distance or case. Without one, name what there is of every family."""
    from mfpde.cli.tables import columns
    from mfpde.registry import members

    wanted = [family] if family else list(FAMILIES)
    found = {name: {part: _described(thing) for part, thing in members(name).items()} for name in wanted}
    if as_json:
        print_json({name: [{"name": part, **about} for part, about in parts.items()] for name, parts in found.items()})
        return
    for name, parts in found.items():
        if family is None:
            click.echo(f"{name}:")
        rows = [_row(part, about, keys=family is not None) for part, about in parts.items()] or [["(none yet)", ""]]
        click.echo(columns(rows, indent="" if family else "  "))


def _row(part: str, about: dict[str, Any], *, keys: bool) -> list[str]:
    """What it is, and which keys it has."""
    named = f"keys: {', '.join(about['keys'])}" if about["keys"] else ""
    return [part, about["summary"], *([named] if keys else [])]


def _described(part: Any) -> dict[str, Any]:
    keys = [key for key in getattr(part, "model_fields", {}) if key != "kind"]
    return {"summary": first_sentence(part.__doc__ or ""), "keys": keys}


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring, on one line.

    >>> first_sentence("Total mass. It is 1.")
    'Total mass'
    """
    paragraph = re.sub(r"\s+", " ", docstring.strip().split("\n\n", maxsplit=1)[0])
    return re.split(r"(?<![.\s])\.(?:\s|$)", paragraph, maxsplit=1)[0].strip()
