"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["as_json", "print_json", "problem_settings", "target_beside"]

Command = TypeVar("Command", bound=Callable[..., Any])


def _pairs(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for item in given:
        key, sign, value = item.partition("=")
        if not sign or not key.strip():
            raise click.BadParameter(f"{item!r} is not KEY=VALUE; noise.kappa=2 is")
        pairs[key.strip()] = value
    return pairs


def problem_settings(command: Command) -> Command:
    """`--set noise.kappa=2`, as often as one likes."""
    words = "Change one value of the problem, e.g. noise.kappa=2 or observe=[mass]. May be repeated."
    return click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, callback=_pairs, help=words)(command)


def target_beside(file: str, output: str | None) -> str:
    """Where a result goes: by default its problem file's name with .h5, here; never over that file itself."""
    target = output or f"{Path(file).stem}.h5"
    if os.path.realpath(target) == os.path.realpath(file):
        from mfpde.errors import OutputError

        raise OutputError(f"{target} is the problem file itself; choose another output")
    return target


def as_json(command: Command) -> Command:
    """`--json`, for machines."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(data: Any) -> None:
    """JSON on stdout; numbers that JSON does not have are null."""
    import json
    import math

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if hasattr(value, "tolist"):
            return plain(value.tolist())
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value if isinstance(value, str | int | float | bool | None) else str(value)

    click.echo(json.dumps(plain(data), indent=2))
