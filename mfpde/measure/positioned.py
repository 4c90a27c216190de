"""Measures on positions times a space, slice by slice: what masked attention acts on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.measure.base import Measure
from mfpde.measure.superposition import Superposition
from mfpde.typing import AnyArray, Float

__all__ = ["Positioned"]


class Positioned(Superposition):
    """`mu = sum_p m_p delta_{s_p} x mu_p`: at each position s_p the share m_p of all tokens, with a law of its own.

    As a measure (mean, density, transforms) it answers for its marginal on the space.

    >>> from mfpde.measure.normal import Normal
    >>> measure = Positioned([0.25, 0.75], [Normal(-1.0, 0.1), Normal(1.0, 0.1)])
    >>> measure.mean, [share for _, share, _ in measure.slices]
    (array([0.]), [0.5, 0.5])
    """

    def __init__(
        self, positions: Sequence[float] | AnyArray, measures: Sequence[Measure], masses: AnyArray | None = None
    ) -> None:
        given = numbers("positions", positions)
        instance("measures", measures, Sequence, "a list of measures")
        for index, measure in enumerate(measures):
            instance(f"measures.{index}", measure, Measure, "a measure such as mfpde.Normal(0.0, 1.0)")
        count = len(measures)
        if not count:
            raise ProblemError.at("measures", "must be at least one")
        if given.shape != (count,) or not np.isfinite(given).all() or np.any(np.diff(given) <= 0):
            raise ProblemError.at("positions", f"must be {count} ascending numbers, one for each measure")
        shares = np.ones(count) if masses is None else numbers("masses", masses)
        if shares.shape != (count,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
            raise ProblemError.at("masses", f"must be {count} finite numbers, not negative and not all zero")
        super().__init__(shares / shares.sum(), measures)
        self._places: Float = given[shares > 0]

    @property
    def slices(self) -> list[tuple[float | None, float, Measure]]:
        return list(zip(self._places.tolist(), self.shares.tolist(), self.parts, strict=True))

    def up_to(self, position: float) -> tuple[Measure, float]:
        seen = self._places <= position
        shares, parts = self.shares[seen], [part for part, there in zip(self.parts, seen, strict=True) if there]
        return Superposition(shares / shares.sum(), parts), float(shares.sum())

    @property
    def positions(self) -> Float:
        return np.repeat(self._places, [part.nodes()[1].size for part in self.parts])

    def sample_positions(self, count: int, seed: int = 0) -> Float:
        """Positions of the draws that `sample` gives for this seed."""
        return self._places[self._chosen(count, seed)]
