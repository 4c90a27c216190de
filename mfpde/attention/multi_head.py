"""Multi-head attention."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from mfpde.attention.base import Attention, Term
from mfpde.attention.convolution import Convolution
from mfpde.attention.matrices import moved, square
from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Geometry, multiple_of_identity
from mfpde.registry import register
from mfpde.specification import OfFamily
from mfpde.typing import AnyArray

__all__ = ["MultiHead"]

_MASKED_ALONE = (
    "one head cannot be masked alone: put masked around it all, {kind: masked, attention: {kind: multi-head}}"
)


@register("attention", "multi-head")
class MultiHead(Attention):
    """`G_mu(x) = sum_h W_h V_h int k_h(x,y) y dmu(y)`: any attentions as heads, each with its `weight` W_h, a number or
    a matrix (default 1: a plain sum).

    Gaussians stay Gaussian when they do under every head. *Symmetries:* those that all heads share. *Good values:*
    weights of sum 1 keep the scale of a single head. *Fails:* where one of its heads does.

    >>> import mfpde
    >>> heads = [mfpde.Softmax(A=1, weight=0.5), mfpde.Linear(A=[[0, 1], [-1, 0]], weight=0.5)]
    >>> mfpde.MultiHead(heads=heads).drift(mfpde.Particles([[2.0, 0.0]]), [[0.0, 1.0]])
    array([[3., 0.]])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "vaswani2017")
    kind: Literal["multi-head"] = "multi-head"
    heads: tuple[Annotated[Attention, OfFamily("attention")], ...] = Field(
        min_length=1, description="attentions, each with its `weight`"
    )

    @property
    def symmetries(self) -> frozenset[str]:
        return frozenset.intersection(*(head.symmetries for head in self.heads))

    @property
    def kinked(self) -> bool:
        return any(head.kinked for head in self.heads)

    def in_coordinates(self, matrix: AnyArray) -> Self:
        heads = tuple(head.in_coordinates(matrix) for head in self.heads)
        return self.altered({"heads": heads, **moved(self, matrix)})

    def faults(self, path: tuple[str | int, ...]) -> list[Fault]:
        """Tokens have positions, on which everything else depends, where the attention as a whole is masked."""
        found = []
        for index, head in enumerate(self.heads):
            here = (*path, "heads", index)
            found += head.faults(here) if head.slices() is None else [Fault(here, _MASKED_ALONE)]
        return found

    def convolution(self, geometry: Geometry) -> Convolution | None:
        """The sum of the heads' convolutions, if all are gradient flows."""
        if geometry.harmonics is None or not self.constant:
            return None
        parts = [head.convolution(geometry) for head in self.heads]
        known = [part for part in parts if part is not None and part.gradient_flow]
        factor = (
            1.0
            if self.weight is None
            else multiple_of_identity(square("weight", self.weight, geometry.ambient_dimension))
        )
        if len(known) < len(parts) or factor is None:
            return None
        potential = np.zeros(max(part.potential.size for part in known))
        for part in known:
            potential[: part.potential.size] += factor * part.potential
        bound, offset = (sum(getattr(part, name) for part in known) for name in ("bound", "energy_offset"))
        cut = any(part.cut for part in known)
        return Convolution(geometry.harmonics, potential, None, abs(factor) * bound, factor * offset, cut=cut)

    def own_terms(self, dimension: int) -> list[Term]:
        terms: list[Term] = []
        for index, head in enumerate(self.heads):
            try:
                terms += head.terms(dimension)
            except ProblemError as error:
                raise ProblemError(_of_head(index, fault) for fault in error.faults) from None
        return terms


def _of_head(index: int, fault: Fault) -> Fault:
    """A fault at `attention.A` is one at `attention.heads.0.A`."""
    return Fault((*fault.path[:1], "heads", index, *fault.path[1:]), fault.message)
