"""YAML text to a tree with positions. Nothing is constructed, so nothing can be executed; sizes are limited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from mfpde.errors import Fault, shown
from mfpde.spec.node import Node, Place, fault_at
from mfpde.spec.scalar import meaning

__all__ = ["UnreadableError", "parse", "read_text"]

# of a file: reading takes bounded time and memory whatever it says
MAX_BYTES, MAX_VALUES, MAX_DEPTH = 1_000_000, 100_000, 40

_PLAIN_WORDS = (
    (re.compile(r"found character '\\t'"), "a tab cannot indent YAML; use spaces"),
    (re.compile(r"mapping values are not allowed"), "': ' cannot stand here; mind the indentation, or use quotes"),
    (re.compile(r"found unexpected end of stream"), "the quotes are never closed"),
    (re.compile(r"found character '(@|`)'"), "text that starts with @ or ` needs quotes"),
    (re.compile(r"found character '%'"), "text that starts with % needs quotes"),
    (re.compile(r"expected '<document start>'"), "is not YAML: the value is over, and there is more text"),
    (re.compile(r"expected <block end>"), "is indented differently from the lines above that it belongs to"),
    (re.compile(r"expected ',' or '([]}])'"), r"a comma or a closing bracket is missing before this"),
    (re.compile(r"expected the node content, but found '<stream end>'"), "the text ends in the middle of a value"),
    (re.compile(r"could not find expected ':'"), "a key is followed by a colon, and there is none"),
)


class UnreadableError(Exception):
    """What stops the reading of a text altogether, as a fault."""

    def __init__(self, place: Place, message: str) -> None:
        self.fault = fault_at(place, message)
        super().__init__(str(self.fault))


def read_text(path: Path) -> str:
    """The text of a problem file, or `UnreadableError` with the one reason why not."""
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise UnreadableError(place, "is a folder; a problem is a YAML file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(place, f"cannot be read: {reason[:1].lower()}{reason[1:]}") from None
    if data.startswith(b"\x89HDF\r\n\x1a\n"):
        raise UnreadableError(
            place, "is an HDF5 file, not a problem file; `mfpde info` tells what a run is and which problem it solved"
        )
    if b"\x00" in data:
        raise UnreadableError(place, "is a binary file; a problem is a YAML text")
    if len(data) > MAX_BYTES:
        raise UnreadableError(
            place, f"has more than {MAX_BYTES:,} bytes; keep long data in a file of its own (initial: points, file)"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", errors="replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        raise UnreadableError(
            Place(str(path), line, column), f"is not UTF-8: the byte {data[error.start]:#04x}"
        ) from None


@dataclass
class _Open:
    """A block or list that is still being read."""

    place: Place
    anchor: str | None
    keyed: bool
    content: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    key: tuple[str, Place] | None = None
    wants_key: bool = True

    def closed(self) -> Node:
        return Node(self.content if self.keyed else self.items, self.place)


class _Builder:
    """Puts the events of one document together; everything that is wrong without being fatal goes to `faults`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[Fault] = []
        self.root: Node | None = None
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._documents = 0
        self._values = 0

    def see(self, event: Any) -> None:
        place = self._place(event)
        match event:
            case DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise UnreadableError(place, "holds a second document (---); one file is one problem")
            case MappingStartEvent() | SequenceStartEvent():
                self._begin(event, place)
            case MappingEndEvent() | SequenceEndEvent():
                done = self._open.pop()
                self._add(done.closed(), done.anchor)
            case ScalarEvent():
                self._refuse_tag(event, place)
                self._values += 1
                plain = event.style is None or event.style == ""
                self._add(Node(meaning(event.value) if plain else event.value, place), event.anchor)
            case AliasEvent():
                alias = self._alias(event, place)
                self._values += alias.size
                self._add(alias, None)

    def _place(self, event: Any) -> Place:
        return Place(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def _begin(self, event: Any, place: Place) -> None:
        self._refuse_tag(event, place)
        self._values += 1
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableError(place, f"is nested more than {MAX_DEPTH} deep")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(place, event.anchor, isinstance(event, MappingStartEvent)))

    def _refuse_tag(self, event: Any, place: Place) -> None:
        if event.tag is not None:
            self.faults.append(
                fault_at(place, f"has the tag {str(event.tag)[:60]}; a problem file has no tags, write the plain value")
            )

    def _alias(self, event: Any, place: Place) -> Node:
        if event.anchor not in self._anchors:
            raise UnreadableError(place, f"*{event.anchor} refers to an anchor that is not defined before it")
        node = self._anchors[event.anchor]
        if node is None:
            raise UnreadableError(place, f"*{event.anchor} stands inside the value that it refers to")
        return node

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._values > MAX_VALUES:
            raise UnreadableError(
                node.place, f"has more than {MAX_VALUES:,} values; keep long data in a file of its own"
            )
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if not parent.keyed:
            parent.items.append(node)
        elif parent.wants_key:
            parent.key = self._key(node)
            parent.wants_key = False
        else:
            self._put(parent, node)

    @staticmethod
    def _is_container(node: Node) -> bool:
        return isinstance(node.content, dict | list)

    def _key(self, node: Node) -> tuple[str, Place] | None:
        if isinstance(node.content, str):
            return node.content, node.place
        given = (
            "a block or list"
            if self._is_container(node)
            else "nothing"
            if node.content is None
            else shown(node.content)
        )
        self.faults.append(fault_at(node.place, f"a key must be a word, not {given}"))
        return None

    def _put(self, parent: _Open, node: Node) -> None:
        parent.wants_key = True
        if parent.key is None:
            return
        name, place = parent.key
        if name in parent.content:
            first = parent.content[name].key
            where = f" (first in line {first.line})" if first else ""
            self.faults.append(fault_at(place, f"the key {name!r} is there twice{where}", (*self._path(), name)))
            return
        parent.content[name] = replace(node, key=place)

    def _path(self) -> tuple[str | int, ...]:
        """Where the block or list that is being read hangs."""
        return tuple((outer.key or ("?",))[0] if outer.keyed else len(outer.items) for outer in self._open[:-1])


def parse(text: str, source: str) -> tuple[Node | None, list[Fault]]:
    """The tree (None for an empty text) and what is wrong with it short of being unreadable."""
    builder = _Builder(source)
    for event in _events(text, source):
        builder.see(event)
    return builder.root, builder.faults


def _events(text: str, source: str) -> Iterator[Any]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ReaderError as error:
        before = text[: error.position]
        place = Place(source, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise UnreadableError(place, f"the character {text[error.position]!r} is not allowed in YAML") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)
        raise UnreadableError(place, _in_plain_words(error)) from None
    except Exception as error:  # noqa: BLE001  ruamel lets its own slips through (a chr() out of range, for one)
        raise UnreadableError(Place(source), f"is not YAML: {error}") from None


def _in_plain_words(error: MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem).split())
    for pattern, words in _PLAIN_WORDS:
        if pattern.search(problem):
            return words
    context = f" {error.context}" if error.context else ""
    return f"is not YAML: {problem}{context}"
