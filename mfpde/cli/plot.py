"""`mfpde plot`."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["plot"]

FIGURES, MOVIES = (".png", ".pdf", ".svg"), (".mp4", ".gif")


@click.command(short_help="Draw a run: a figure or a movie.")
@click.argument("file", metavar="RUN.h5")
@click.option(
    "-o", "--output", metavar="FIGURE", help="A .png, .pdf or .svg figure or a .mp4 or .gif movie; RUN.png by default."
)
def plot(file: str, output: str | None) -> None:
    """Draw a run: a figure, or a movie. An older plot of that name is overwritten."""
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder
    from mfpde.errors import MfpdeError
    from mfpde.store import load
    from mfpde.store.atomic_file import cannot_write

    result = None if output else load(file)  # a name that no file has is no name of a figure either
    target = output or str(Path(file).with_suffix(".png"))
    ending = Path(target).suffix.lower()
    if ending not in FIGURES + MOVIES:
        raise click.BadParameter(f"{target} must end in one of {', '.join(FIGURES + MOVIES)}", param_hint="'-o'")
    result = result or load(file)
    give_matplotlib_a_folder()
    try:
        with told_of_compiling():
            draw = result.plot if ending in FIGURES else result.animate
            draw(target)
    except MfpdeError:
        raise
    except OSError as error:
        raise cannot_write(target, error) from None
    click.echo(f"wrote {target}", err=True)
