"""A validation case: a claim, where it comes from, and the computation that puts it to the test."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.specification import Real, Specification
from mfpde.validation.report import Check, Drawing, Report
from mfpde.validation.solving import UnfinishedError

__all__ = ["Card", "Case", "finished", "merged", "worst"]


class Card(Specification):
    """What the file `<case>.yaml` says: the claim in words, its source, the tolerance, the problem and the sizes."""

    claim: str
    source: str
    citations: tuple[str, ...] = ()
    tolerance: Real = Field(gt=0)
    problem: dict[str, Any]
    full: dict[str, Any]
    quick: dict[str, Any]


class Case(ABC):
    """Registered by name, `@register("case", "kuramoto-order-parameter")`, its card in a file of the same name beside
    it."""

    name: str = ""

    def __init__(self) -> None:
        self.card = read_card(Path(str(sys.modules[type(self).__module__].__file__)).with_suffix(".yaml"))

    @abstractmethod
    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        """Solve, compare, and say how to draw it."""

    def run(self, *, quick: bool = False) -> Report:
        """The report on this case. A run that ends early is a failed check, not an exception."""
        drawing: Drawing | None
        try:
            checks, drawing = self.examine(self.card.quick if quick else self.card.full)
        except UnfinishedError as error:
            checks, drawing = [finished(error.run)], None
        return Report(self.name, self.card.claim, tuple(checks), drawing, citations=self.card.citations)

    def problem(self, **changes: Any) -> Problem:
        """The card's problem with some blocks changed, key by key."""
        return Problem.from_dict(merged(self.card.problem, changes))


def merged(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Blocks merge key by key; a block that names another `kind` replaces, and so does what is no block."""
    result = dict(data)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = value
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            same = value.get("kind", old.get("kind")) == old.get("kind")
            result[key] = {**old, **value} if same else value
    return result


def finished(run: Run) -> Check:
    """The check that a run came to its end."""
    until = run.problem.time.until if run.problem.time is not None else 0.0
    claim = "the run comes to its end" if run.outcome.complete else f"the run comes to its end, but: {run.outcome}"
    return Check(claim, "outcome of the run", until, run.outcome.time, 0.0, run.outcome.complete)


@lru_cache
def read_card(path: Path) -> Card:
    """A card from its file."""
    from ruamel.yaml import YAML

    with path.open(encoding="utf-8") as stream:
        return Card.model_validate(YAML(typ="safe", pure=True).load(stream))


def worst(errors: Iterable[float]) -> float:
    """The largest, NaN if any is."""
    largest = 0.0
    for error in errors:
        if not error <= largest:
            largest = error
            if error != error:  # noqa: PLR0124 - NaN is the one value that differs from itself
                break
    return largest
