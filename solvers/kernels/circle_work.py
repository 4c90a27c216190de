"""The arrays that the compiled loop of the circle works on."""

from __future__ import annotations

from typing import NamedTuple

from mfpde.typing import AnyArray, Float

__all__ = ["Work"]


class Work(NamedTuple):
    """Room for the compiled loop; nothing in it outlives a step but `start`, which follows from the state."""

    padded: Float
    offset: int
    potential: Float
    normaliser: Float
    external: Float
    drift: Float
    density: Float
    speed: Float
    scratch: Float
    roots: Float
    start: Float
    slope: Float
    scaled: Float
    errors: Float
    tables: Float
    table_steps: Float
    table_modes: AnyArray
    rates: Float
    watched: int
    error_sizes: Float
    state_sizes: Float
