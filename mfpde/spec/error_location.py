"""The specification that an error of pydantic's belongs to."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from mfpde.coefficients import FORMULA, RECIPE, SCHEDULE, CoefficientFormula, MatrixRecipe, Schedule
from mfpde.problem import Problem
from mfpde.registry import members
from mfpde.specification import OfFamily, Specification

__all__ = ["Spot", "spot"]


@dataclass(frozen=True)
class Spot:
    """Where an error of pydantic's is: the path of keys without pydantic's own additions, and what was given there.

    `owner` is the specification whose field the last key is; `family` the registry family that is wanted there, if any.
    """

    path: tuple[str | int, ...]
    given: Any
    owner: type[Specification] | None
    family: str | None


def spot(location: Sequence[str | int], data: Any, root: type[Specification] = Problem) -> Spot:
    """Follow pydantic's location through the data of a `root` and the classes, and leave out what is neither key nor
    position.

    >>> spot(("attention", "softmax", "beta"), {"attention": {"kind": "softmax", "beta": "x"}}).path
    ('attention', 'beta')
    """
    wanted: Any = root
    owner: type[Specification] | None = root
    path: list[str | int] = []
    for part in location:
        family = _family(wanted)
        if family is not None:
            wanted = members(family).get(str(part))
            owner = wanted
        elif _is_specification(wanted) and part in wanted.model_fields and part not in wanted.written_keys():
            wanted = _field(wanted, part)  # its keys stand beside those of its owner
        elif _is_specification(wanted):
            owner = wanted
            path.append(part)
            data = data.get(part) if isinstance(data, Mapping) else getattr(data, str(part), None)
            wanted = _field(wanted, part)
        elif isinstance(part, int) and isinstance(data, Sequence) and part < len(data):
            path.append(part)
            data, wanted = data[part], _item(wanted)
        elif part == SCHEDULE:
            wanted = owner = _schedule(wanted)
        elif part == RECIPE:
            wanted = owner = MatrixRecipe
        elif part == FORMULA:
            wanted = owner = CoefficientFormula
    if _is_specification(wanted):
        owner = wanted
    return Spot(tuple(path), data, owner, _family(wanted))


def _is_specification(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Specification)


def _field(owner: type[Specification], name: str | int) -> Any:
    known: FieldInfo | None = {**owner.model_fields, **owner.written_keys()}.get(str(name))
    if known is None:
        return None
    marks = [mark for mark in known.metadata if isinstance(mark, OfFamily)]
    return _without_none(Annotated[known.annotation, marks[0]] if marks else known.annotation)


def _without_none(wanted: Any) -> Any:
    """`X | None` is X to whoever looks for what may stand there."""
    if get_origin(wanted) in (Union, types.UnionType):
        left = [choice for choice in get_args(wanted) if choice is not type(None)]
        return left[0] if len(left) == 1 else wanted
    return wanted


def _schedule(wanted: Any) -> type[Schedule] | None:
    """The schedule that may stand in place of a constant."""
    if isinstance(wanted, type) and issubclass(wanted, Schedule):
        return wanted
    return next(filter(None, map(_schedule, get_args(wanted))), None)


def _family(wanted: Any) -> str | None:
    if get_origin(wanted) is Annotated:
        return next((mark.family for mark in get_args(wanted)[1:] if isinstance(mark, OfFamily)), None)
    return None


def _item(wanted: Any) -> Any:
    inner = get_args(wanted)
    return inner[0] if get_origin(wanted) in (tuple, list) and inner else None
