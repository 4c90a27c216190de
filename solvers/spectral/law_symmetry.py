"""Which symmetries a law keeps: orthogonal maps T with `G_{T mu}(T x) = T G_mu(x)`, at all times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfpde.attention import Velocity
from mfpde.equation import Equation
from mfpde.measure import Particles
from mfpde.streams import random_stream
from mfpde.typing import Float

__all__ = ["keeps", "keeps_axis"]

_TOKENS = 7  # of the law that velocities are compared of
_ROUNDINGS = 1e-12  # of the largest velocity


def keeps(equation: Equation, matrix: Float) -> bool:
    """Seen on a few tokens in no special places: velocities are analytic in the coefficients."""
    geometry = equation.geometry
    x = random_stream(_TOKENS * len(matrix), 3).standard_normal((_TOKENS, len(matrix)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for velocity in _velocities(equation):
        here, there = (_pushes(velocity, equation, each) for each in (x, x @ matrix.T))
        if np.abs(there - here @ matrix.T).max() > _ROUNDINGS * np.abs(here).max(initial=0.0):
            return False
    return geometry is not None


def _velocities(equation: Equation) -> Iterator[Velocity]:
    """At ends and middles of the times between breaks: coefficients are straight lines there."""
    velocity, breaks = equation.velocity, [0.0, *(time for time in equation.velocity.breaks() if time > 0)]
    for start, end in zip(breaks, [*breaks[1:], breaks[-1]], strict=True):
        yield velocity.at(start)
        if end > start:
            yield velocity.at(0.5 * (start + end))


def _pushes(velocity: Velocity, equation: Equation, x: Float) -> Float:
    """Velocities of tokens as vectors, `(m, d)`."""
    geometry, law = equation.geometry, equation.attention
    positions = None if law is None or law.slices() is None else np.arange(_TOKENS) / _TOKENS
    points = geometry.points(x)
    tokens = Particles(points, np.arange(1.0, _TOKENS + 1), geometry, positions)
    return geometry.pushed(points, velocity.drift(tokens, points))


def keeps_axis(equation: Equation, axis: Float) -> bool:
    """All rotations about an axis; in more than three dimensions each kernel has to keep them by itself."""
    for seed in (1, 2):
        turn = _turn_about(axis, seed)
        if not keeps(equation, turn):
            return False
        for velocity in _velocities(equation) if axis.size > 3 else ():
            terms = () if velocity.law is None else velocity.law.terms(axis.size)
            kept = [term.value for term in terms] + [term.head.query_matrix(axis.size) for term in terms]
            kept += [form for form in (term.head.key_form(axis.size) for term in terms) if form is not None]
            if any(np.abs(turn @ each - each @ turn).max() > _ROUNDINGS * np.abs(each).max() for each in kept):
                return False
    return True


def _turn_about(axis: Float, seed: int) -> Float:
    """A random rotation that leaves an axis where it is."""
    columns = random_stream(axis.size**2, seed).standard_normal((axis.size, axis.size))
    columns[:, 0] = axis
    frame = np.linalg.qr(columns)[0][:, 1:]
    turn = np.linalg.qr(random_stream(axis.size**2, seed + 2).standard_normal((axis.size - 1, axis.size - 1)))[0]
    turn[:, 0] *= np.sign(np.linalg.det(turn))
    return np.outer(axis, axis) + frame @ turn @ frame.T
