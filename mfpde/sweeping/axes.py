"""Swept axes: keys of a problem and the values that they take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.sweep_block import SweepBlock
from mfpde.typing import AnyArray

__all__ = ["SEED", "SweptAxis", "axes_of", "value_words", "values_of"]

SEED = "seed"  # the last word of a key whose values are repeats of one thing


@dataclass(frozen=True)
class SweptAxis:
    """One dimension of a sweep, named after its first key: each of `keys` has as many values as the axis is long.

    >>> SweptAxis(("noise.kappa", "time.until"), ((1, 2, 4), (10.0, 20.0, 40.0))).at(1)
    {'noise.kappa': 2, 'time.until': 20.0}
    """

    keys: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    stride: int = 1  # of its places, between two of the grid before refinement

    @property
    def name(self) -> str:
        """Of its dimension."""
        return self.keys[0]

    def __len__(self) -> int:
        return len(self.columns[0])

    def at(self, place: int) -> dict[str, Any]:
        """The values there, by key."""
        return {key: column[place] for key, column in zip(self.keys, self.columns, strict=True)}

    @property
    def numeric(self) -> bool:
        """Whether its own values are numbers, in an order that a coordinate has."""
        return coordinate(self.columns[0]).dtype.kind == "f"

    @property
    def coordinates(self) -> dict[str, AnyArray]:
        """The values of each key as an array: numbers, or words for anything else."""
        return {key: coordinate(column) for key, column in zip(self.keys, self.columns, strict=True)}


def coordinate(values: tuple[Any, ...]) -> AnyArray:
    """Values as floats where all are numbers, otherwise as text.

    >>> coordinate((1, 2.5)), coordinate(("softmax", {"kind": "l2"}))
    (array([1. , 2.5]), array(['softmax', '{"kind": "l2"}'], dtype='<U14'))
    """
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float)
    return np.array([value if isinstance(value, str) else json.dumps(value, default=str) for value in values])


def value_words(value: Any) -> str:
    """A swept value for people.

    >>> value_words(0.1 + 0.2), value_words({"kind": "finite-volume", "cells": [8, 16]})
    ('0.3', 'finite-volume, cells [8, 16]')
    """
    if isinstance(value, Mapping):
        kind = [str(value["kind"])] if "kind" in value else []
        return ", ".join([*kind, *(f"{key} {value_words(one)}" for key, one in value.items() if key != "kind")])
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_words, value))}]"
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def axes_of(block: SweepBlock) -> tuple[SweptAxis, ...]:
    """Those of the keys on their own in the order of the file, then those of keys that move together. Where the sweep
    is refined, ranges have the values of the finest grid."""
    return tuple(_axes(block))


def _axes(block: SweepBlock) -> Iterator[SweptAxis]:
    halvings = 0 if block.refine is None else block.refine.levels
    for key, given in block.axes.items():
        refined = isinstance(given, dict) and key.split(".")[-1] != SEED
        stride = 2**halvings if refined else 1
        values = {**given, "count": (given["count"] - 1) * stride + 1} if refined else given
        yield SweptAxis((key,), (values_of(values),), stride)
    for group in block.zip:
        yield SweptAxis(tuple(group), tuple(map(values_of, group.values())))


def values_of(given: Any) -> tuple[Any, ...]:
    """A list as it is, a range as its values: whole numbers where all of them are.

    >>> values_of({"from": 0, "to": 4, "count": 3, "scale": "linear"})
    (0, 2, 4)
    >>> values_of({"from": 0.01, "to": 1, "count": 3, "scale": "log"})
    (0.01, 0.1, 1.0)
    """
    if isinstance(given, tuple | list):
        return tuple(given)
    low, high, count = given["from"], given["to"], given["count"]
    whole = isinstance(low, int) and isinstance(high, int)
    if given["scale"] == "log":
        found = np.geomspace(low, high, count)
    elif whole and (high - low) % (count - 1) == 0:
        return tuple(range(low, high + (1 if high > low else -1), (high - low) // (count - 1)))
    else:
        found = np.linspace(low, high, count)
    return tuple(found.tolist())
