"""Plain text in columns."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

__all__ = ["columns", "number"]


_GAP = "  "
_MIN_COLUMN = 24  # letters: text is not wrapped to less


def columns(
    rows: Iterable[Sequence[str]], header: Sequence[str] | None = None, indent: str = "", width: int | None = None
) -> str:
    """Left-aligned columns, two spaces apart. What is too long for the `width` (that of the terminal; elsewhere nothing
    is) goes on below, in its column.

    >>> print(columns([["mass", "1"], ["free-energy", "-0.2"]], header=["observable", "last"]))
    observable   last
    mass         1
    free-energy  -0.2
    >>> print(columns([["two-bumps", "two bumps that meet in the middle"]], width=36))
    two-bumps  two bumps that meet in
               the middle
    """
    table = [list(header)] if header is not None else []
    table += [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    room = width or _terminal()
    if room is not None:
        widths = _fitted(widths, room - len(indent) - len(_GAP) * (len(widths) - 1))
    lines = [line for row in table for line in _lines(row, widths)]
    return "\n".join(
        indent + _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _terminal() -> int | None:
    """Its width; None where the output goes somewhere else."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widest columns narrowed until they fit, or as far as they can be read."""
    fitted = list(widths)
    while sum(fitted) > room and max(fitted) > _MIN_COLUMN:
        widest = fitted.index(max(fitted))
        others = max([_MIN_COLUMN, *fitted[:widest], *fitted[widest + 1 :]])
        fitted[widest] = max(fitted[widest] - (sum(fitted) - room), min(others, fitted[widest] - 1), _MIN_COLUMN)
    return fitted


def _lines(row: list[str], widths: list[int]) -> Iterable[Sequence[str]]:
    """A row as lines of which each cell fits."""
    fits = zip(row, widths, strict=True)
    cells = [
        [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in fits
    ]
    return zip_longest(*cells, fillvalue="")


def number(value: Any) -> str:
    """A number as people read it; an array by its first entries.

    >>> number(0.1234567891), number([1.0, 2.0, 3.0, 4.0]), number([[1.0, 0.5], [0.5, 2.0]]), number(True)
    ('0.123457', '1, 2, 3, ... (4 values)', '[1, 0.5]  [0.5, 2]', 'yes')
    """
    if value is None:
        return "-"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list):
            rows = [", ".join(number(item) for item in row) for row in value]
            small = len(rows) <= 3 and all(len(row) <= 3 for row in value)
            return f"[{']  ['.join(rows)}]" if small else f"{len(value)} x {len(value[0])} values"
        few = ", ".join(number(item) for item in value[:3])
        return few if len(value) <= 3 else f"{few}, ... ({len(value)} values)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
