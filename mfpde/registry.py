"""Families of interchangeable parts, each found by its name.

A part registers itself where it is written, and is then known to YAML, `mfpde list`, the docs tables and the tests of
its family:

    @register("attention", "softmax")
    class Softmax(Attention): ...

A family's modules are imported once, the first time somebody asks for it: no list is kept by hand.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from mfpde.errors import MfpdeError, nearest, shown

__all__ = ["FAMILIES", "lookup", "members", "own_modules", "register"]

#: family -> the packages whose direct children hold its members
FAMILIES = {
    "geometry": "mfpde.geometry",
    "attention": "mfpde.attention",
    "drift": "mfpde.attention",
    "initial": "mfpde.measure.initial",
    "solver": "mfpde.solvers",
    "form": "mfpde.solvers.forms",
    "observable": "mfpde.observe",
    "comparison": "mfpde.comparing",
    "distance": "mfpde.distances",
    "case": "mfpde.validation.cases",
    "reader": "mfpde.spec",
    "view": "mfpde.plotting",
    "portrait": "mfpde.plotting",
    "archive": "mfpde.store mfpde.bifurcation.files mfpde.sweeping.files",
    "stepper": "mfpde.solvers.steppers",
}

_members: dict[str, dict[str, Any]] = {family: {} for family in FAMILIES}
_loaded: set[str] = set()
Part = TypeVar("Part")


def register(family: str, name: str) -> Callable[[Part], Part]:
    """Class or function decorator: make a part known to its family under `name`."""

    def add(part: Part) -> Part:
        known = _members[family]
        if name in known and known[name] is not part:
            raise MfpdeError(f"{family} {name!r} is registered twice: {known[name]!r} and {part!r}")
        known[name] = part
        return part

    return add


def own_modules() -> list[str]:
    """The modules of a user that have registered parts."""
    modules = {part.__module__ for family in _members.values() for part in family.values()}
    return sorted(name for name in modules if name.partition(".")[0] != __name__.partition(".")[0])


def members(family: str) -> dict[str, Any]:
    """All parts of a family by name, sorted."""
    if family not in _loaded:
        _loaded.add(family)
        for name in FAMILIES[family].split():
            package = importlib.import_module(name)
            for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
                importlib.import_module(module.name)
    return dict(sorted(_members[family].items()))


def lookup(family: str, name: str) -> Any:
    """The part of that name; an unknown name is answered with the known ones.

    >>> lookup("attention", "softmax").__name__
    'Softmax'
    """
    known = members(family)
    if name not in known:
        raise MfpdeError(
            f"no {family} is called {shown(name)}{nearest(name, known)}; known: {', '.join(known) or 'none'}"
        )
    return known[name]
