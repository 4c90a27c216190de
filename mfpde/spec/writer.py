"""A problem as a YAML text that reads back to an equal problem."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from mfpde.problem import Problem
from mfpde.registry import register
from mfpde.specification import Specification

__all__ = ["write_yaml"]


@register("reader", "write")
def write_yaml(problem: Problem) -> str:
    """The canonical text: blocks of keys, kinds first, lists in one line, no values that equal their defaults."""
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 120
    yaml.allow_unicode = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(_block(problem), out)
    return out.getvalue()


_FIRST_KEYS = ("title", "kind")
_SHORT_KEYS = ("observe", "collect")


def _block(specification: Specification) -> CommentedMap:
    block = CommentedMap()
    fields, given = specification.written_keys(), specification.written()
    for name in sorted(fields, key=lambda name: name not in _FIRST_KEYS):
        value = given.pop(name)
        if name == "kind" or fields[name].is_required() or value != fields[name].default:
            block[name] = _short(value) if name in _SHORT_KEYS else _value(value)
    return CommentedMap({**{key: _value(value) for key, value in given.items()}, **block})


def _short(value: Any) -> Any:
    """`mass` for an observable that has nothing but a kind, and so in lists of them; the same of what is collected."""
    if isinstance(value, tuple):
        return _sequence([_short(item) for item in value])
    block = _block(value)
    return next(iter(block.values())) if set(block) in ({"kind"}, {"observe"}) else block


def _value(value: Any) -> Any:
    if isinstance(value, Specification):
        return _block(value)
    if isinstance(value, dict):
        return CommentedMap({key: _value(item) for key, item in value.items()})
    if isinstance(value, tuple | list):
        return _sequence(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0":
        return int(value)
    return value


def _sequence(values: tuple[Any, ...] | list[Any]) -> CommentedSeq:
    items = [_value(item) for item in values]
    sequence = CommentedSeq(items)
    if not any(isinstance(item, dict) for item in items):
        sequence.fa.set_flow_style()
    return sequence
