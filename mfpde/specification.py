"""Base of everything a user can write down: frozen, checked, hashable, the same in Python, YAML and JSON Schema."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from numbers import Number
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from mfpde.errors import Fault, ProblemError, shown
from mfpde.registry import lookup, members

__all__ = ["Intervals", "Matrix", "OfFamily", "Part", "Real", "Specification", "Truth", "Vector", "Whole"]


class Specification(BaseModel):
    """A frozen description with a canonical form. Unknown keys are errors; two equal descriptions have one
    `content_hash`. What cannot be built is a `ProblemError` with the sentences that a problem file gets.

    >>> from mfpde import Softmax
    >>> Softmax(beta=2) == Softmax(beta=2.0)
    True
    >>> Softmax(beta=2).content_hash == Softmax(beta=3).content_hash
    False
    >>> Softmax(beta="much")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: Softmax: beta: must be a number, not 'much'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, validate_default=False)

    def __init__(self, /, *given: Any, **data: Any) -> None:
        """Every value by its name; all that is wrong is raised at once, as a `ProblemError`."""
        if given:
            known = ", ".join(name for name in self.written_keys() if name != "kind")
            raise self._problem((), f"takes its values by name, not {shown(given[0])}; known: {known or 'none'}")
        try:
            super().__init__(**data)
        except ValidationError as error:
            faults = lookup("reader", "faults")(error, data, type(self))
            raise ProblemError(Fault(f.path, f.message, type(self).__name__) for f in faults) from None

    # pydantic takes it for its own: same signature, and blocks inside others do not pass here
    functools.update_wrapper(__init__, BaseModel.__init__, assigned=())

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError:
            raise self._problem((name,), "cannot be changed: make another one, with what is to be different") from None

    def __delattr__(self, name: str) -> None:
        raise self._problem((name,), "cannot be taken away: make another one without it")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values for some keys, checked like any other: `update={"kappa": 3}`."""
        if update is None:
            return super().model_copy(deep=deep)
        if not isinstance(update, Mapping):
            raise self._problem((), f"update: must be a mapping from keys to values, not {shown(update)}")
        return type(self)(**{str(key): value for key, value in {**self.written(given=True), **update}.items()})

    def altered(self, update: Mapping[str, Any]) -> Self:
        """The same, for values that have been checked already: nothing is looked at again. What had been derived from
        the old ones is not kept."""
        made = super().model_copy(update=update)
        for name in made.__dict__.keys() - type(self).model_fields.keys():
            del made.__dict__[name]
        return made

    @classmethod
    def written_keys(cls) -> dict[str, FieldInfo]:
        """The keys that a file may give it."""
        return dict(cls.model_fields)

    def written(self, *, given: bool = False) -> dict[str, Any]:
        """The values of its keys; of those that were given, without what was left to defaults."""
        names = [name for name in type(self).model_fields if not given or name in self.model_fields_set]
        return {name: self.__dict__[name] for name in names}

    def copy(self, **options: Any) -> Self:
        """As `model_copy`."""
        return self.model_copy(**options)

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:  # type: ignore[override]
        """As the class itself: nothing is made unchecked."""
        return cls(**values)

    def _problem(self, path: tuple[str, ...], message: str) -> ProblemError:
        return ProblemError([Fault(path, message, type(self).__name__)])

    def canonical(self) -> dict[str, Any]:
        """Keys in words, values in plain Python, nothing that is absent: what YAML shows and the hash sees."""
        data: dict[str, Any] = _plain(self.model_dump(mode="python", exclude_none=True))
        return data

    @functools.cached_property
    def content_hash(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal: caches ask for it again and again."""
        return hashlib.sha256(json.dumps(self.canonical(), sort_keys=True).encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.content_hash)


class Part(Specification):
    """One of a family of interchangeable parts, told apart by its `kind`."""

    kind: str


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


class OfFamily:
    """Marks a field that holds any member of a registry family, told apart by `kind`."""

    def __init__(self, family: str) -> None:
        self.family = family

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: dict[Any, Any] = {name: handler.generate_schema(part) for name, part in members(self.family).items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")


class NameOf(OfFamily):
    """Marks a field that holds the name of a member of a registry family; with `unfit`, the attribute that says why a
    member is not fit for that field, of those alone that are."""

    def __init__(self, family: str, unfit: str | None = None) -> None:
        super().__init__(family)
        self._unfit = unfit

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._known)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        names = self._fit()
        return {"enum": names, "type": "string"} if len(names) > 1 else {"const": names[0], "type": "string"}

    def _reasons(self) -> dict[str, str | None]:
        return {name: self._unfit and getattr(part, self._unfit) for name, part in members(self.family).items()}

    def _fit(self) -> list[str]:
        return [name for name, reason in self._reasons().items() if reason is None]

    def _known(self, value: Any) -> str:
        """Asked anew for each value: members may have come since the field was made."""
        fit = self._fit()
        if isinstance(value, str) and value in fit:
            return value
        reason = self._reasons().get(value) if isinstance(value, str) else None
        if reason is not None:
            raise ProblemError([Fault((), f"cannot be {value}: {reason}; known: {', '.join(fit)}")])
        quoted = [repr(name) for name in fit]
        expected = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
        raise PydanticKnownError("literal_error", {"expected": expected})


def _number(value: Any) -> float:
    return _number_inside(value, ())


def _number_inside(value: Any, where: tuple[int, ...]) -> float:
    """`where` is the way from the array to the entry, told along with a fault so that a message can point at it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and value.lower().lstrip("+") in ("inf", ".inf", "infinity"):
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number", "must be a number, not {given}", {"given": shown(value), "where": where})
    try:
        number = float(value)
    except OverflowError:
        raise PydanticCustomError("number_size", "is too large for a double", {"where": where}) from None
    if math.isnan(number):
        raise PydanticCustomError("number", "must be a number, not NaN", {"where": where})
    return number + 0.0  # -0.0 becomes 0.0: equal problems have equal hashes


def _nested(value: Any, depth: int, where: tuple[int, ...] = ()) -> Any:
    """Arrays and lists to nested tuples of that depth."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if depth == 0:
        return _number_inside(value, where)
    if not isinstance(value, list | tuple):
        what = ("list", "matrix")[depth - 1]
        details = {"what": what, "given": shown(value), "where": where}
        raise PydanticCustomError("array", "must be a {what}, not {given}", details)
    rows = tuple(_nested(item, depth - 1, (*where, index)) for index, item in enumerate(value))
    if depth == 2 and len({len(row) for row in rows}) > 1:
        raise PydanticCustomError(
            "rows", "has rows of different lengths {lengths}", {"lengths": shown([len(r) for r in rows])}
        )
    return rows


def _matrix(value: Any) -> Any:
    scalar = isinstance(value, int | float | str | np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if scalar:
        return _number(value.item() if isinstance(value, np.ndarray) else value)
    rows = _nested(value, 2)
    if not rows or not rows[0]:
        raise PydanticCustomError(
            "rows", "must be a matrix with at least one entry, not {given}", {"given": shown(value)}
        )
    return rows


def _intervals(value: Any) -> Any:
    """A pair of numbers is the only interval."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    pair = isinstance(value, list | tuple) and len(value) == 2
    return (value,) if pair and all(isinstance(end, Number) for end in value) else value


def _unboxed(value: Any) -> Any:
    """Numpy scalars as Python ones, 1e3 as the whole number it is."""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


_NUMBER_SCHEMA = {"anyOf": [{"type": "number"}, {"enum": ["inf", ".inf"]}]}
_LIST_SCHEMA = {"type": "array", "items": {"type": "number"}}

#: true or false, and nothing that merely looks like it
Truth: TypeAlias = Annotated[bool, Strict(), BeforeValidator(_unboxed)]
#: a whole number
Whole: TypeAlias = Annotated[int, Strict(), BeforeValidator(_unboxed)]
#: a finite or infinite number; numpy scalars welcome, booleans and text are not
Real: TypeAlias = Annotated[float, BeforeValidator(_number), WithJsonSchema(_NUMBER_SCHEMA)]
#: a list of numbers
Vector: TypeAlias = Annotated[
    tuple[float, ...], BeforeValidator(lambda value: _nested(value, 1)), WithJsonSchema(_LIST_SCHEMA)
]
#: one `[from, to]` for each axis; where there is one axis, that pair alone will do
Intervals: TypeAlias = Annotated[
    tuple[Vector, ...],
    BeforeValidator(_intervals),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _LIST_SCHEMA}, _LIST_SCHEMA]}),
]
#: a matrix, or a number that stands for that multiple of the identity
Matrix: TypeAlias = Annotated[
    float | tuple[tuple[float, ...], ...],
    BeforeValidator(_matrix),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "array", "items": _LIST_SCHEMA}]}),
]
