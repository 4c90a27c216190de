"""`mfpde info`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mfpde.cli.options import as_json, print_json

if TYPE_CHECKING:
    from mfpde.run import Run

__all__ = ["info"]

_EFFORT = ("timings", "statistics")


@click.command(short_help="Tell what a run is and how far or well it went.")
@click.argument("file", metavar="RUN.h5")
@as_json
def info(file: str, as_json: bool) -> None:
    """Tell what a run is, how it ended, what it conserved and what made it; while it is going on, how far it is."""
    from mfpde.store import load, read_status

    status = read_status(Path(file))
    if status is not None:
        print_json({"running": True, **status}) if as_json else click.echo(_under_way(file, status))
        return
    run = load(Path(file))
    print_json({"running": False, **_data(run)}) if as_json else click.echo(_text(file, run))


def _under_way(file: str, status: dict[str, Any]) -> str:
    from mfpde.cli.progress import duration
    from mfpde.cli.tables import columns, number

    rows = [["file", file], ["status", "running"]]
    for name, value in status.items():
        seconds = name in ("remaining", "elapsed") and isinstance(value, int | float)
        rows.append([name, duration(float(value)) if seconds else number(value)])
    return columns(rows)


def _data(run: Run) -> dict[str, Any]:
    from mfpde.cli.summary import invariants

    outcome = run.outcome
    return {
        "title": run.problem.title,
        "outcome": {
            "kind": outcome.kind,
            "time": outcome.time,
            "message": outcome.message,
            "advice": outcome.advice,
            "uncertainty": outcome.uncertainty,
            "complete": outcome.complete,
            "accuracy": asdict(outcome.accuracy),
        },
        "times": {"first": float(run.times[0]), "last": float(run.times[-1]), "count": len(run.times)},
        "form": run.layout.form,
        "grid": dict(zip(run.layout.dimensions, run.layout.shape, strict=True)),
        "sizes": run.layout.sizes,
        "last": {name: values[-1] for name, values in run.series.items() if len(values)},
        "invariants": invariants(run),
        "comparison": _comparison(run),
        "provenance": dict(run.provenance),
        "problem": run.problem.canonical(),
    }


def _comparison(run: Run) -> dict[str, Any] | None:
    agreement = run.agreement
    return None if agreement is None else {**asdict(agreement), "passed": agreement.passed}


def _text(file: str, run: Run) -> str:
    from mfpde.cli.summary import flat, invariants, last_values, size, span
    from mfpde.cli.tables import columns, number

    times = span(run)
    rows = [
        ["file", file],
        ["title", run.problem.title or "-"],
        ["outcome", str(run.outcome)],
        ["times", times],
        ["snapshot", size(run)],
    ]
    if run.agreement is not None:
        rows.append(["compared", str(run.agreement)])
    sections = [
        columns(rows) + last_values(run),
        _section("invariants", {name: f"{value:.3g}" for name, value in invariants(run).items()}),
        _section("effort", {name: number(value) for name, value in flat(_effort(run)).items()}),
        _section("made by", {name: number(value) for name, value in flat(_origin(run)).items()}),
        "problem\n" + "\n".join(f"  {line}" for line in run.problem.to_yaml().splitlines()),
    ]
    return "\n".join(section for section in sections if section)


def _effort(run: Run) -> dict[str, Any]:
    """What of its provenance says how much there was to do."""
    return {name: value for name, value in run.provenance.items() if name in _EFFORT}


def _origin(run: Run) -> dict[str, Any]:
    """What says where it comes from."""
    return {name: value for name, value in run.provenance.items() if name not in _EFFORT}


def _section(name: str, rows: dict[str, str]) -> str:
    from mfpde.cli.tables import columns

    return f"{name}\n{columns(rows.items(), indent='  ')}" if rows else ""
