"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["table"]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars in cells are escaped, line breaks become spaces.

    >>> print(table(["key", "type"], [["beta", "number"]]))
    | key | type |
    | --- | --- |
    | beta | number |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
