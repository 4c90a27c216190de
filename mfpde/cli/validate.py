"""`mfpde validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mfpde.cli.options import as_json, print_json

if TYPE_CHECKING:
    from mfpde.validation import Report

__all__ = ["validate"]

CHECK_FAILED = 1


@click.command(short_help="Run the claims mfpde makes about itself.")
@click.argument("cases", metavar="[CASE ...|FILE.yaml]", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Name the cases and run nothing.")
@click.option("--quick", is_flag=True, help="The reduced form of each case.")
@click.option("--report", metavar="DIR", help="Write report.json, report.txt and report.png there.")
@as_json
def validate(cases: tuple[str, ...], only_list: bool, quick: bool, report: str | None, as_json: bool) -> int:
    """Run the claims mfpde makes about itself, all or some, and compare what is expected with what is measured."""
    if only_list:
        _list(as_json)
        return 0
    from mfpde.validation import validate as validate_cases

    folder = None if report is None else _folder(report)
    result = validate_cases(*cases, quick=quick)
    data = {"passed": bool(result.passed), "checks": [_as_data(check) for check in result.checks]}
    if as_json:
        print_json(data)
    else:
        click.echo(_table(result))
    if folder is not None:
        _write(folder, result, data)
    return 0 if result.passed else CHECK_FAILED


def _list(as_json: bool) -> None:
    from mfpde.cli.listing import first_sentence
    from mfpde.cli.tables import columns
    from mfpde.registry import members

    rows = {
        name: first_sentence(getattr(case, "claim", None) or case.__doc__ or "")
        for name, case in members("case").items()
    }
    if as_json:
        print_json([{"name": name, "claim": claim} for name, claim in rows.items()])
    elif rows:
        click.echo(columns(rows.items()))


def _as_data(check: Any) -> dict[str, Any]:
    names = ("claim", "source", "expected", "measured", "tolerance", "passed")
    return {name: getattr(check, name) for name in names}


def _table(result: Report) -> str:
    from mfpde.cli.tables import columns, number

    rows = [
        [
            "ok" if check.passed else "FAILED",
            check.claim,
            number(check.expected),
            number(check.measured),
            number(check.tolerance),
            str(check.source),
        ]
        for check in result.checks
    ]
    failed = sum(not check.passed for check in result.checks)
    verdict = f"{len(rows)} checks, {failed} failed" if failed else f"{len(rows)} checks, all passed"
    header = ["", "claim", "expected", "measured", "tolerance", "source"]
    return f"{columns(rows, header)}\n{verdict}" if rows else verdict


def _folder(report: str) -> Path:
    from mfpde.errors import OutputError

    folder = Path(report)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from None
    return folder


def _write(folder: Path, result: Report, data: dict[str, Any]) -> None:
    import json

    (folder / "report.json").write_text(json.dumps(data, indent=2, default=_number_or_text), encoding="utf-8")
    (folder / "report.txt").write_text(_table(result) + "\n", encoding="utf-8")
    result.figure().savefig(folder / "report.png")
    click.echo(f"wrote {folder}/report.json, report.txt, report.png", err=True)


def _number_or_text(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
