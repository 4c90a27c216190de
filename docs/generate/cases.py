"""The validation cases: what each claims, where that comes from, and what this build measured."""

from __future__ import annotations

import re
from pathlib import Path

from generate.bibliography import entries
from generate.tables import table
from mfpde.registry import members
from mfpde.validation.report import Check, Report

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
        (folder / f"{name}.png").write_bytes(report.png)
        parts.append(_section(name, report, made.card.source, made.card.tolerance, seen_from_page))
    return "\n\n".join(parts)


def _section(name: str, report: Report, source: str, tolerance: float, folder: str) -> str:
    keys = [f"[{entries()[key].label}](#{key})" for key in report.citations]
    rows = [_row(check) for check in report.checks]
    return "\n\n".join(
        [
            f"(case-{name})=\n## {name}",
            f"**Claim.** {_safe(report.claim)}.",
            f"**Source.** {_safe(source)}" + (f" [{'; '.join(keys)}]." if keys else "."),
            f"**Tolerance.** {tolerance:g}.",
            table(["check", "measured", "", "expected", "tolerance"], rows),
            f"![{name}: measured against expected]({folder}/{name}.png)",
        ]
    )


def _row(check: Check) -> list[str]:
    """What must vanish is a size, what must be something a number with its digits."""
    digits = 12 if check.expected and check.relation == "=" else 3
    expected = f"{check.expected:.12g}" if check.relation == "=" else f"{check.expected:.3g}"
    relation = {"<=": "≤", ">=": "≥"}.get(check.relation, "=")
    return [_safe(check.claim), f"{check.measured:.{digits}g}", relation, expected, f"{check.tolerance:.2g}"]


def _safe(text: str) -> str:
    """Plain words as Markdown that shows them; sections of the theory as links."""
    text = re.sub(r"([\\*_|<>\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"\b(?:physics|theory,) section (\d+)", r"[theory, section \1](#theory-\1)", text)
