"""`--set KEY=VALUE`: one value of a problem changed from outside."""

from __future__ import annotations

from collections.abc import Mapping

from mfpde.errors import Fault
from mfpde.spec.document import UnreadableError, parse
from mfpde.spec.node import Node, Place, fault_at

__all__ = ["with_settings"]


def with_settings(root: Node, settings: Mapping[str, str]) -> tuple[Node, list[Fault]]:
    """The tree with every setting in its place, and what is wrong with the settings themselves.

    A key that no specification knows is put into the tree all the same: it is reported like one in the file.
    """
    faults: list[Fault] = []
    for key, text in settings.items():
        place = Place(f"--set {key}={text}")
        try:
            value, more = parse(text, place.source)
            faults += [fault_at(place, fault.message, tuple(key.split("."))) for fault in more]
            root = _put(root, tuple(key.split(".")), _moved(value or Node(None, place), place))
        except UnreadableError as error:
            faults.append(fault_at(place, error.fault.message, tuple(key.split("."))))
    return root, faults


def _moved(node: Node, place: Place) -> Node:
    """The whole value at one place: a position within a command line helps nobody."""
    content = node.content
    if isinstance(content, dict):
        content = {key: _moved(child, place) for key, child in content.items()}
    elif isinstance(content, list):
        content = [_moved(child, place) for child in content]
    return Node(content, place, place)


def _put(node: Node, path: tuple[str, ...], value: Node) -> Node:
    if not path:
        return value
    name, *rest = path
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
        content[int(name)] = _put(child, tuple(rest), value)
        return node.holding(content)
    if isinstance(node.content, dict) or node.content is None:
        block = node.content or {}
        child = block.get(name) or Node(None, value.place, value.place)
        return node.holding({**block, name: _put(child, tuple(rest), value)})
    raise UnreadableError(value.place, f"{node.content!r} is a single value and has no key {name!r}")
