"""`mfpde schema`."""

from __future__ import annotations

import click

from mfpde.cli.options import print_json

__all__ = ["schema"]


@click.command(short_help="Print the JSON Schema of problem files.")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors.

    In editors with the YAML language server, save it as mfpde.schema.json and start a problem file with
    "# yaml-language-server: $schema=mfpde.schema.json".
    """
    from mfpde.spec import problem_schema

    print_json(problem_schema())
