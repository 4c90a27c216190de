"""`mfpde check`."""

from __future__ import annotations

from typing import Any

import click

from mfpde.cli.exit_codes import BAD_INPUT
from mfpde.cli.options import as_json, print_json, problem_settings

__all__ = ["check"]


@click.command(short_help="Report every error of problem files; run nothing.")
@click.argument("files", metavar="FILE.yaml ...", nargs=-1, required=True)
@problem_settings
@as_json
def check(files: tuple[str, ...], settings: dict[str, str], as_json: bool) -> int:
    """Report every error of problem files at once, as file:line:column. Nothing is run."""
    reports = [_checked(file, settings) for file in files]
    if as_json:
        print_json([{**report, "faults": [_as_data(fault) for fault in report["faults"]]} for report in reports])
    else:
        for report in reports:
            _print(report)
    return 0 if all(report["ok"] for report in reports) else BAD_INPUT


def _checked(file: str, settings: dict[str, str]) -> dict[str, Any]:
    from mfpde.errors import ProblemError
    from mfpde.prepare import prepare
    from mfpde.spec import read_document

    try:
        document = read_document(file, settings)
    except ProblemError as error:
        return {"file": file, "ok": False, "solver": None, "faults": list(error.faults)}
    problem = document.problem
    try:
        if problem.sweep is not None:
            from mfpde.sweeping.checking import check_sweep

            told = f"its {check_sweep(problem).size} points can be solved"
            return {"file": file, "ok": True, "solver": None, "told": told, "faults": []}
        if problem.bifurcation is not None and problem.time is None and problem.initial is None:
            from mfpde.bifurcation.bifurcating import check_bifurcation

            check_bifurcation(problem)
            return {"file": file, "ok": True, "solver": None, "told": "its branches can be followed", "faults": []}
        prepared, law = prepare(problem), problem.equation.law
        remarks = [*([] if law is None else law.remarks(problem.geometry)), *prepared.remarks()]
    except ProblemError as error:
        found = sorted(map(document.locate, error.faults), key=lambda fault: fault.order)
        return {"file": file, "ok": False, "solver": None, "faults": found}
    solver = prepared.solver.kind
    return {"file": file, "ok": True, "solver": solver, "faults": [], **({"remarks": remarks} if remarks else {})}


def _print(report: dict[str, Any]) -> None:
    if report["ok"]:
        told = f"the {report['solver']} solver can solve it" if report["solver"] else report["told"]
        click.echo(f"{report['file']}: ok, {told}")
        for remark in report.get("remarks", []):
            click.echo(f"{report['file']}: {remark}")
        return
    for fault in report["faults"]:
        click.echo(str(fault), err=True)
    count = len(report["faults"])
    click.echo(f"{report['file']}: {count} error{'s' if count > 1 else ''}", err=True)


def _as_data(fault: Any) -> dict[str, Any]:
    return {
        "source": fault.source,
        "line": fault.line,
        "column": fault.column,
        "path": list(fault.path),
        "message": fault.message,
    }
