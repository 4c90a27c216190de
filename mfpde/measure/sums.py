"""Logarithms of sums of measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.typing import Float

__all__ = ["log_sum"]


def log_sum(parts: Sequence[tuple[Float, Float]]) -> tuple[Float, Float]:
    """`log sum_p M_p` and its gradient from `(log M_p, grad log M_p)`, shapes `shape` and `(d, *shape)`."""
    if len(parts) == 1:
        return parts[0]
    top = np.maximum.reduce([value for value, _ in parts])
    shares = [np.exp(value - top) for value, _ in parts]
    total = sum(shares)
    mean = sum(share * mean for share, (_, mean) in zip(shares, parts, strict=True))
    return top + np.log(total), mean / total
