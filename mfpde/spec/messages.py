"""What pydantic found, in words a user of problem files knows. One table, from pydantic's error type to a sentence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mfpde import errors
from mfpde.errors import nearest
from mfpde.registry import members
from mfpde.spec.error_location import Spot
from mfpde.specification import Specification

__all__ = ["SENTENCES", "Found", "sentence", "shown"]

_MAX_CHARACTERS = 60  # of a value, in a message
_OLD_NUMBER = re.compile(r"[-+]?[0-9][0-9_ ']*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")
_OLD_TRUTH = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


@dataclass(frozen=True)
class Found:
    """One error of pydantic's: where, and with what details."""

    spot: Spot
    context: Mapping[str, Any]

    @property
    def given(self) -> str:
        return shown(self.spot.given)


def shown(value: Any) -> str:
    """A value as it may stand in a message: short, in the words of YAML."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Specification):
        return type(value).__name__
    text = errors.shown(value)
    return re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), text) if isinstance(value, list | dict) else text


def sentence(kind: str, found: Found) -> str:
    """The sentence for pydantic's error `kind`; one the table does not know is described without pydantic's words."""
    return SENTENCES.get(kind, _not_valid)(found)


def _not_valid(found: Found) -> str:
    return f"{found.given} is not valid here"


def _missing(found: Found) -> str:
    return f"is missing{_for_example(found)}"


def _for_example(found: Found) -> str:
    family = found.spot.family
    if family is None:
        return ""
    return f"; known kinds: {', '.join(members(family))}"


def _unknown_key(found: Found) -> str:
    key = str(found.spot.path[-1])
    known = [] if found.spot.owner is None else list(found.spot.owner.written_keys())
    if _is_joined(key):
        return _with_a_space(key)
    if found.spot.path == ("base",):
        return "works in problem files only: write the whole problem here"
    return f"unknown key {shown(key)}{nearest(key, known)}; known: {', '.join(known)}"


def _unknown_kind(found: Found) -> str:
    family = found.spot.family or ""
    known = members(family) if family else {}
    given = found.spot.given
    given = given.get("kind") if isinstance(given, Mapping) else getattr(given, "kind", given)
    near = nearest(given, known) if isinstance(given, str) else ""
    return f"no {_called(family)} is called {shown(given)}{near}; known: {', '.join(known) or 'none'}"


def _called(family: str) -> str:
    return "initial measure" if family == "initial" else family or "kind"


def _no_kind(found: Found) -> str:
    given = found.spot.given
    if isinstance(given, type):
        return f"must be made first, {given.__name__}(...), and not the class itself"
    joined = next((key for key in given if _is_joined(key)), None) if isinstance(given, Mapping) else None
    return f"has no kind{_for_example(found)}" if joined is None else _with_a_space(joined)


def _is_joined(key: Any) -> bool:
    """`kind:softmax`, which YAML reads as one word."""
    return isinstance(key, str) and re.fullmatch(r"[A-Za-z_]+:\S+", key) is not None


def _with_a_space(key: str) -> str:
    name, _, value = key.partition(":")
    return f"{shown(key)} is one word to YAML; a colon is followed by a space: {name}: {value[:_MAX_CHARACTERS]}"


def _block(found: Found) -> str:
    given = found.spot.given
    family = found.spot.family
    if family is not None and isinstance(given, str):
        known = members(family)
        close = difflib.get_close_matches(given, known, n=1, cutoff=0.6) or list(known)
        return f"must be a block of keys, not {found.given}; write {{kind: {close[0]}}}"
    example = "" if family is None else f" such as {{kind: {next(iter(members(family)), '...')}}}"
    return f"must be a block of keys{example}, not {found.given}"


def _list(found: Found) -> str:
    given = found.spot.given
    one = isinstance(given, Specification) or (isinstance(given, str) and len(given) < _MAX_CHARACTERS)
    hint = f"; write [{given if isinstance(given, str) else found.given}]" if one else ""
    return f"must be a list, not {found.given}{hint}"


def _number(found: Found) -> str:
    return f"must be a number, not {found.given}{_how_numbers_are_written(found.spot.given)}"


def _whole(found: Found) -> str:
    return f"must be a whole number, not {found.given}{_how_numbers_are_written(found.spot.given)}"


def _how_numbers_are_written(given: Any) -> str:
    if not isinstance(given, str):
        return ""
    if _OLD_NUMBER.fullmatch(given):
        plain = re.sub(r"[_ ']", "", given)
        return f"; without separators and quotes: {plain}" if len(plain) < _MAX_CHARACTERS else ""
    if re.fullmatch(r"[-+]?[0-9]+(,[0-9]+)+", given):
        return f"; the decimal sign is a point: {given.replace(',', '.', 1)}"
    return ""


def _truth(found: Found) -> str:
    given = found.spot.given
    modern = _OLD_TRUTH.get(given.lower()) if isinstance(given, str) else None
    hint = f"; in YAML 1.2 that is {modern}" if modern else ""
    return f"must be true or false, not {found.given}{hint}"


def _text(found: Found) -> str:
    hint = " (quotes make text of it)" if isinstance(found.spot.given, bool | int | float) else ""
    return f"must be text, not {found.given}{hint}"


def _bound(words: str, name: str) -> Callable[[Found], str]:
    def say(found: Found) -> str:
        limit = found.context.get(name)
        limit = f"{limit:g}" if isinstance(limit, float) else str(limit)
        return f"must be {words} {limit}, not {found.given}"

    return say


def _length(words: str, name: str) -> Callable[[Found], str]:
    def say(found: Found) -> str:
        limit = found.context.get(name)
        given = found.spot.given
        there = len(given) if isinstance(given, str | list | tuple) else found.context.get("actual_length")
        unit = "characters" if isinstance(given, str) else "entry" if limit == 1 else "entries"
        return f"must have {words} {limit} {unit}, not {there}"

    return say


def _one_of(found: Found) -> str:
    expected = found.context.get("expected", "")
    known = re.findall(r"'([^']*)'", str(expected))
    near = nearest(found.spot.given, known) if isinstance(found.spot.given, str) else ""
    return f"must be {expected}, not {found.given}{near}"


def _own_words(found: Found) -> str:
    """A sentence of mfpde's own, raised while a specification was built."""
    return str(found.context.get("error", found.context.get("message", ""))) or _not_valid(found)


SENTENCES: dict[str, Callable[[Found], str]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "invalid_key": lambda _: "a key must be a word",
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _no_kind,
    "model_type": _block,
    "model_attributes_type": _block,
    "dict_type": _block,
    "tuple_type": _list,
    "list_type": _list,
    "number": _number,
    "number_size": _own_words,
    "array": lambda found: f"must be a {found.context['what']}, not {found.given}",
    "rows": _own_words,
    "float_type": _number,
    "float_parsing": _number,
    "finite_number": _number,
    "int_type": _whole,
    "int_parsing": _whole,
    "int_parsing_size": _whole,
    "int_from_float": _whole,
    "bool_type": _truth,
    "bool_parsing": _truth,
    "string_type": _text,
    "string_unicode": lambda _: "has a character that is not Unicode",
    "greater_than": _bound("greater than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
    "too_short": _length("at least", "min_length"),
    "too_long": _length("at most", "max_length"),
    "string_too_short": _length("at least", "min_length"),
    "string_too_long": _length("at most", "max_length"),
    "literal_error": _one_of,
    "value_error": _own_words,
    "assertion_error": _own_words,
}
