"""Plain text in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["columns", "number"]


def columns(rows: Iterable[Sequence[str]], header: Sequence[str] | None = None, indent: str = "") -> str:
    """Left-aligned columns, two spaces apart.

    >>> print(columns([["mass", "1"], ["free-energy", "-0.2"]], header=["observable", "last"]))
    observable   last
    mass         1
    free-energy  -0.2
    """
    lines = [list(header)] if header is not None else []
    lines += [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        indent + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def number(value: Any) -> str:
    """A number as people read it; an array by its first entries.

    >>> number(0.1234567891), number([1.0, 2.0, 3.0, 4.0]), number([[1.0, 0.5], [0.5, 2.0]]), number(None)
    ('0.123457', '1, 2, 3, ... (4 values)', '[1, 0.5]  [0.5, 2]', '-')
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
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
