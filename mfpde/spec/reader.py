"""Problem files and dicts in, a `Problem` or every fault of them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mfpde.arguments import file_path, instance
from mfpde.errors import Fault, ProblemError
from mfpde.problem import Problem
from mfpde.registry import register
from mfpde.spec.document import UnreadableError
from mfpde.spec.faults import schema_faults
from mfpde.spec.inheritance import read_tree
from mfpde.spec.node import Node
from mfpde.spec.plain_values import native
from mfpde.spec.settings import with_settings

__all__ = ["Document", "read_dict", "read_document", "read_yaml"]


@dataclass(frozen=True)
class Document:
    """A problem together with the text it was read from."""

    problem: Problem
    tree: Node

    def locate(self, fault: Fault) -> Fault:
        """The fault with the position of what it speaks of, when it has none yet."""
        return fault if fault.source is not None else located(fault, self.tree)


@register("reader", "yaml")
def read_yaml(path: str | Path, settings: Mapping[str, Any] | None = None) -> Problem:
    """The problem in a file, with `settings` such as `{"noise.kappa": "2"}` on top of it."""
    return read_document(path, settings).problem


def read_document(path: str | Path, settings: Mapping[str, Any] | None = None) -> Document:
    """As `read_yaml`, with the positions."""
    place = file_path("path", path, "problem.yaml")
    if settings is not None:
        instance("settings", settings, Mapping, "a mapping such as {'noise.kappa': 2}")
    try:
        reading = read_tree(place)
    except UnreadableError as error:
        raise ProblemError([error.fault]) from None
    tree, faults = with_settings(reading.root, settings or {})
    faults += reading.faults
    try:
        problem = _validated(tree.plain())
    except ProblemError as error:
        found = [fault for fault in error.faults if reading.complete or not fault.message.startswith("is missing")]
        faults += [located(fault, tree) for fault in found]
    if faults:
        raise ProblemError(sorted(faults, key=lambda fault: fault.order))
    return Document(problem, tree)


def located(fault: Fault, tree: Node) -> Fault:
    """The fault at the key it complains about (when the key is wrong, or something in it is absent) or at the value."""
    node, reached = tree.deepest(fault.path)
    at_key = (
        reached < len(fault.path) or fault.message.startswith("unknown key") or isinstance(node.content, dict | None)
    )
    place = node.key if at_key and node.key is not None else node.place
    return replace(fault, source=place.source, line=place.line, column=place.column)


@register("reader", "dict")
def read_dict(data: Mapping[str, Any]) -> Problem:
    """The same keys as a file, numpy values welcome."""
    if not isinstance(data, Mapping):
        raise ProblemError.at("", f"a problem is a dict with the keys of a problem file, not {type(data).__name__}")
    return _validated(native(data))


def _validated(data: Any) -> Problem:
    try:
        return Problem.model_validate(data)
    except ValidationError as error:
        raise ProblemError(schema_faults(error, data)) from None
