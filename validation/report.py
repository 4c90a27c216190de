"""What a validation found: checks, each with what was claimed, expected and measured, and a figure."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mfpde.bibliography import keys_in
from mfpde.page import document, picture, references
from mfpde.registry import lookup
from mfpde.store.atomic_file import made_folder, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

    from mfpde.validation.mean_field.rates import Rate
    from mfpde.validation.second import Apart

__all__ = ["Check", "Drawing", "Report", "plain"]

#: draws into an empty figure
Drawing = Callable[["FigureBase"], None]
_HEIGHT_INCHES = 4.5  # of one figure


@dataclass(frozen=True)
class Check:
    """One number held against what it must be: `|measured - expected| <= tolerance`, or `measured <= expected` for a
    bound.

    >>> Check.equal("half of pi", "geometry", expected=1.5708, measured=1.57081, tolerance=1e-3).passed
    True
    >>> Check.equal("half of pi", "geometry", expected=1.5708, measured=float("nan"), tolerance=1e-3).passed
    False
    """

    claim: str
    source: str
    expected: float
    measured: float
    tolerance: float
    passed: bool
    relation: Literal["=", "<=", ">="] = "="

    @classmethod
    def equal(cls, claim: str, source: str, *, expected: float, measured: float, tolerance: float) -> Check:
        """`|measured - expected| <= tolerance`; what is not a number never passes."""
        passed = abs(measured - expected) <= tolerance
        return cls(claim, source, float(expected), float(measured), float(tolerance), bool(passed))

    @classmethod
    def at_most(cls, claim: str, source: str, *, bound: float, measured: float, tolerance: float = 0.0) -> Check:
        """`measured <= bound + tolerance`."""
        passed = measured <= bound + tolerance
        return cls(claim, source, float(bound), float(measured), float(tolerance), bool(passed), "<=")

    @classmethod
    def at_least(cls, claim: str, source: str, *, bound: float, measured: float, tolerance: float = 0.0) -> Check:
        """`measured >= bound - tolerance`."""
        passed = measured >= bound - tolerance
        return cls(claim, source, float(bound), float(measured), float(tolerance), bool(passed), ">=")

    @property
    def error(self) -> float:
        """How far the measured value is from where it may be."""
        gap = self.measured - self.expected
        return {"=": abs(gap), "<=": max(gap, 0.0), ">=": max(-gap, 0.0)}[self.relation]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what JSON has no number for is text."""
        numbers = {name: plain(getattr(self, name)) for name in ("expected", "measured", "error", "tolerance")}
        return {"claim": self.claim, "source": self.source, "relation": self.relation, **numbers, "passed": self.passed}


@dataclass(frozen=True, eq=False)
class Report:
    """Checks and a figure; of one case, or of several in `parts`.

    second: of a problem, how far its solution is from that of a second method over time: `method`, `times`,
    `distances`, and the two `promises` whose sum they must stay below; None where there is none.
    """

    title: str
    claim: str = ""
    own: tuple[Check, ...] = ()
    drawing: Drawing | None = None
    height_inches: float = _HEIGHT_INCHES
    parts: tuple[Report, ...] = ()
    citations: tuple[str, ...] = field(default=())
    #: how fast errors fall with the number of tokens, by quantity
    own_rates: Mapping[str, Rate] = field(default_factory=dict)
    #: what was measured and is not judged, or could not be
    own_notes: tuple[str, ...] = ()
    own_second: Apart | None = None

    @property
    def checks(self) -> tuple[Check, ...]:
        return (*self.own, *(check for part in self.parts for check in part.checks))

    @property
    def rates(self) -> dict[str, Rate]:
        """How fast errors fall with the number of tokens, by quantity."""
        return {name: rate for part in (self, *self.parts) for name, rate in part.own_rates.items()}

    @property
    def second(self) -> Apart | None:
        """How far the solution is from that of a second method; None where there is none."""
        return next((part.own_second for part in (self, *self.parts) if part.own_second is not None), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was measured and is not judged, or could not be."""
        return (*self.own_notes, *(note for part in self.parts for note in part.notes))

    @property
    def passed(self) -> bool:
        """True when there are checks and every one passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def figure(self) -> Figure:
        """What was measured against what was expected, one part for each case."""
        shown = [
            (each.height_inches, each.title, each.drawing) for each in (self, *self.parts) if each.drawing is not None
        ]
        heights = [height for height, *_ in shown] or [_HEIGHT_INCHES]
        with lookup("view", "look")():
            figure: Figure = lookup("view", "empty")(sum(heights))
            rows = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
            for row, (_, title, draw) in zip(rows, shown, strict=False):
                draw(row)
                row.suptitle(title)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figure, ready for JSON."""
        content: dict[str, Any] = {"title": self.title, "claim": self.claim, "passed": self.passed}
        if self.own:
            content["checks"] = [check.to_dict() for check in self.own]
        if self.own_rates:
            content["rates"] = {name: rate.to_dict() for name, rate in self.own_rates.items()}
        if self.own_second is not None:
            content["second_method"] = self.own_second.to_dict()
        if self.own_notes:
            content["notes"] = list(self.own_notes)
        if self.citations:
            content["citations"] = list(self.citations)
        if self.parts:
            content["parts"] = [part.to_dict() for part in self.parts]
        return content

    def to_html(self) -> str:
        """One self-contained page."""
        verdict = "passed" if self.passed else f"{len(self.failed)} of {len(self.checks)} checks failed"
        body = "\n".join(_section(report) for report in (self, *self.parts) if report.own or report.own_notes)
        heading = f"<h1>{escape(self.title)}: {verdict}</h1>"
        return document(self.title, f"{heading}\n{body}\n{references(self._cited())}")

    def _cited(self) -> list[str]:
        """The keys of what the checks and their cases cite."""
        sources = " ".join(
            [*(check.source for check in self.checks), *(key for part in self.parts for key in part.citations)]
        )
        return sorted({*keys_in(sources), *self.citations})

    def write(self, directory: str | Path) -> Path:
        """The page `index.html`, `report.json` and one PNG for each case, into a directory; returns the page."""
        folder = made_folder(directory)
        _put(folder / "report.json", (json.dumps(self.to_dict(), indent=2) + "\n").encode())
        for report in (self, *self.parts):
            if report.drawing is not None:
                _put(folder / f"{Path(report.title).stem}.png", report.png)
        page = folder / "index.html"
        _put(page, self.to_html().encode())
        return page

    @cached_property
    def png(self) -> bytes:
        """The figure as a PNG file's content; the page shows the same one."""
        stream = io.BytesIO()
        with lookup("view", "look")():
            self.figure().savefig(stream, format="png")
        return stream.getvalue()


def _put(path: Path, content: bytes) -> None:
    with replacing(path) as part:
        part.write_bytes(content)


_COLUMNS = ("claim", "measured", "", "expected", "error", "tolerance", "source", "verdict")


def _section(report: Report) -> str:
    header = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    rows = "\n".join(_row(check) for check in report.own)
    drawn = ""
    if report.drawing is not None:
        alone = replace(report, parts=()) if report.parts else report
        drawn = f"<p>{picture(alone.png, report.title)}</p>"
    cited = "".join(f"<p>{escape(note)}</p>" for note in report.own_notes)
    text = f"<h2>{escape(report.title)}</h2><p>{escape(report.claim)}</p>{cited}"
    table = f"<table><tr>{header}</tr>\n{rows}</table>" if report.own else ""
    return f"{text}{drawn}{table}"


def _row(check: Check) -> str:
    def number(value: float, digits: int) -> str:
        return f"<td class='number'>{value:.{digits}g}</td>"

    verdict = "passed" if check.passed else "failed"
    cells = [
        f"<td>{escape(check.claim)}</td>",
        number(check.measured, 12),
        f"<td>{escape(check.relation)}</td>",
        number(check.expected, 12),
        number(check.error, 2),
        number(check.tolerance, 2),
        f"<td>{escape(check.source)}</td><td>{verdict}</td>",
    ]
    return f"<tr class='{verdict}'>{''.join(cells)}</tr>"


def plain(value: float) -> float | str:
    """As JSON has it: what it has no number for is text."""
    return value if math.isfinite(value) else str(value)
