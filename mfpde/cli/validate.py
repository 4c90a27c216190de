"""`mfpde validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mfpde.cli.exit_codes import CHECK_FAILED
from mfpde.cli.options import as_json, print_json

if TYPE_CHECKING:
    from mfpde.validation.report import Check, Report

__all__ = ["validate"]


@click.command(short_help="Run the claims mfpde makes about itself.")
@click.argument("cases", metavar="[CASE ...|FILE.yaml]", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Name the cases and run nothing.")
@click.option("--quick", is_flag=True, help="The reduced form of each case.")
@click.option("--report", metavar="DIR", help="Write the report there: index.html, report.json, figures.")
@as_json
def validate(cases: tuple[str, ...], only_list: bool, quick: bool, report: str | None, as_json: bool) -> int:
    """Run the claims mfpde makes about itself, all or some, and compare what is expected with what is measured.

    Of a problem file the solution is checked: mass, positivity, the decay of free energy, bounds of the drift. All
    cases take minutes, with --quick seconds. Leaves with 1 when a check fails.
    """
    if only_list:
        _list(as_json)
        return 0
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.matplotlib_folder import give_matplotlib_a_folder
    from mfpde.validation import validate as validate_cases

    folder = None if report is None else _folder(report)
    with told_of_compiling():
        result = validate_cases(*cases, quick=quick)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(_table(result))
    if folder is not None:
        give_matplotlib_a_folder()
        click.echo(f"wrote {result.write(folder)}", err=True)
    return 0 if result.passed else CHECK_FAILED


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
    header = ["", "claim", "measured", "", "expected", "tolerance"]
    sources = columns([["source", source] for source in dict.fromkeys(check.source for check in result.checks)])
    return f"{columns(rows, header)}\n{sources}\n{verdict}" if rows else "no checks"


def _row(check: Check) -> list[str]:
    from mfpde.cli.tables import number

    numbers = [number(check.measured), check.relation, number(check.expected), f"{check.tolerance:.2g}"]
    return ["ok" if check.passed else "FAILED", check.claim, *numbers]


def _folder(report: str) -> Path:
    """Made before anything runs: a report that cannot be written is bad input."""
    from mfpde.store.atomic_file import check_target, made_folder

    folder = made_folder(report)
    for name in ("index.html", "report.json"):
        check_target(folder / name, force=True)
    return folder
