"""What callers hand to the methods of a measure is looked at before any of its own sees it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mfpde.arguments import amount, number
from mfpde.errors import ProblemError

if TYPE_CHECKING:
    from mfpde.measure.base import Measure

__all__ = ["CHECKS", "NODES_ACCURACY", "check_degree", "check_reach", "checked"]

#: of nodes, unless another is asked for
NODES_ACCURACY = 1e-14


def check_nodes(accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> None:
    """Of `nodes`."""
    for name, given in (("accuracy", accuracy), ("refinement", refinement)):
        if math.isnan(number(name, given)):
            raise ProblemError.at(name, "must be a number, not NaN")
    if not 0 < refinement < math.inf:
        raise ProblemError.at("refinement", f"must be a positive number, not {refinement:g}")


def check_reach(tolerance: float = NODES_ACCURACY, *_: Any, **__: Any) -> None:
    """Of `reach`."""
    number("tolerance", tolerance)


def check_count(count: int, *_: Any, **__: Any) -> None:
    """Of `sample`."""
    amount("count", count)


def check_degree(degree: int) -> None:
    """Of `harmonics`."""
    amount("degree", degree)


#: what looks at the arguments of a method, by its name
CHECKS: dict[str, Callable[..., None]] = {
    "nodes": check_nodes,
    "reach": check_reach,
    "sample": check_count,
    "harmonics": check_degree,
}


def checked(method: Callable[..., Any], check: Callable[..., None]) -> Callable[..., Any]:
    """The method, with its arguments looked at before."""

    @functools.wraps(method)
    def call(self: Measure, *given: Any, **named: Any) -> Any:
        check(*given, **named)
        return method(self, *given, **named)

    return call
