"""The coefficients of the law and of the noise between two breaks, in any coordinates."""

from __future__ import annotations

from decimal import localcontext
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention.affine import Forms
from mfpde.solvers.gaussian.digits import Decimals, decimals, inverted, rounded
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention.velocity import Velocity

__all__ = ["Heads", "LawSegment", "inverse"]

#: forms and value matrix of each head
Heads = list[tuple[Forms, Float]]

_MILD_RATIO = 32.0  # of widths of a frame, and of sums of |F^T| |A| |F| to F^T A F: doubles lose no more than that
_SAMPLE_SHARES = (0.0, 1 / 3, 2 / 3, 1.0)  # of the time between two breaks: cubics take four samples


class LawSegment:
    """Coefficients of the law from a break (or 0) to the next: constant, or products of up to three linear functions of
    time, which four samples determine. Noise is a multiple of `R R^T` at any time, R the `noise_root`."""

    def __init__(self, velocity: Velocity, noise_root: Float, start: float) -> None:
        self._velocity, self.noise_root, self.start = velocity, noise_root, start
        self._dimension = len(noise_root)
        following = next((each for each in velocity.breaks() if each > start), None)
        self._length = 0.0 if following is None else float(np.nextafter(following, start)) - start
        samples = [
            self._heads(start + share * self._length) for share in _SAMPLE_SHARES if share == 0 or self._length > 0
        ]
        same = all(_equal(samples[0], other) for other in samples[1:])
        self.samples = samples[:1] if same else samples

    def of(self, start: float) -> LawSegment:
        """The one that begins there."""
        return self if start == self.start else LawSegment(self._velocity, self.noise_root, start)

    def _heads(self, time: float) -> Heads:
        law = self._velocity.at(time).law
        if law is None:
            return []
        none = Forms(*np.zeros((2, self._dimension, self._dimension)))
        terms = law.terms(self._dimension)
        return [(term.head.gaussian_forms(self._dimension) or none, term.value) for term in terms]

    @cached_property
    def _exactly(self) -> list[list[tuple[Decimals, Decimals, Decimals]]]:
        return [[(decimals(f.query), decimals(f.rows), decimals(v)) for f, v in heads] for heads in self.samples]

    def seen_from(self, several: Float) -> list[Heads]:
        """The samples in the coordinates z of `x = F z`, F the sum of those matrices."""
        if len(several) == 1 or self._mild(several[0]):
            basis, back = several[0], inverse(several[0])
            return [[(form.moved(basis), back @ value @ basis) for form, value in heads] for heads in self.samples]
        with localcontext() as context:
            context.prec = 15 * len(several) + 20
            exact = sum((decimals(part) for part in several[1:]), decimals(several[0]))
            away = inverted(exact)
            return [[_exact(head, exact, away) for head in heads] for heads in self._exactly]

    def _mild(self, basis: Float) -> bool:
        """Whether products with that basis keep their digits in doubles: decimals take a millisecond in eight
        dimensions."""
        widths, sizes = np.linalg.norm(basis, axis=0), np.abs(basis)
        if not widths.max() <= _MILD_RATIO * widths.min():
            return False
        return all(
            (sizes.T @ np.abs(form.query) @ sizes).max(initial=0.0)
            <= _MILD_RATIO * np.abs(basis.T @ form.query @ basis).max(initial=0.0)
            for heads in self.samples
            for form, _ in heads
        )

    def mixed(self, samples: list[Heads], time: float) -> Heads:
        """Interpolated to a time from the samples."""
        if len(samples) == 1:
            return samples[0]
        weights = _lagrange((time - self.start) / self._length)
        several = [list(each) for each in zip(*samples, strict=True)]
        return [
            (
                Forms(
                    sum(w * form.query for w, (form, _) in zip(weights, each, strict=True)),
                    sum(w * form.rows for w, (form, _) in zip(weights, each, strict=True)),
                ),
                sum(w * value for w, (_, value) in zip(weights, each, strict=True)),
            )
            for each in several
        ]


def inverse(factor: Float) -> Float:
    """Of a matrix with columns of very different lengths."""
    lengths = np.linalg.norm(factor, axis=0)
    return np.asarray(np.linalg.inv(factor / lengths) / lengths[:, None])


def _exact(head: tuple[Decimals, Decimals, Decimals], basis: Decimals, back: Decimals) -> tuple[Forms, Float]:
    query, rows, value = head
    return Forms(rounded(basis.T @ query @ basis), rounded(rows @ basis)), rounded(back @ value @ basis)


def _equal(one: Heads, other: Heads) -> bool:
    return all(
        np.array_equal(a, b)
        for (form, value), (form_2, value_2) in zip(one, other, strict=True)
        for a, b in ((form.query, form_2.query), (form.rows, form_2.rows), (value, value_2))
    )


@lru_cache(maxsize=64)
def _lagrange(share: float) -> tuple[float, ...]:
    return tuple(float(np.prod([(share - b) / (a - b) for b in _SAMPLE_SHARES if b != a])) for a in _SAMPLE_SHARES)
