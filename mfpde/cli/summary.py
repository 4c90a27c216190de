"""A result in a few lines: how it ended, what it cost, where it is, and the last values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mfpde.cli.progress import duration
from mfpde.cli.tables import columns, number

if TYPE_CHECKING:
    from mfpde.contracts import Result, Summary

__all__ = ["facts", "flat", "result_in_full", "summary"]

_EFFORT = ("timings", "statistics")  # groups of provenance that say how much there was to do


def summary(result: Result) -> str:
    """What is printed when the work is done."""
    told, agreement = result.summary(), result.agreement
    rows = [("outcome", str(result.outcome)), *told.method.items(), *told.extent.items(), *_numbers(told.counts)]
    if agreement is not None:
        rows.append(("compared", f"{'ok' if agreement.passed else 'FAILED'}: {agreement}"))
    wall = flat(result.provenance).get("seconds")
    if isinstance(wall, int | float):
        rows.append(("wall time", duration(float(wall))))
    if result.path is not None:
        rows.append(("file", str(result.path)))
    return "\n".join(filter(None, [columns(rows), _section(*_last_values(told))]))


def result_in_full(file: str, result: Result) -> str:
    """What `info` prints."""
    (_, what), *others = facts(file, result).items()
    sections = [columns(what), *(_section(name, rows) for name, rows in others)]
    problem = "problem\n" + "\n".join(f"  {line}" for line in result.problem.to_yaml().splitlines())
    return "\n".join(filter(None, [*sections, problem]))


def facts(file: str, result: Result) -> dict[str, list[tuple[str, str]]]:
    """Names and values by headings: first, without one, what it is; then the last values, what it conserved, what it
    cost and what made it."""
    told, agreement, made = result.summary(), result.agreement, result.provenance
    rows = [("file", file), ("title", result.problem.title or "-"), ("outcome", str(result.outcome))]
    rows += [*told.method.items(), *told.extent.items(), *told.contents.items()]
    if agreement is not None:
        rows.append(("compared", str(agreement)))
    last, values = _last_values(told)
    return {
        "": rows,
        last: values,
        "invariants": [(name, f"{value:.3g}") for name, value in told.invariants.items()],
        "effort": _numbers(flat({name: made[name] for name in made if name in _EFFORT})),
        "made by": _numbers(flat({name: made[name] for name in made if name not in _EFFORT})),
    }


def flat(details: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings by the innermost name; the first of a name wins."""
    found: dict[str, Any] = {}
    for name, value in details.items():
        if isinstance(value, Mapping):
            found = {**flat(value), **found}
        else:
            found[name] = value
    return found


def _numbers(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, number(value)) for name, value in values.items()]


def _last_values(told: Summary) -> tuple[str, list[tuple[str, str]]]:
    """The observables at the end, with their heading."""
    return f"last values, {told.when}", _numbers(told.last)


def _section(name: str, rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    return f"{name}\n{columns(rows, indent='  ')}" if rows else ""
