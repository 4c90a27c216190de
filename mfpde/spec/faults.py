"""pydantic's errors as faults: every one, at a path of keys, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from mfpde.errors import Fault, ProblemError
from mfpde.problem import Problem
from mfpde.registry import register
from mfpde.spec.error_location import spot
from mfpde.spec.messages import Found, sentence
from mfpde.spec.plain_values import native
from mfpde.specification import Specification
from mfpde.sweep_blocks import collect_in_full

__all__ = ["schema_faults"]


@register("reader", "faults")
def schema_faults(error: ValidationError, data: Any, root: type[Specification] = Problem) -> list[Fault]:
    """What is wrong with the data of a problem, or of another specification, one fault for each place."""
    written = native(data)
    data = _in_full(written)
    faults: dict[tuple[str | int, ...], list[str]] = {}
    for details in _relevant(error.errors(include_url=False)):
        for fault in _faults(details, data, written, root):
            faults.setdefault(fault.path, []).append(fault.message)
    return [Fault(path, message) for path, messages in faults.items() for message in _joined(messages)]


def _in_full(data: Any) -> Any:
    """`observe: [mass]` and `collect: [mass]` as pydantic saw them."""
    if not isinstance(data, Mapping):
        return data
    full = dict(data)
    if isinstance(data.get("observe"), list):
        full["observe"] = [{"kind": item} if isinstance(item, str) else item for item in data["observe"]]
    if isinstance(data.get("collect"), list):
        full["collect"] = [collect_in_full(item) for item in data["collect"]]
    return full


def _relevant(errors: Iterable[Any]) -> list[Any]:
    """Without "too short" where entries are there but are wrong themselves."""
    return [details for details in errors if details["type"] != "too_short" or _is_short(details)]


def _is_short(details: Mapping[str, Any]) -> bool:
    given = details["input"]
    return not isinstance(given, Specification) and len(given) <= details["ctx"]["actual_length"]


def _faults(details: Mapping[str, Any], data: Any, written: Any, root: type[Specification]) -> list[Fault]:
    context = dict(details.get("ctx") or {})
    inside = tuple(context.get("where", ()))
    where = spot([*details["loc"], *inside], data, root)
    own = context.get("error")
    if isinstance(own, ProblemError):
        return [Fault((*where.path, *fault.path), fault.message) for fault in own.faults]
    context.setdefault("message", details["msg"])
    names_a_kind = details["type"] == "union_tag_invalid" and isinstance(_at(written, where.path), Mapping)
    path = (*where.path, "kind") if names_a_kind else where.path
    # pydantic reads a specification where a list belongs as the list of its fields
    unlisted = isinstance(where.given, Specification) and isinstance(details["loc"][-1], int)
    return [Fault(path, sentence("list_type" if unlisted else details["type"], Found(where, context)))]


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    """What was written there; a short form of it where that is a word."""
    for part in path:
        data = data if isinstance(data, str) else data[part]
    return data


_WANTED = re.compile(r"must be (?P<wanted>.*?), not (?P<given>.*)", re.DOTALL)


def _joined(messages: list[str]) -> list[str]:
    """Where any of several things may stand, pydantic complains about each: say it once, a or b."""
    distinct = list(dict.fromkeys(messages))
    matches = [_WANTED.fullmatch(message) for message in distinct]
    read = [match for match in matches if match is not None]
    if len(distinct) < 2 or len(read) < len(distinct):
        return distinct
    wanted = " or ".join(dict.fromkeys(match["wanted"] for match in read))
    return [f"must be {wanted}, not {read[0]['given']}"]
