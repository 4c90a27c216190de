"""Coordinates in which the covariance is a projection, and the law in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import localcontext
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from mfpde.attention.affine import Forms
from mfpde.measure.principal import principal
from mfpde.solvers.gaussian.digits import Decimals, decimals, parts
from mfpde.solvers.gaussian.law import LawSegment, inverse
from mfpde.typing import AnyArray, Float

__all__ = ["Frame", "complement", "framed"]

_WIDTH_FLOOR = 1e-140  # its square is near underflow; smaller widths count as 0
_MAX_WIDTH_DISORDER = 2.0  # width of an axis over that of an earlier one
_MAX_COSINE = 0.5  # between two columns; beyond it they are made orthogonal


@dataclass(frozen=True, eq=False)
class Frame:
    """`x = F z`, such that `S = F P F^T`, P the projection to the first `rank` coordinates, and the mean is at `F
    mean`.

    Columns of F are ordered by length and well conditioned when scaled; those beyond the rank are as long as the last
    one before. `parts`, `(count, d, d)`, are doubles whose sum is F: the growth of a wide axis u can depend on `<A u,
    u>` to digits that lie far behind those of u in doubles.
    """

    parts: Float
    rank: int
    mean: Float
    segment: LawSegment

    @cached_property
    def factor(self) -> Float:
        """F, to a double."""
        return np.asarray(self.parts[0])

    @cached_property
    def widths(self) -> Float:
        """Lengths of the columns."""
        return np.asarray(np.linalg.norm(self.factor, axis=0))

    @cached_property
    def shares(self) -> Float:
        """Lengths relative to the first one."""
        return self.widths / self.widths[0]

    @property
    def place(self) -> Float:
        """The mean in R^d."""
        return self.factor @ self.mean

    @property
    def root(self) -> Float:
        """A factor of S, `(d, rank)`."""
        return self.factor[:, : self.rank]

    @property
    def spread(self) -> float:
        """`sqrt(tr S)`."""
        return float(np.linalg.norm(self.root))

    @property
    def covariance(self) -> Float:
        """S."""
        return self.root @ self.root.T

    @cached_property
    def noise(self) -> Float:
        """`R R^T` in these coordinates, `F^{-1} R R^T F^{-T}`, for the root R of the noise: the unit matrix or D."""
        back = inverse(self.factor) @ self.segment.noise_root
        return back @ back.T

    @cached_property
    def _law(self) -> list[list[tuple[Forms, Float]]]:
        return self.segment.seen_from(self.parts)

    def law(self, time: float) -> list[tuple[Forms, Float]]:
        """Forms and value matrix of each head, at a time, in these coordinates."""
        return self.segment.mixed(self._law, time)

    def moved(self, basis: Float, mean: Float, rank: int) -> Frame:
        """In the coordinates y of `z = G y`, G of lower triangles; `mean` is in those of z."""
        inside = solve_triangular(basis, mean, lower=True, check_finite=False)
        frame = Frame(self._times(basis), rank, np.asarray(inside), self.segment)
        there = frame.widths[:rank] >= _WIDTH_FLOOR
        if not there.all():
            return framed(frame.place, frame.root[:, there], len(self.parts) > 1, self.segment)
        return frame._upright() if frame._crooked() else frame

    def within(self, segment: LawSegment) -> Frame:
        """The same with another law."""
        return Frame(self.parts, self.rank, self.mean, segment)

    def _times(self, basis: Float) -> Float:
        if len(self.parts) == 1:
            return (self.factor @ basis)[None]
        digits = digits_for(self.widths)
        with localcontext() as context:
            context.prec = digits + 20
            return parts(whole(self.parts) @ decimals(basis), digits)

    def _crooked(self) -> bool:
        """Whether its columns are far from orthogonal, or not ordered by length."""
        widths = self.widths[: self.rank]
        return bool(np.any(widths > _MAX_WIDTH_DISORDER * np.minimum.accumulate(widths))) or _leaning(self.factor)

    def _upright(self) -> Frame:
        """In principal axes."""
        axes, widths, turn = principal(self.root)
        basis = np.eye(len(self.factor))
        basis[: self.rank, : self.rank] = turn
        beyond = complement(axes) * (widths[-1] if self.rank else 1.0)
        basis[:, self.rank :] = inverse(self.factor) @ beyond
        several = self._times(basis) if len(self.parts) > 1 else np.column_stack([axes * widths, beyond])[None]
        full = self.rank == len(basis)
        mean = turn.T @ self.mean if full else inverse(several[0]) @ self.place
        return Frame(several, self.rank, mean, self.segment)

    def arrays(self, name: str) -> dict[str, AnyArray]:
        """For `restored`, under names that begin with that one."""
        return {
            f"{name}_parts": self.parts.copy(),
            f"{name}_mean": self.mean.copy(),
            f"{name}_place": np.array([self.rank, self.segment.start]),
        }

    def restored(self, name: str, arrays: Mapping[str, AnyArray]) -> Frame:
        """The frame of the same law that gave those arrays."""
        rank, start = (float(number) for number in arrays[f"{name}_place"])
        segment = self.segment.of(start)
        return Frame(arrays[f"{name}_parts"].copy(), int(rank), arrays[f"{name}_mean"].copy(), segment)


def framed(place: Float, root: Float, exact: bool, segment: LawSegment) -> Frame:
    """Of `N(place, F F^T)`, in principal axes; with more digits than those of doubles from there on, or without."""
    axes, widths, _ = principal(root)
    factor = np.column_stack([axes * widths, complement(axes) * (widths[-1] if widths.size else 1.0)])
    several = np.stack([factor, np.zeros(factor.shape)])[: 2 if exact else 1]
    return Frame(several, widths.size, inverse(factor) @ place, segment)


def digits_for(widths: Float) -> int:
    """Digits of F for which the forms are right to double precision: twice the logarithm of the ratio of its widths
    more."""
    apart = float(np.log10(widths.max() / widths.min()))
    return 30 + 2 * int(np.ceil(apart))


def whole(several: Float) -> Decimals:
    """The sum of the parts."""
    return np.asarray(sum((decimals(part) for part in several[1:]), decimals(several[0])))


def complement(axes: Float) -> Float:
    """Orthonormal vectors that complete those to a basis."""
    left = np.linalg.qr(axes, mode="complete")[0]
    return np.asarray(left[:, axes.shape[1] :])


def _leaning(factor: Float) -> bool:
    """Whether two columns are far from orthogonal."""
    lengths = np.linalg.norm(factor, axis=0)
    columns = factor / np.where(lengths > 0, lengths, 1.0)
    cosines = np.abs(columns.T @ columns)
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max(initial=0.0)) > _MAX_COSINE
