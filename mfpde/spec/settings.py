"""`--set KEY=VALUE`: one value of a problem changed from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mfpde.errors import Fault, ProblemError
from mfpde.problem import Problem
from mfpde.registry import register
from mfpde.spec.document import UnreadableError, parse
from mfpde.spec.node import Node, Place, fault_at
from mfpde.spec.plain_values import native
from mfpde.specification import Part, Specification

__all__ = ["changed", "with_settings"]


#: of a value, in the name of the setting it belongs to
_MAX_LETTERS = 80
_SETTING_PLACE = Place("a setting")  # of values that were read before


def with_settings(root: Node, settings: Mapping[str, Any]) -> tuple[Node, list[Fault]]:
    """The tree with every setting in its place, and what is wrong with the settings themselves.

    A text is read as YAML; what else a Python program gives is taken as it is. A key that no specification knows is put
    into the tree all the same: it is reported like one in the file.
    """
    faults: list[Fault] = []
    for key, given in settings.items():
        place, path = _place(key, given), tuple(str(key).split("."))
        try:
            value, more = _read(given, place)
            faults += [_in_value(fault, place, path) for fault in more]
            root = _put(root, path, value)
        except UnreadableError as error:
            faults.append(_in_value(error.fault, place, path))
    return root, faults


@register("reader", "changed")
def changed(problem: Problem, settings: Mapping[str, Any]) -> Problem:
    """The problem with other values at these dotted keys, checked. Only blocks that a key is in are built anew: what is
    long and stays as it is, such as a list of points, costs nothing."""
    blocks = {name: _plain(getattr(problem, name, None)) for name in {key.split(".")[0] for key in settings}}
    tree = _tree(blocks, _SETTING_PLACE)
    for key, value in settings.items():
        try:
            tree = _put(tree, tuple(key.split(".")), _tree(native(value), _SETTING_PLACE))
        except UnreadableError as error:
            raise ProblemError.at(key, error.fault.message) from None
    return Problem.from_dict({**problem.written(given=True), **tree.plain()})


def _plain(given: Any) -> Any:
    """What was written of a block, without what is left to defaults: these may depend on the value that changes."""
    if isinstance(given, tuple):
        return [_plain(item) for item in given]
    if not isinstance(given, Specification):
        return given
    written = {name: _plain(value) for name, value in given.written(given=True).items() if value is not None}
    return {"kind": given.kind, **written} if isinstance(given, Part) else written


def _place(key: str, given: Any) -> Place:
    text = " ".join(str(given).split())
    return Place(f"--set {key}={text if len(text) <= _MAX_LETTERS else f'{text[:_MAX_LETTERS]}...'}")


def _in_value(fault: Fault, place: Place, path: tuple[str, ...]) -> Fault:
    """A fault of the text itself, with where in the text it is."""
    where = "" if fault.column is None else f" (character {fault.column} of the value"
    where += f", line {fault.line})" if where and fault.line != 1 else ")" if where else ""
    return fault_at(place, f"{fault.message}{where}", (*path, *fault.path))


def _read(given: Any, place: Place) -> tuple[Node, list[Fault]]:
    if not isinstance(given, str):
        return _tree(native(given), place), []
    value, faults = parse(given, place.source)
    return _tree(None if value is None else value.plain(), place), faults


def _tree(value: Any, place: Place) -> Node:
    """A plain value as a tree, all of it at one place: that of the setting."""
    content = value
    if isinstance(value, dict):
        content = {str(key): _tree(child, place) for key, child in value.items()}
    elif isinstance(value, list):
        content = [_tree(child, place) for child in value]
    return Node(content, place, place)


def _put(node: Node, path: tuple[str, ...], value: Node) -> Node:
    if not path:
        return value
    name, rest = _first_key(node, path)
    if not name:
        raise UnreadableError(value.place, "a setting is written key.key=value, noise.kappa=4 for instance")
    if isinstance(node.content, list):
        child = node.child(name)
        if child is None:
            length = len(node.content)
            raise UnreadableError(
                value.place, f"{name!r} is not a position in this list of {length}: positions are 0 to {length - 1}"
            )
        content = list(node.content)
        content[int(name)] = _put(child, rest, value)
        return node.holding(content)
    if isinstance(node.content, dict) or node.content is None:
        block = node.content or {}
        child = block.get(name) or Node(None, value.place, value.place)
        return node.holding({**block, name: _put(child, rest, value)})
    raise UnreadableError(value.place, f"{node.content!r} is a single value and has no key {name!r}")


def _first_key(node: Node, path: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The key that a path begins with, and the rest of it: swept keys have dots in them."""
    block = node.content if isinstance(node.content, dict) else {}
    length = next((count for count in range(len(path), 1, -1) if ".".join(path[:count]) in block), 1)
    return ".".join(path[:length]), path[length:]
