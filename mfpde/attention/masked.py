"""Masked (causal) attention."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.base import Attention, Term
from mfpde.attention.matrices import moved
from mfpde.errors import Fault, ProblemError
from mfpde.registry import register
from mfpde.specification import OfFamily, Vector, Whole
from mfpde.typing import AnyArray

__all__ = ["Masked"]


@register("attention", "masked")
class Masked(Attention):
    """The `attention` inside, restricted to earlier positions: `G_mu(s, x) = int_{tau <= s} k_s(x,y) V y dmu(tau, y)`.

    mu lives on positions x space, and a token keeps its position s. A normalised kernel is normalised over the tokens
    it sees; a token sees its own position. `positions`: how many slices a density is cut into, or their positions.
    *Symmetries:* those of the attention inside; permutations take the positions along. *Good values:* 8 to 64
    positions for a density; particles have one each. *Fails:* a token before all others sees nothing, which is an
    error.

    >>> import mfpde
    >>> attention = mfpde.Masked(attention=mfpde.Softmax(A=0))
    >>> tokens = mfpde.Particles([1.0, 2.0, 6.0], positions=[0.0, 0.5, 1.0])
    >>> attention.drift(tokens, tokens.points[:, 0])          # means of what each one sees
    array([1. , 1.5, 3. ])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    kind: Literal["masked"] = "masked"
    attention: Annotated[Attention, OfFamily("attention")] = Field(description="what acts between tokens that see")
    positions: Whole | Vector | None = Field(
        default=None, description="number of positions of a density, or a list of them"
    )

    @model_validator(mode="after")
    def _positions_ascend(self) -> Masked:
        given = self.positions
        if isinstance(given, int) and not 1 <= given <= 10_000:
            raise ProblemError.at("positions", f"must be 1 to 10000 of them, not {given}")
        if isinstance(given, tuple) and (
            not given or not np.isfinite(given).all() or np.any(np.diff(given) <= 0) or given[0] < 0 or given[-1] > 1
        ):
            raise ProblemError.at("positions", "must be ascending numbers in [0, 1]")
        return self

    def slices(self) -> tuple[float, ...]:
        """Those given, or the middles of so many equal parts of [0, 1]."""
        if isinstance(self.positions, tuple):
            return self.positions
        count = 16 if self.positions is None else self.positions
        return tuple((index + 0.5) / count for index in range(count))

    @property
    def symmetries(self) -> frozenset[str]:
        return self.attention.symmetries

    @property
    def kinked(self) -> bool:
        return self.attention.kinked

    def in_coordinates(self, matrix: AnyArray) -> Self:
        return self.altered({"attention": self.attention.in_coordinates(matrix), **moved(self, matrix)})

    def own_terms(self, dimension: int) -> list[Term]:
        try:
            inside = self.attention.terms(dimension)
        except ProblemError as error:
            raise ProblemError(
                Fault((*fault.path[:1], "attention", *fault.path[1:]), fault.message) for fault in error.faults
            ) from None
        return [Term(term.head, term.value, masked=True) for term in inside]
