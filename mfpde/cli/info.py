"""`mfpde info`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mfpde.cli.options import as_json, print_json

if TYPE_CHECKING:
    from mfpde.contracts import Result

__all__ = ["info"]


@click.command(short_help="Tell what a run is and how far or well it went.")
@click.argument("file", metavar="RUN.h5")
@as_json
def info(file: str, as_json: bool) -> None:
    """Tell what a run is, how it ended, what it conserved and what made it; while it is going on, how far it is."""
    from mfpde.cli.summary import result_in_full
    from mfpde.store import load
    from mfpde.watching import read_status

    status = read_status(Path(file))
    if status is not None:
        print_json({"running": True, **status}) if as_json else click.echo(_under_way(file, status))
        return
    result = load(Path(file))
    print_json({"running": False, **_data(result)}) if as_json else click.echo(result_in_full(file, result))


def _under_way(file: str, status: dict[str, Any]) -> str:
    from mfpde.cli.progress import duration
    from mfpde.cli.tables import columns, number

    rows = [["file", file], ["status", "running"]]
    for name, value in status.items():
        seconds = name in ("remaining", "elapsed") and isinstance(value, int | float)
        rows.append([name, duration(float(value)) if seconds else number(value)])
    return columns(rows)


def _data(result: Result) -> dict[str, Any]:
    outcome, told, agreement = result.outcome, result.summary(), result.agreement
    return {
        "title": result.problem.title,
        "outcome": {
            "kind": outcome.kind,
            "time": outcome.time,
            "message": outcome.message,
            "advice": outcome.advice,
            "uncertainty": outcome.uncertainty,
            "complete": outcome.complete,
            "accuracy": asdict(outcome.accuracy),
        },
        **told.data,
        "last": told.last,
        "invariants": told.invariants,
        "comparison": None if agreement is None else {**asdict(agreement), "passed": agreement.passed},
        "provenance": dict(result.provenance),
        "problem": result.problem.canonical(),
    }
