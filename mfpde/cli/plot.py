"""`mfpde plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

__all__ = ["plot"]

VIEWS = {".png": "figure", ".pdf": "figure", ".svg": "figure", ".mp4": "movie", ".gif": "movie"}


@click.command(short_help="Draw a run: a figure or a movie.")
@click.argument("file", metavar="RUN.h5")
@click.option(
    "-o", "--output", metavar="FIGURE", help="A .png, .pdf or .svg figure or a .mp4 or .gif movie; RUN.png by default."
)
def plot(file: str, output: str | None) -> None:
    """Draw a run: a figure, or a movie. An older plot of that name is overwritten."""
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder
    from mfpde.errors import MfpdeError, OutputError
    from mfpde.registry import lookup
    from mfpde.store import load

    run: Any = None if output else load(file)  # a name that no file has is no name of a figure either
    target = output or str(Path(file).with_suffix(".png"))
    view = VIEWS.get(Path(target).suffix.lower())
    if view is None:
        raise click.BadParameter(f"{target} must end in one of {', '.join(VIEWS)}", param_hint="'-o'")
    run = run or load(file)
    give_matplotlib_a_folder()
    try:
        with told_of_compiling():
            if view == "figure" and hasattr(run, "branches"):
                run.plot(target)
            else:
                lookup("view", view)(run, target)
    except MfpdeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
    click.echo(f"wrote {target}", err=True)
