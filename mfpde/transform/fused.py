"""Fused multiply-add, written out where it is measurably faster.

The compiler is never free to fuse a product and a sum by itself: what it would fuse depends on which functions it sees
together, and that differs between a process that compiles and one that loads compiled code. Written by hand the bits
are the same in every process, and on every processor: one without the instruction calls the C library, which is
correct and many times slower (x86 has had it since 2013, ARM64 always).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numba
from numba import types
from numba.extending import intrinsic

__all__ = ["fused"]


def _instruction(_typing_context: Any, _a: Any, _b: Any, _c: Any) -> Any:
    """a b + c, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def _exactly(a: float, b: float, c: float) -> float:
    """The same in Python, for kernels that NUMBA_DISABLE_JIT leaves uncompiled: exact, then rounded."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return float(total) if total else a * b + c  # 0 has a sign


fused = cast(
    "Callable[[float, float, float], float]",
    _exactly if vars(numba.config)["DISABLE_JIT"] else intrinsic(_instruction),
)
