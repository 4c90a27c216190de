"""Coefficients that are not plain numbers: tables in time, `{times: [...], values: [...], interpolation: constant or
linear}`, and random matrices, `{random: ginibre, scale: 1, seed: 3}`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from mfpde.arguments import number
from mfpde.errors import ProblemError
from mfpde.specification import Matrix, Real, Specification, Vector, Whole
from mfpde.typing import AnyArray

__all__ = [
    "FORMULA",
    "RECIPE",
    "SCHEDULE",
    "CoefficientFormula",
    "InTime",
    "MatrixInTime",
    "MatrixRecipe",
    "MatrixSchedule",
    "NumberInTime",
    "NumberSchedule",
    "Schedule",
    "at_time",
    "breaks_of",
]

#: what pydantic calls the choice of a schedule, a recipe or a formula over a constant, in the places of errors
SCHEDULE, RECIPE, FORMULA = "schedule", "recipe", "formula"
Part = TypeVar("Part", bound=Specification)


class CoefficientFormula(Specification):
    """Coefficients as a function of their number: `{formula: 1/k**2, count: 512}`, k = 1 .. count."""

    formula: str = Field(description="arithmetic in k")
    count: Whole = Field(ge=1, le=8192, description="how many; the rest is 0")


class MatrixRecipe(Specification):
    """A random matrix M with as many columns as what it multiplies has numbers, the same for the same seed and shape.

    * `ginibre`: independent normal entries of mean 0 and standard deviation `scale`, by default 1 / sqrt(columns): the
      eigenvalues of a square one fill the unit disc [ginibre1965].
    * `gram`: `scale X^T X / columns` for X of `rows` rows and standard normal entries, by default of scale 1:
      symmetric, of the sign of `scale`, of rank `rows`; of so many rows as columns it has Marchenko and Pastur's law.
    * `orthogonal`: `scale` times orthonormal rows with the uniform law (Haar's; M is orthogonal when square).

    `rows`: as many as columns unless told, or as many as its place needs. What has the same seed has the same numbers:
    Q and K of one seed and scales 1 and -1 are opposite, A and V of one seed are not independent. `layer` tells
    independent matrices of one seed apart.

    >>> import mfpde
    >>> mfpde.Softmax(A={"random": "orthogonal", "seed": 3}).query_matrix(2).round(3)
    array([[-0.603, -0.798],
           [ 0.798, -0.603]])
    """

    random: Literal["ginibre", "gram", "orthogonal"] = Field(description="the law of the matrix")
    rows: Whole | None = Field(default=None, ge=1, le=100_000, description="how many; of gram the rank")
    scale: Real | None = Field(default=None, gt=-np.inf, lt=np.inf, description="what its numbers are multiplied by")
    seed: Whole = Field(default=0, ge=0, lt=2**64, description="of its numbers")
    layer: Whole | None = Field(default=None, ge=0, description="which of several independent matrices of that seed")


Numbers: TypeAlias = float | tuple[tuple[float, ...], ...]
Plain: TypeAlias = Numbers | MatrixRecipe


class Schedule(Specification):
    """Values at `times`, ascending. `constant`: each value holds from its time on, the first one before it as well
    (layers). `linear`: straight lines between them, constant before the first and after the last."""

    times: Vector = Field(min_length=1, description="ascending times")
    interpolation: Literal["constant", "linear"] = Field(
        default="constant", description="constant: each value holds from its time on; linear: straight in between"
    )

    @property
    @abstractmethod
    def entries(self) -> tuple[Plain, ...]:
        """The values, in the order of the times."""

    @model_validator(mode="after")
    def _fits(self) -> Schedule:
        entries = self.entries
        if not np.isfinite(self.times).all() or np.any(np.diff(self.times) <= 0):
            raise ProblemError.at("times", f"must be finite and ascending, not {_shown(self.times)}")
        if len(entries) != len(self.times):
            raise ProblemError.at(
                "values", f"must be one for each time: {len(self.times)} times, {len(entries)} values"
            )
        if self.interpolation == "linear":
            self._lies_on_lines([entry for entry in entries if not isinstance(entry, MatrixRecipe)])
        return self

    def _lies_on_lines(self, entries: Sequence[Numbers]) -> None:
        if len(entries) < len(self.times):
            raise ProblemError.at("interpolation", "must be constant: random matrices hold from each time on")
        if len({np.shape(entry) for entry in entries}) > 1:
            shapes = ", ".join(str(np.shape(entry)) for entry in entries)
            raise ProblemError.at("values", f"must all have one shape to lie on straight lines, not {shapes}")
        if len(entries) > 1 and not all(np.isfinite(entry).all() for entry in entries):
            raise ProblemError.at("values", "must be finite to lie on straight lines")

    def at(self, time: float) -> Plain:
        """The value at that time."""
        later = int(np.searchsorted(self.times, time, side="right"))
        entries = self.entries
        if self.interpolation == "constant" or later in (0, len(entries)):
            return entries[max(later - 1, 0)]
        start, end = self.times[later - 1], self.times[later]
        share = (time - start) / (end - start)
        mixed = (1 - share) * np.asarray(entries[later - 1]) + share * np.asarray(entries[later])
        return _plain(mixed)

    def breaks(self) -> tuple[float, ...]:
        """Times of the jumps or kinks."""
        return self.times[1:] if self.interpolation == "constant" else self.times if len(self.times) > 1 else ()


class NumberSchedule(Schedule):
    """A number that depends on time.

    >>> NumberSchedule(times=[0, 1], values=[2, 4], interpolation="linear").at(0.25)
    2.5
    """

    values: tuple[Real, ...] = Field(description="one number for each time")

    @property
    def entries(self) -> tuple[Plain, ...]:
        return self.values


def _way(value: Any) -> str:
    """What stands for a coefficient: a recipe is told from a schedule by its keys."""
    if isinstance(value, Mapping):
        return RECIPE if "times" not in value and value.keys() & MatrixRecipe.model_fields.keys() else SCHEDULE
    return RECIPE if isinstance(value, MatrixRecipe) else SCHEDULE if isinstance(value, Schedule) else "constant"


#: a matrix that does not depend on time: numbers, or a recipe
AnyMatrix: TypeAlias = Annotated[
    Annotated[Matrix, Tag("constant")] | Annotated[MatrixRecipe, Tag(RECIPE)], Discriminator(_way)
]


class MatrixSchedule(Schedule):
    """A matrix (or a number that stands for that multiple of the identity) that depends on time. A single recipe as its
    `values` is one independent random matrix for each time.

    >>> layers = MatrixSchedule(times=[0, 1], values=[1, [[0, 1], [1, 0]]])
    >>> layers.at(0.5), layers.at(1.0), layers.breaks()
    (1.0, ((0.0, 1.0), (1.0, 0.0)), (1.0,))
    """

    values: Annotated[
        Annotated[tuple[AnyMatrix, ...], Tag("constant")] | Annotated[MatrixRecipe, Tag(RECIPE)], Discriminator(_way)
    ] = Field(description="one matrix, number or recipe for each time; or one recipe for all of them")

    @property
    def entries(self) -> tuple[Plain, ...]:
        recipe = self.values
        if not isinstance(recipe, MatrixRecipe):
            return recipe
        return tuple(recipe.altered({"layer": layer}) for layer in range(len(self.times)))


def _plain(value: AnyArray) -> Plain:
    return float(value) if value.ndim == 0 else tuple(tuple(float(entry) for entry in row) for row in value)


def _shown(times: tuple[float, ...]) -> str:
    text = ", ".join(f"{time:g}" for time in times[:6])
    return f"[{text}, ...]" if len(times) > 6 else f"[{text}]"


def _number_way(value: Any) -> str:
    return SCHEDULE if isinstance(value, Mapping | Schedule) else "constant"


#: a number, or a schedule of numbers
NumberInTime: TypeAlias = Annotated[
    Annotated[Real, Tag("constant")] | Annotated[NumberSchedule, Tag(SCHEDULE)], Discriminator(_number_way)
]
#: a matrix (or a number for that multiple of the identity), a recipe of one, or a schedule of them
MatrixInTime: TypeAlias = Annotated[
    Annotated[Matrix, Tag("constant")]
    | Annotated[MatrixRecipe, Tag(RECIPE)]
    | Annotated[MatrixSchedule, Tag(SCHEDULE)],
    Discriminator(_way),
]


def at_time(specification: Part, time: float) -> Part:
    """The specification with the values of that time in place of schedules; itself if it holds none."""
    changed = {}
    for name in type(specification).model_fields:
        value = specification.__dict__[name]  # every step asks: pydantic's own iteration takes four times as long
        then = _value_at(value, time)
        if then is not value:
            changed[name] = then
    return specification.altered(changed) if changed else specification


def _value_at(value: Any, time: float) -> Any:
    if isinstance(value, Schedule):
        return value.at(time)
    if isinstance(value, InTime):
        return value.at(time)
    if isinstance(value, Specification):
        return at_time(value, time)
    if isinstance(value, tuple) and value and isinstance(value[0], Specification):
        then = tuple(at_time(item, time) for item in value)
        return then if any(new is not old for new, old in zip(then, value, strict=True)) else value
    return value


def breaks_of(specification: Specification) -> tuple[float, ...]:
    """The breaks of all schedules inside, ascending, none twice."""
    found: set[float] = set()
    for name in type(specification).model_fields:
        value = specification.__dict__[name]
        inside = value if isinstance(value, tuple) else (value,)
        for item in inside:
            if isinstance(item, Schedule):
                found.update(item.breaks())
            elif isinstance(item, Specification):
                found.update(breaks_of(item))
            else:
                break
    return tuple(sorted(found))


class InTime(Specification):
    """A specification whose coefficients may be schedules."""

    def at(self, time: float) -> Self:
        """The same specification with the coefficients of that time, constant."""
        number("time", time)
        return self if self.constant else at_time(self, time)

    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink, ascending."""
        return self._breaks

    @cached_property
    def _breaks(self) -> tuple[float, ...]:
        """Found once, likewise."""
        return breaks_of(self)

    @property
    def constant(self) -> bool:
        """Whether no coefficient depends on time."""
        return self._constant

    @cached_property
    def _constant(self) -> bool:
        """Found once: every row that is observed asks."""
        return at_time(self, 0.0) is self
