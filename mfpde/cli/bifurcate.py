"""`mfpde bifurcate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mfpde.cli.exit_codes import ENDED_EARLY, INTERRUPTED
from mfpde.cli.options import as_json, print_json, problem_settings, target_beside

if TYPE_CHECKING:
    from mfpde.bifurcation.diagram import Diagram

__all__ = ["bifurcate"]


@click.command(short_help="Follow branches of stationary states, write the diagram as HDF5.")
@click.argument("file", metavar="FILE.yaml")
@click.option("-o", "--output", metavar="BRANCHES.h5", help="Where to write; FILE's name with .h5, here, by default.")
@click.option("--plot", metavar="DIAGRAM.png", help="Draw the diagram as well (.png, .pdf or .svg).")
@problem_settings
@click.option("--certify", is_flag=True, help="Prove states and special points.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted search.")
@click.option("--force", is_flag=True, help="Overwrite an existing output file.")
@click.option("--quiet", is_flag=True, help="No progress and no summary, only errors.")
@as_json
def bifurcate(
    file: str,
    output: str | None,
    plot: str | None,
    settings: dict[str, str],
    certify: bool,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Follow the branches of stationary states of FILE.yaml (its block `bifurcation`) and write them as HDF5.

    Ctrl-C ends the search: the file holds the branches that were found, and --resume continues it.
    """
    from mfpde.bifurcation.bifurcating import bifurcate as bifurcate_problem
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.progress import display
    from mfpde.errors import ProblemError
    from mfpde.spec import read_document

    if certify:
        raise ProblemError.at("--certify", "there are no proofs yet")
    document = read_document(file, settings)
    target = target_beside(file, output)
    try:
        with told_of_compiling(quiet), display(quiet) as progress:
            diagram = bifurcate_problem(document.problem, target, progress=progress, resume=resume, force=force)
    except ProblemError as error:
        raise ProblemError(document.locate(fault) for fault in error.faults) from None
    if plot is not None:
        _draw(diagram, plot)
    if as_json:
        print_json(diagram.to_dict())
    elif not quiet:
        click.echo(_summary(diagram))
        click.echo(f"wrote {target}", err=True)
    elif not diagram.outcome.complete:
        click.echo(str(diagram.outcome), err=True)
    if diagram.outcome.complete:
        return 0
    return INTERRUPTED if diagram.outcome == "interrupted" else ENDED_EARLY


def _draw(diagram: Diagram, path: str) -> None:
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder

    give_matplotlib_a_folder()
    diagram.plot(path)
    click.echo(f"wrote {path}", err=True)


def _summary(diagram: Diagram) -> str:
    from mfpde.cli.tables import columns

    rows = []
    for branch in diagram.branches:
        stable = f"{int(branch.stable.sum())} stable"
        rows.append([str(branch.number), branch.name, f"{len(branch)} points", stable, branch.end])
        rows += [["", "", str(point), "", ""] for point in branch.special]
    told = [columns(rows), *diagram.messages]
    if diagram.coexistence is not None:
        low, high = diagram.coexistence
        told.append(f"several stable states for {diagram.parameter} in [{low:.10g}, {high:.10g}]")
    if diagram.outcome != "finished":
        told.append(f"{diagram.outcome}\nthere may be other branches")
    return "\n".join(told)
