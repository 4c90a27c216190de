"""The arrays that the compiled loop of the circle, and of axes, works on."""

from __future__ import annotations

from typing import NamedTuple

from mfpde.solvers.kernels.axis_slope import AxisRoom
from mfpde.typing import AnyArray, Float

__all__ = ["Work"]


class Work(NamedTuple):
    """Room for the compiled loop; nothing in it outlives a step but `start`, which follows from the state.

    `potential` has a row of real and one of imaginary parts, about axes only the real one. `peaks` are half the largest
    values of the functions of modes, of which there are `copies`; `pulls` the drift that a mode of size 1 may make;
    `rounding` what the largest mode leaves of all; `points` the places on a great circle where
    products are made.
    """

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
    pulls: Float
    peaks: Float
    copies: float
    rounding: float
    points: int
    axis: AxisRoom
