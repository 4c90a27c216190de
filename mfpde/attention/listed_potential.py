"""Interaction potentials by their coefficients, and the convolutions that they make."""

from __future__ import annotations

import numpy as np

from mfpde.attention.convolution import Convolution
from mfpde.attention.external import External
from mfpde.attention.pair_potential import Degrees, PairPotential
from mfpde.coefficients import CoefficientFormula
from mfpde.errors import ProblemError
from mfpde.geometry import Harmonics
from mfpde.measure.expression import Expression
from mfpde.typing import Float

__all__ = ["Listed", "convolution_of", "listed", "listed_degrees"]

#: coefficients as a problem file has them
Listed = tuple[float, ...] | CoefficientFormula


def listed(given: Listed) -> Float:
    """`w_1, w_2, ..`."""
    if not isinstance(given, CoefficientFormula):
        return np.asarray(given, dtype=float)
    try:
        return Expression(given.formula, ("k",))({"k": np.arange(1.0, given.count + 1)})
    except ProblemError as error:
        raise ProblemError.at("formula", error.faults[0].message) from None


def listed_degrees(harmonics: Harmonics, coefficients: Listed | None, sine_coefficients: Listed | None) -> Degrees:
    """Of `W = sum_{k>=1} w_k P_k(cosine) + s_k sin(k angle)`."""
    cosines, sines = (
        np.zeros(1) if given is None else np.concatenate([[0.0], listed(given)])
        for given in (coefficients, sine_coefficients)
    )
    counts = harmonics.multiplicities(max(cosines.size, sines.size) - 1)
    cosines, sines = (np.pad(each, (0, counts.size - each.size)) / counts for each in (cosines, sines))
    return Degrees(cosines, 0.0, np.inf, sines if sines.any() else None)


def convolution_of(
    harmonics: Harmonics, degrees: Degrees, written: PairPotential | None, external: External | None
) -> Convolution:
    """`v = grad (W * mu + U)`; what is known of a written W bounds it."""
    potential, sines = np.copy(degrees.potential), degrees.sines
    mean, potential[0] = float(potential[0]), 0.0
    degree = potential.size - 1
    with np.errstate(over="ignore", invalid="ignore"):
        strengths = harmonics.multiplicities(degree) * harmonics.largest_slopes(degree)
        sizes = np.abs(potential if sines is None else potential - 1j * sines)
        bound = float(np.nan_to_num(sizes * strengths, posinf=0.0).sum())
    if written is not None:
        slope = written.largest_slope if sines is None else PairPotential(written.text, "odd").largest_slope
        bound = min(bound, slope)
    cut, offset, series = degrees.rest > 0, 0.5 * mean, None
    if external is not None:
        series = external.series()
        assert series is not None  # noqa: S101 - `convolution_unfit` has said so
        offset += float(np.real(series.coefficients.flat[0]))
        bound += external.largest_slope
    return Convolution(harmonics, potential, None, bound, offset, external=series, cut=cut, sines=sines)
