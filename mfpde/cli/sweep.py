"""`mfpde sweep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mfpde.cli.exit_codes import DONE, ENDED_EARLY, INTERRUPTED
from mfpde.cli.options import as_json, print_json, problem_settings, target_beside

if TYPE_CHECKING:
    from mfpde.contracts import Outcome

__all__ = ["sweep"]


@click.command(short_help="Solve every point of a grid of parameters.")
@click.argument("file", metavar="FILE.yaml")
@click.option("-o", "--output", metavar="SWEEP.h5", help="Where to write; FILE's name with .h5, here, by default.")
@click.option("--workers", metavar="N", type=click.IntRange(1), help="Processes; one for each processor by default.")
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster that does it instead, tcp://host:8786.")
@problem_settings
@click.option("--resume", is_flag=True, help="Solve the points that SWEEP.h5 does not have yet.")
@click.option("--force", is_flag=True, help="Overwrite an existing output file; solve more points than the limit.")
@click.option("--quiet", is_flag=True, help="No progress and no summary, only errors.")
@as_json
def sweep(
    file: str,
    output: str | None,
    workers: int | None,
    scheduler: str | None,
    settings: dict[str, str],
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Solve FILE.yaml for every combination of the values that its block `sweep` names, and write what `collect` keeps.

    A point that fails is a row with a message. Ctrl-C ends the sweep: the file holds every point that was solved, and
    --resume solves the others.
    """
    from mfpde.cli.progress import display
    from mfpde.cli.summary import summary
    from mfpde.errors import ProblemError
    from mfpde.spec import read_document
    from mfpde.sweeping.running import sweep as sweep_problem

    document = read_document(file, settings)
    target = target_beside(file, output)
    try:
        with display(quiet) as progress:
            result = sweep_problem(
                document.problem,
                target,
                workers=workers,
                scheduler=scheduler,
                progress=progress,
                resume=resume,
                force=force,
            )
    except ProblemError as error:
        raise ProblemError(document.locate(fault) for fault in error.faults) from None
    if as_json:
        print_json({**result.summary().data, "outcome": result.outcome.kind})
    elif not quiet:
        click.echo(summary(result))
    elif not result.outcome.complete:
        click.echo(str(result.outcome), err=True)
    return _exit_code(result.outcome)


def _exit_code(outcome: Outcome) -> int:
    """Points that ended early are rows: the sweep is done."""
    if outcome.complete:
        return DONE
    return INTERRUPTED if outcome == "interrupted" else ENDED_EARLY
