"""The reference of problem files, from the pydantic models that read them and the registry that finds these."""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from typing import Any

from generate.tables import table
from mfpde.attention import Interaction
from mfpde.contracts.solver import Solver
from mfpde.equation import Noise
from mfpde.geometry import Circle, Geometry, Plane
from mfpde.measure import Initial
from mfpde.normalization import Normalization
from mfpde.observe import Observable
from mfpde.problem import Bifurcation, Problem, Time
from mfpde.registry import members
from mfpde.sweep_blocks import Collected, SweepBlock

__all__ = ["BLOCKS", "block", "fields_of", "kinds", "top"]

#: keys of a problem file that are blocks of their own, and what is inside
BLOCKS = {
    "geometry": "geometry",
    "attention": "attention",
    "interaction": Interaction,
    "drift": "drift",
    "normalization": Normalization,
    "noise": Noise,
    "initial": "initial",
    "solver": "solver",
    "time": Time,
    "observe": "observable",
    "compare": "comparison",
    "bifurcation": Bifurcation,
    "sweep": SweepBlock,
    "collect": Collected,
}
_WORDS: dict[Any, str] = {float: "number", int: "whole number", bool: "true or false", str: "text"}
_SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def top() -> str:
    """The keys of the file itself."""
    rows = [["`base`", "text", "–", "another problem file, relative to this one, which this one changes"]]
    for name, field in Problem.written_keys().items():
        key = f"[`{name}`](#block-{name})" if name in BLOCKS else f"`{name}`"
        rows.append([key, "block" if name in BLOCKS else _type(field), _default(field), field.description or ""])
    return table(["key", "value", "default", "meaning"], rows)


def block(name: str) -> str:
    """One block of the file: its keys, or its kinds with theirs."""
    inside = BLOCKS[name]
    if isinstance(inside, str):
        return kinds(inside)
    return f"{prose(inside)}\n\n{_keys(inside)}"


def kinds(family: str) -> str:
    """Every kind of a family, what it is and its keys."""
    return "\n\n".join(_kind(family, name, part) for name, part in members(family).items())


def _kind(family: str, name: str, part: type[Any]) -> str:
    words = [f"(kind-{family}-{name})=\n### {name}", prose(part), _keys(part)]
    if family == "observable":
        words.append(_series(part))
    return "\n\n".join(word for word in words if word)


def _series(part: type[Any]) -> str:
    geometry = Circle() if "circle" in part.spaces or not part.spaces else Plane()
    rows = [
        [
            f"`{name}`",
            series.long_name,
            series.units,
            " × ".join(f"{axis} ({size or 'all'})" for axis, size in series.extent),
        ]
        for name, series in part().series(geometry).items()
    ]
    return table(["series", "what", "units", "axis"], rows)


def prose(part: type[Any]) -> str:
    """The docstring without its example."""
    paragraphs = inspect.cleandoc(part.__doc__ or "").split("\n\n")
    kept = [paragraph for paragraph in paragraphs if not paragraph.lstrip().startswith(">>>")]
    text = re.sub(r"\bphysics\s+section\s+(\d+)", r"[theory, section \1](#theory-\1)", "\n\n".join(kept))
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", lambda match: "`" + " ".join(match[1].split()) + "`", text)


def fields_of(part: type[Any]) -> dict[str, Any]:
    """The keys a user writes; `weight` is said once, at `mixture`."""
    return {
        name: field
        for name, field in part.model_fields.items()
        if name != "kind" and not (name == "weight" and issubclass(part, Initial))
    }


def _keys(part: type[Any]) -> str:
    rows = [
        [f"`{name}`", _type(field), _default(field), field.description or ""] for name, field in fields_of(part).items()
    ]
    return table(["key", "value", "default", "meaning"], rows) if rows else ""


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == ():
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "`inf`" if math.isinf(value) else f"`{value:g}`"
    return f"`{value}`" if isinstance(value, str | int) else "–"


def _type(field: Any) -> str:
    limits = [
        f"{sign} {getattr(item, name):g}"
        for item in field.metadata
        for name, sign in _SIGNS.items()
        if hasattr(item, name) and abs(getattr(item, name)) < math.inf
    ]
    return ", ".join([_words(field.annotation), *limits])


def _words(annotation: Any) -> str:
    """`float | None` is a number, and so on."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin is typing.Annotated:
        return _words(inside[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(part) for part in inside if part is not type(None))
    if origin is tuple:
        within = _words(inside[0])
        return {"list of numbers": "matrix", "number": "list of numbers"}.get(within, f"list of {within}")
    nouns = {Geometry: "geometry", Initial: "initial measures", Solver: "solver", Observable: "observable"}
    for noun, words in nouns.items():
        if inspect.isclass(annotation) and issubclass(annotation, noun):
            return words
    return "block"
