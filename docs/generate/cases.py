"""The validation cases: what each claims, where that comes from, and what this build measured."""

from __future__ import annotations

from pathlib import Path

from generate.bibliography import entries
from generate.tables import table
from mfpde.registry import members
from mfpde.validation.report import Report

__all__ = ["cases"]


def cases(folder: Path, seen_from_page: str) -> str:
    """A section for each case, run in its reduced size; figures go to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for name, case in members("case").items():
        made = case()
        report = made.run(quick=True)
        if not report.passed:
            raise ValueError(f"validation case {name} fails: {[check.claim for check in report.failed]}")
        (folder / f"{name}.png").write_bytes(report.png())
        parts.append(_section(name, report, made.card.source, made.card.tolerance, seen_from_page))
    return "\n\n".join(parts)


def _section(name: str, report: Report, source: str, tolerance: float, folder: str) -> str:
    keys = [f"[{entries()[key].label}](#{key})" for key in report.citations]
    rows = [
        [check.claim, f"{check.measured:.12g}", check.relation, f"{check.expected:.12g}", f"{check.tolerance:.2g}"]
        for check in report.checks
    ]
    return "\n\n".join(
        [
            f"(case-{name})=\n## {name}",
            f"**Claim.** {report.claim}.",
            f"**Source.** {source}" + (f" [{'; '.join(keys)}]." if keys else "."),
            f"**Tolerance.** {tolerance:g}.",
            table(["check", "measured", "", "expected", "tolerance"], rows),
            f"![{name}: measured against expected]({folder}/{name}.png)",
        ]
    )
