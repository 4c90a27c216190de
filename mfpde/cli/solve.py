"""`mfpde solve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mfpde.cli.exit_codes import CHECK_FAILED, ENDED_EARLY, INTERRUPTED
from mfpde.cli.options import problem_settings, target_beside

if TYPE_CHECKING:
    from mfpde.contracts import Outcome
    from mfpde.run import Run

__all__ = ["solve"]


@click.command(short_help="Solve a problem file, write the run as HDF5.")
@click.argument("file", metavar="FILE.yaml")
@click.option(
    "-o", "--output", metavar="RUN.h5", help="Where to write the run; FILE's name with .h5, here, by default."
)
@problem_settings
@click.option("--resume", is_flag=True, help="Continue an interrupted run, also to a later time.until.")
@click.option("--force", is_flag=True, help="Overwrite an existing output file.")
@click.option("--quiet", is_flag=True, help="No progress and no summary, only errors.")
@click.option("--strict", is_flag=True, help="Exit code 1 unless the accuracy promised was kept.")
def solve(
    file: str, output: str | None, settings: dict[str, str], resume: bool, force: bool, quiet: bool, strict: bool
) -> int:
    """Solve the problem in FILE.yaml and write the run as HDF5.

    Ctrl-C ends it cleanly: the file holds everything up to there, and --resume continues it.
    """
    from mfpde.ranks.launched import launched, launched_number

    if launched_number() > 0:
        quiet = True
        _be_silent()
    with launched():
        return _solved(file, output, settings, resume=resume, force=force, quiet=quiet, strict=strict)


def _solved(
    file: str, output: str | None, settings: dict[str, str], *, resume: bool, force: bool, quiet: bool, strict: bool
) -> int:
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.progress import display
    from mfpde.cli.summary import summary
    from mfpde.errors import ProblemError
    from mfpde.run_loop import solve as solve_problem
    from mfpde.spec import read_document

    document = read_document(file, settings)
    target = target_beside(file, output)
    try:
        with told_of_compiling(quiet), display(quiet) as progress:
            run = solve_problem(document.problem, target, progress=progress, resume=resume, force=force)
    except ProblemError as error:
        raise ProblemError(document.locate(fault) for fault in error.faults) from None
    if not quiet:
        click.echo(summary(run))
    elif not run.outcome.complete:
        click.echo(str(run.outcome), err=True)
    if run.agreement is not None and not run.agreement.passed:
        click.echo(f"check failed: {run.agreement}", err=True)
    if strict and run.outcome.complete and not run.outcome.accuracy.kept:
        click.echo(f"check failed: {_broken_promise(run.outcome)}", err=True)
    return exit_code(run, strict=strict)


def _be_silent() -> None:
    """What people are told comes from rank 0."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end


def _broken_promise(outcome: Outcome) -> str:
    """What `--strict` says of a promise that was not kept, or of which nobody knows."""
    accuracy = outcome.accuracy
    verdict = "is not known to have been kept" if accuracy.kept is None else "was not kept"
    promised = "" if accuracy.promised is None else f", an error below {accuracy.promised:.1g},"
    return ": ".join(filter(None, [f"the accuracy promised{promised} {verdict}", str(accuracy) or outcome.message]))


def exit_code(run: Run, *, strict: bool = False) -> int:
    """0 for a run that came to its end (1 if too far from what it is compared with, or, where that is asked for
    strictly, without the accuracy promised), 130 for an interrupted one, 3 for any other end."""
    from mfpde.contracts import INTERRUPTED as WAS_INTERRUPTED

    if run.outcome.complete:
        close = run.agreement is None or run.agreement.passed
        return 0 if close and (run.outcome.accuracy.kept or not strict) else CHECK_FAILED
    return INTERRUPTED if run.outcome.kind == WAS_INTERRUPTED else ENDED_EARLY
