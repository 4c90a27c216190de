"""`base: other.yaml`: a file that changes another one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mfpde.arguments import file_path
from mfpde.errors import Fault, ProblemError
from mfpde.spec.document import UnreadableError, parse, read_text
from mfpde.spec.node import Node, Place, fault_at

__all__ = ["Reading", "merged", "read_tree"]

MAX_BASES = 10  # files that inherit from each other


@dataclass(frozen=True)
class Reading:
    """A file with its base merged in, and what is wrong; not `complete` when the base could not be had."""

    root: Node
    faults: list[Fault]
    complete: bool = True


def read_tree(path: Path, including: tuple[Path, ...] = ()) -> Reading:
    """The file with its base merged in; raises `UnreadableError` only for the file itself."""
    source = str(path)
    root, faults = parse(read_text(path), source)
    if root is None or root.content is None:
        raise UnreadableError(Place(source), "is empty; a problem needs at least a geometry")
    if not isinstance(root.content, dict):
        what = "a list" if isinstance(root.content, list) else "a single value"
        raise UnreadableError(
            root.place, f"a problem file is a block of keys (geometry: ..., attention: ...), this is {what}"
        )
    for key, child in root.content.items():
        root.content[key] = _with_full_paths(child, path.parent, key)
    base = root.content.pop("base", None)
    if base is None:
        return Reading(root, faults)
    below = _read_base(base, path, (*including, path))
    if isinstance(below, Fault):
        return Reading(root, [*faults, below], complete=False)
    return Reading(merged(below.root, root), [*faults, *below.faults], below.complete)


def _read_base(base: Node, path: Path, including: tuple[Path, ...]) -> Reading | Fault:
    def wrong(message: str) -> Fault:
        return fault_at(base.place, message, ("base",))

    try:
        target = path.parent / _named(base)
    except ProblemError as error:
        return wrong(error.faults[0].message)
    if _same(target) in map(_same, including):
        return wrong(
            f"{base.content} leads back to this file: " + " -> ".join(str(file) for file in (*including, target))
        )
    if len(including) > MAX_BASES:
        return wrong(f"is the {len(including)}th base of a base; at most {MAX_BASES} are read")
    try:
        return read_tree(target, including)
    except UnreadableError as error:
        if error.fault.line is None:  # the file itself cannot be had: what has to change is the line that names it
            return wrong(f"{target} {error.fault.message}")
        return error.fault


def _named(base: Node) -> Path:
    if not isinstance(base.content, str) or "\0" in base.content:
        raise ProblemError.at("base", "must be the name of another problem file, relative to this one")
    return file_path("base", base.content, "other.yaml")


def _same(path: Path) -> str:
    return os.path.realpath(path)


def merged(below: Node, above: Node) -> Node:
    """`above` on top of `below`: blocks merge key by key; a block of another kind, or anything else, replaces."""
    if not isinstance(below.content, dict) or not isinstance(above.content, dict):
        return above
    if _kind(above) is not None and _kind(above) != _kind(below):
        return above
    content = dict(below.content)
    for key, child in above.content.items():
        content[key] = merged(content[key], child) if key in content else child
    return above.holding(content)


def _kind(block: Node) -> object:
    kind = block.child("kind")
    return None if kind is None else kind.plain()


def _with_full_paths(node: Node, folder: Path, key: str | None) -> Node:
    """Every `file:` made independent of where the problem is read from: it is relative to the file that wrote it."""
    if isinstance(node.content, dict):
        return node.holding({name: _with_full_paths(child, folder, name) for name, child in node.content.items()})
    if isinstance(node.content, list):
        return node.holding([_with_full_paths(child, folder, None) for child in node.content])
    if key == "file" and isinstance(node.content, str) and node.content:
        full = os.path.abspath(folder / node.content)  # noqa: PTH100  resolve() would follow links
        return node.holding(full)
    return node
