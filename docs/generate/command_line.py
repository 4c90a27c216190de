"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect

import click

from generate.tables import table
from mfpde.cli import main

__all__ = ["commands"]


def commands() -> str:
    """A section for each command: usage, what it does, its arguments and options."""
    return "\n\n".join(_section(name, command) for name, command in main.commands.items())


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"mfpde {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    words = inspect.cleandoc(command.help or "")
    options = [_option(parameter, context) for parameter in command.get_params(context)]
    rows = [option for option in options if option is not None]
    return f"(command-{name})=\n## mfpde {name}\n\n```console\n{usage}\n```\n\n{words}\n\n{table(['option', ''], rows)}"


def _option(parameter: click.Parameter, context: click.Context) -> list[str] | None:
    record = parameter.get_help_record(context)
    if record is None:
        return None
    written, words = record
    return [f"`{written}`", words]
