"""Tilts of a sum of measures, by log-sum-exp."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mfpde.typing import Float

__all__ = ["joined"]


def joined(tilts: Iterable[tuple[Float, Float]], axis: int = -1) -> tuple[Float, Float]:
    """`(grad log M, log M)` of the sum of measures with the given `(grad log M_k, log M_k)` at the same queries.

    `M = sum_k M_k`, `grad log M = sum_k M_k grad log M_k / M`; `axis` holds the components of the means: the last for
    scattered points `(m, d)`, the first for grids `(d, n_1, ..)`. A part without mass (log M_k = -inf) adds nothing.

    >>> import numpy as np
    >>> mean, log_mass = joined([(np.array([[0.0]]), np.array([0.0])), (np.array([[1.0]]), np.array([np.log(3.0)]))])
    >>> float(mean[0, 0]), float(np.exp(log_mass[0]))
    (0.75, 4.0)
    """
    parts = list(tilts)
    if len(parts) == 1:
        return parts[0]
    logs = np.stack([log_mass for _, log_mass in parts])
    peak = logs.max(axis=0)
    level = np.where(peak > -np.inf, peak, 0.0)
    shares = np.exp(logs - level)
    total = shares.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # without mass: -inf, and no mean
        log_mass, shares = level + np.log(total), shares / total
    mean = np.zeros(parts[0][0].shape)
    for (own, _), share in zip(parts, shares, strict=True):
        weight = np.expand_dims(share, axis)
        mean += np.where(weight == 0.0, 0.0, weight * own)
    return mean, log_mass
