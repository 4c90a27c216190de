"""A problem file as a tree in which every value and every key knows where it was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from mfpde.errors import Fault

__all__ = ["Node", "Place", "Scalar", "fault_at"]

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Somewhere in a source; line and column count from 1. What was not read from a file has neither."""

    source: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """A scalar, a block of keys or a list; `key` is the place of the key that names it, if one does."""

    content: Scalar | dict[str, Node] | list[Node]
    place: Place
    key: Place | None = None

    @cached_property
    def size(self) -> int:
        """Number of values below and including this one, repeated ones counted each time."""
        return 1 + sum(child.size for child in self.children())

    def children(self) -> Iterable[Node]:
        """The values directly below."""
        if isinstance(self.content, dict):
            return self.content.values()
        return self.content if isinstance(self.content, list) else ()

    def child(self, part: str | int) -> Node | None:
        """The value below, by key or by position in a list."""
        if isinstance(self.content, dict):
            return self.content.get(str(part))
        if isinstance(self.content, list) and str(part).isdecimal() and int(part) < len(self.content):
            return self.content[int(part)]
        return None

    def deepest(self, path: Sequence[str | int]) -> tuple[Node, int]:
        """The value at the path or the last one on the way that exists, and how many parts of the path led there."""
        node = self
        for count, part in enumerate(path):
            child = node.child(part)
            if child is None:
                return node, count
            node = child
        return node, len(path)

    def plain(self) -> Any:
        """The tree as dicts, lists and scalars."""
        if isinstance(self.content, dict):
            return {key: child.plain() for key, child in self.content.items()}
        if isinstance(self.content, list):
            return [child.plain() for child in self.content]
        return self.content

    def holding(self, content: Scalar | dict[str, Node] | list[Node]) -> Node:
        """The same place with something else in it."""
        return replace(self, content=content)


def fault_at(place: Place, message: str, path: Path = ()) -> Fault:
    """A fault with its position."""
    return Fault(path, message, place.source, place.line, place.column)
