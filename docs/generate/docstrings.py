"""Docstrings for Sphinx. They are written to be read in a terminal: single backticks around code and formulas, bars and
stars as they are, citation keys in brackets. What reStructuredText would misread is escaped, citations become links.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from generate.bibliography import entries

__all__ = ["as_restructured_text", "setup"]

_SPAN = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)", re.DOTALL)
_KEYS = re.compile(r"\[([a-z]+\d{4}[a-z]*(?:, [a-z]+\d{4}[a-z]*)*)\]")
_SECTION = re.compile(r"\bphysics\s+section\s+(\d+)")


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _process(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_restructured_text("\n".join(lines)).split("\n")


def as_restructured_text(docstring: str) -> str:
    """Examples as they are, prose made safe.

    >>> as_restructured_text("`|v|` is |small| (physics section 3)").count(":ref:")
    1
    """
    paragraphs = re.split(r"\n[ \t]*\n", docstring)
    return "\n\n".join(part if part.lstrip().startswith(">>>") else _prose(part) for part in paragraphs)


def _prose(text: str) -> str:
    pieces, end = [], 0
    for match in _SPAN.finditer(text):
        code = " ".join(match["code"].split())
        pieces += [_escaped(text[end : match.start()]), f"``{code}``"]
        end = match.end()
    return "".join([*pieces, _escaped(text[end:])])


def _escaped(text: str) -> str:
    text = re.sub(r"([\\*|])", r"\\\1", text)
    text = re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)
    text = _KEYS.sub(_links, text)
    return _SECTION.sub(r":ref:`theory, section \1 <theory-\1>`", text)


def _links(match: re.Match[str]) -> str:
    keys, known = match[1].split(", "), entries()
    if not all(key in known for key in keys):
        return match[0]
    return "[" + "; ".join(f":ref:`{known[key].label} <{key}>`" for key in keys) + "]"


def _signature(
    _app: Any, what: str, _name: str, thing: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None] | None:
    """Keys and defaults of a specification; what pydantic writes would fill the page."""
    fields = getattr(thing, "model_fields", None)
    if what != "class" or fields is None:
        return _without_wrapping(signature), _without_wrapping(returned)
    if inspect.isabstract(thing):
        return "", None
    written = [
        name if field.is_required() else f"{name}={field.default!r}" for name, field in fields.items() if name != "kind"
    ]
    return f"(*, {', '.join(written)})" if written else "()", None


def _without_wrapping(text: str | None) -> str | None:
    """Sphinx shows its own wrapping of an alias that stands in a union."""
    return None if text is None else re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
