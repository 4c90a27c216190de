"""Rules with fewer nodes, all of positive weight: some nodes of a rule whose weights integrate the same polynomials."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from mfpde.typing import Float

__all__ = ["fewer_nodes"]

_DEGREE = 14  # of the polynomials on each panel, in all
_CANDIDATES = 6  # nodes among which weights are looked for at first, for each polynomial
_AGREEMENT = 1e-13  # of integrals of polynomials of size 1, relative to the mass of a panel
_ROUNDS_MAX = 50  # of the search, for each polynomial


def fewer_nodes(points: Float, weights: Float, panels: int) -> tuple[Float, Float]:
    """Some of the points `(n, d)`, and weights: on each of `panels` parts of their box along each axis they have the
    same integrals of polynomials, with no more nodes than there are of these.

    Such weights exist (Caratheodory); they are a solution of least squares that is not negative.

    >>> x = np.linspace(-1.0, 1.0, 1001)[:, None]
    >>> points, weights = fewer_nodes(x, np.full(1001, 1 / 1001), panels=1)
    >>> len(points), bool(abs(weights @ points[:, 0] ** 14 - np.mean(x**14)) < 1e-12)
    (15, True)
    """
    from scipy.optimize import nnls

    low, high = points.min(axis=0), points.max(axis=0)
    place = panels * (points - low) / np.where(high > low, high - low, 1.0)
    panel = np.minimum(place.astype(int), panels - 1)
    number = np.ravel_multi_index(tuple(panel.T), (panels,) * points.shape[1])
    degrees = [each for each in itertools.product(range(_DEGREE + 1), repeat=points.shape[1]) if sum(each) <= _DEGREE]
    kept, found = [], []
    for each in np.unique(number):
        here = np.flatnonzero(number == each)
        along = [chebvander(t, _DEGREE) for t in (2.0 * (place[here] - panel[here]) - 1.0).T]
        values = np.prod([rows[:, ks] for rows, ks in zip(along, np.array(degrees).T, strict=True)], axis=0)
        mass = weights[here].sum()
        wanted = weights[here] @ values / mass
        step = max(1, here.size // (_CANDIDATES * len(degrees)))
        for every in sorted({step, 1}, reverse=True):
            share, error = nnls(values[::every].T, wanted, maxiter=_ROUNDS_MAX * len(degrees))
            if error <= _AGREEMENT:
                break
        kept.append(here[::every][share > 0])
        found.append(mass * share[share > 0])
    return points[np.concatenate(kept)], np.concatenate(found)
