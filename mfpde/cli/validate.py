"""`mfpde validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from mfpde.cli.exit_codes import CHECK_FAILED
from mfpde.cli.options import as_json, print_json
from mfpde.errors import MfpdeError, OutputError, shown

if TYPE_CHECKING:
    from mfpde.validation.report import Check, Report

__all__ = ["validate"]


@click.command(short_help="Run the claims mfpde makes about itself.")
@click.argument("cases", metavar="[CASE ...|FILE.yaml]", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Name the cases and run nothing.")
@click.option("--only", metavar="PATTERN", help="The cases whose names match, such as 'gaussian*'.")
@click.option("--quick", is_flag=True, help="The reduced form of each case, and of each file's mean-field limit.")
@click.option("--counts", metavar="N,N,...", help="Of a file: numbers of tokens of the mean-field limit.")
@click.option("--repeats", type=int, metavar="R", help="Of a file: independent systems of each number of tokens.")
@click.option("--seconds", type=float, metavar="S", help="Of a file: time for the tokens, where counts are not given.")
@click.option("--no-limit", is_flag=True, help="Of a file: the solution alone, no mean-field limit.")
@click.option("--report", metavar="DIR", help="Write the report there: index.html, report.json, figures.")
@click.option("--resume", is_flag=True, help="Go on with the measurements in the report's folder.")
@click.option("--force", is_flag=True, help="Write into a report's folder that is there.")
@as_json
def validate(
    cases: tuple[str, ...],
    only_list: bool,
    only: str | None,
    quick: bool,
    counts: str | None,
    repeats: int | None,
    seconds: float | None,
    no_limit: bool,
    report: str | None,
    resume: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Run the claims mfpde makes about itself, all or some, and compare what is expected with what is measured.

    Of a problem file the solution is checked: the equation in its weak form, mass, positivity, symmetries, free energy,
    bounds, closed forms, a second method; then its mean-field limit by independent tokens in growing numbers. All
    cases take minutes, with --quick seconds. Leaves with 1 when a check fails.
    """
    if only_list:
        _list(as_json)
        return 0
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder
    from mfpde.cli.progress import display
    from mfpde.validation import validate as validate_cases

    wanted = (*cases, *_matching(only))
    folder = None if report is None else _folder(report, go_on=resume or force)
    with told_of_compiling(), display(quiet=False) as progress:
        result = validate_cases(
            *wanted,
            quick=quick,
            progress=progress,
            counts=None if counts is None else _numbers(counts),
            repeats=repeats,
            seconds=seconds,
            limit=not no_limit,
            folder=folder,
            resume=resume,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(_table(result))
    if folder is not None:
        give_matplotlib_a_folder()
        click.echo(f"wrote {result.write(folder)}", err=True)
    return 0 if result.passed else CHECK_FAILED


def _matching(pattern: str | None) -> list[str]:
    """Names of the cases that match; none without a pattern."""
    from fnmatch import fnmatchcase

    from mfpde.registry import members

    if pattern is None:
        return []
    known = list(members("case"))
    found = [name for name in known if fnmatchcase(name, pattern)]
    if not found:
        raise MfpdeError(f"--only: no case matches {shown(pattern)}; known: {', '.join(known)}")
    return found


def _numbers(text: str) -> list[int]:
    """`100,1000,1e4` as numbers."""
    try:
        given = [float(part) for part in text.split(",")]
        return [int(each) if each == int(each) else _reject(text) for each in given]
    except (ValueError, OverflowError):
        return _reject(text)


def _reject(text: str) -> NoReturn:
    raise MfpdeError(f"--counts: must be whole numbers such as 100,1000,10000, not {shown(text)}")


def _list(as_json: bool) -> None:
    from mfpde.cli.tables import columns
    from mfpde.registry import members

    claims = {name: case().card.claim for name, case in members("case").items()}
    if as_json:
        print_json([{"name": name, "claim": claim} for name, claim in claims.items()])
    else:
        click.echo(columns(claims.items()))


def _table(result: Report) -> str:
    from mfpde.cli.tables import columns

    rows = [_row(check) for check in result.checks]
    failed = len(result.failed)
    verdict = f"{len(rows)} check{'s' if len(rows) > 1 else ''}, {f'{failed} failed' if failed else 'all passed'}"
    header = ["", "claim", "measured", "", "expected", "tolerance", "source"]
    notes = "".join(f"note: {note}\n" for note in result.notes)
    return f"{columns(rows, header)}\n{notes}{verdict}" if rows else "no checks"


def _row(check: Check) -> list[str]:
    from mfpde.cli.tables import number

    numbers = [number(check.measured), check.relation, number(check.expected), f"{check.tolerance:.2g}"]
    return ["ok" if check.passed else "FAILED", check.claim, *numbers, check.source]


def _folder(report: str, *, go_on: bool) -> Path:
    """Made before anything runs: a report that cannot be written is bad input, and so is one that is there."""
    from mfpde.store.atomic_file import check_target, made_folder

    folder = made_folder(report)
    if not go_on and any(folder.iterdir()):
        raise OutputError(f"{report} is there and holds something: another name, --resume to go on with it, or --force")
    for name in ("index.html", "report.json"):
        check_target(folder / name, force=True)
    return folder
