"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect

import click

from generate.tables import table
from mfpde.cli import main

__all__ = ["commands"]


def commands() -> str:
    """A section for each command: usage, what it does, its options."""
    return "\n\n".join(_section(name, command) for name, command in main.commands.items())


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"mfpde {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    words = inspect.cleandoc(command.help or "")
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [[f"`{record[0]}`", record[1]] for record in records if record is not None and record[1]]
    parts = [f"(command-{name})=\n## mfpde {name}", f"```console\n{usage}\n```", words]
    return "\n\n".join([*parts, table(["option", "meaning"], rows)] if rows else parts)
