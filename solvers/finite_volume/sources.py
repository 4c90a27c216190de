"""The papers behind what a run of finite volumes used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["sources_of"]

_OF_ORDER = {1: ("courant1952",), 2: ("vanleer1979",), 5: ("borges2008",)}
_OF_STEPPER = {"dop853": ("hairer1993",), "ssprk54": ("spiteri2002",), "ssprk3": ("shu1988", "fekete2022")}


def sources_of(order: int, stepper: str, noisy: bool, statistics: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys of the bibliography; without statistics, of everything that may come to be used.

    >>> sources_of(5, "ssprk54", True, {"stiff": 0})
    ('borges2008', 'spiteri2002')
    """
    stiff = statistics["stiff"] > 0 if "stiff" in statistics else noisy
    return (*_OF_ORDER.get(order, ()), *_OF_STEPPER[stepper], *(("sommeijer1998",) if stiff else ()))
