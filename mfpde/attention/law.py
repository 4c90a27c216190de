"""Anything that gives every measure a drift."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.arguments import instance
from mfpde.attention.affine import AffineDrift
from mfpde.attention.convolution import Convolution
from mfpde.coefficients import InTime
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries, need_space
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.attention.base import Term

#: normaliser, relative to the uniform state's, below which sums over degrees have lost three digits to cancellation
_LEVEL_FLOOR = 1e-3

__all__ = ["NO_ENERGY", "Law", "concrete"]

#: what is said of laws whose energy has no formula, elsewhere and on the circle
NO_ENERGY = (
    "the energy is known for exponential attention, A and V multiples of 1",
    "the energy is known when A and V are multiples of the identity (or beta)",
)


class Law(InTime, ABC):
    """Anything that gives every measure a drift: `G_mu(x)`."""

    citations: ClassVar[tuple[str, ...]] = ()

    @property
    def kinked(self) -> bool:
        """Whether drifts of smooth measures have kinks."""
        return False

    @property
    def kinked_by_edges(self) -> bool:
        """Whether drifts of measures with edges have kinks where those of smooth measures have none."""
        return False

    @abstractmethod
    def outputs(self, measure: Measure, queries: Queries, positions: AnyArray | None = None) -> Float:
        """`G_mu` before it is projected: vectors of R^d, `(d, *shape)`."""

    @abstractmethod
    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """`G_mu(x)` as a plain sum over the nodes of the measure: the specification of every fast path."""

    def sums_nodes(self, measure: Measure) -> bool:
        """Whether its drift of the measure is that sum; not of a density whose nodes are too far apart for it."""
        return True

    def drift(self, measure: Measure, points: AnyArray | Queries, positions: AnyArray | None = None) -> Float:
        """`G_mu(x)` by the fastest path there is: in the shape of the points, or `(d, *shape)` on a lattice.

        `positions` of the points are for masked attention; the measure's own are taken where it has them and its own
        nodes are asked for. Coefficients so large that twelve digits are out of reach are an error.
        """
        self.need_constant()
        measure = concrete(measure)
        self.check_scores(measure, measure.space.queries(points))
        return self.any_drift(measure, points, positions)

    def any_drift(self, measure: Measure, points: AnyArray | Queries, positions: AnyArray | None = None) -> Float:
        """The same for coefficients of any size: digits are lost as a solution grows."""
        self.need_constant()
        measure = concrete(measure)
        queries = measure.space.queries(points)
        convolution = self.quick_convolution(measure)
        if convolution is not None:
            return queries.answered(self._convolved(convolution, measure, queries))
        return queries.answered(queries.tangent(self.outputs(measure, queries, positions)))

    def check_scores(self, measure: Measure, queries: Queries) -> None:
        """Fail where coefficients are so large for that measure that rounding alone spoils the drift."""

    def quick_convolution(self, measure: Measure) -> Convolution | None:
        """The convolution that is the best way to its drift of that measure, if there is one."""
        return self.convolution(measure.space) if measure.by_degree else None

    def _convolved(self, convolution: Convolution, measure: Measure, queries: Queries) -> Float:
        """Native velocities `(c, m)` from the harmonics of the measure."""
        points = queries.points() if queries.native is None else queries.native
        slopes, levels = convolution.slopes_and_levels(points, measure.harmonics(convolution.top))
        velocity = slopes.T
        if convolution.normaliser is not None:
            # far from a concentrated measure the sum over degrees cancels down to roundoff
            far = levels < _LEVEL_FLOOR * convolution.normaliser[0]
            velocity /= np.where(far, 1.0, levels)
            if far.any():
                those = queries.only(np.flatnonzero(far))
                velocity[:, far] = those.tangent(self.outputs(measure, those))
        return velocity

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        """Compute and cache what all drifts of that measure share (optional); faster from that of an earlier measure
        with as many nodes."""

    # -- dependence on time
    # ---------------------------------------------------------------------------------------------------------

    def need_constant(self) -> None:
        """Fail while a coefficient depends on time."""
        if not self.constant:
            raise ProblemError.at("attention", "depends on time; ask law.at(time) for its drift")

    def check(self, geometry: Geometry) -> None:
        """Fail when the coefficients, at any time, do not fit the space."""
        need_space(geometry)
        for time in (-np.inf, *self.breaks()):
            self.at(time).check_constant(geometry)

    def check_speed(self, geometry: Geometry) -> None:
        """Fail when drifts are known to be beyond all numbers, for a law that does not depend on time. Where time is
        the way that tokens go, that does not matter."""

    @abstractmethod
    def check_constant(self, geometry: Geometry) -> None:
        """The same for a law that does not depend on time."""

    # -- what some laws can do
    # ---------------------------------------------------------------------------------------------------------

    def convolution(self, geometry: Geometry) -> Convolution | None:
        """The convolution behind the drift where there is one (circle and spheres, A and V multiples of the
        identity)."""
        return None

    def convolution_unfit(self, geometry: Geometry) -> str | None:
        """Why its drift is none there, where it is none."""
        return "it needs A and V to be multiples of the identity (or beta)"

    def remarks(self, geometry: Geometry) -> tuple[str, ...]:
        """What there is to know of it that is no fault: how far its coefficients reach."""
        return ()

    def token_unfit(self, geometry: Geometry, noisy: bool) -> str | None:
        """Why point masses cannot move by it, with or without noise, or None."""
        return None

    def terms(self, dimension: int) -> tuple[Term, ...]:
        """Its kernels with their value matrices for tokens in R^d; none where it is not made of kernels."""
        return ()

    def energy_unfit(self, geometry: Geometry) -> str | None:
        """Why its interaction energy is not known on that space, or None (physics section 3)."""
        if geometry.harmonics is None:
            return NO_ENERGY[0]
        try:
            convolution = self.convolution(geometry)
        except ProblemError as error:
            return error.faults[0].message
        if convolution is None:
            return NO_ENERGY[1]
        return None if np.isfinite(convolution.energy_scale) else "the energy overflows for |A| > 700"

    def energy(self, measure: Measure) -> float:
        """Of a measure on a space where `energy_unfit` says nothing."""
        reason = self.energy_unfit(measure.space)
        convolution = self.convolution(measure.space) if reason is None else None
        if convolution is None:
            raise ProblemError.at("attention", str(reason))
        return float(convolution.energy_offset + convolution.energy_scale * self.excess_energy(measure))

    def excess_energy(self, measure: Measure) -> float:
        """The energy over its scale, minus that of the uniform state, where its drift is a convolution."""
        convolution = self.convolution(measure.space)
        assert convolution is not None  # noqa: S101 - for the type checker
        return convolution.excess_energy(measure.harmonics(convolution.top))

    def gradient_unfit(self, geometry: Geometry) -> str | None:
        """Why it does not descend a free energy on that space, or None (physics section 3)."""
        if geometry.harmonics is None:
            return "on flat spaces free energies are those of interactions"
        try:
            convolution = self.convolution(geometry)
        except ProblemError as error:
            return error.faults[0].message
        if convolution is None:
            return "a free energy is known when A and V are multiples of the identity (or beta)"
        if not convolution.gradient_flow:
            return "softmax attention descends no free energy; unnormalized attention and interactions do"
        return None

    def gaussian_unfit(self, dimension: int) -> str | None:
        """Why Gaussians of R^d do not stay Gaussian, or None where they do."""
        return "its drift of a Gaussian is not affine"

    def gaussian_drift(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """The affine drift of `N(mean, covariance)` (physics section 4)."""
        raise ProblemError.at("attention", f"has no closed form for Gaussians: {self.gaussian_unfit(mean.size)}")

    def jacobian(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """`D_x G_mu(x)`, `(m, d, d)`: rows are components of G, columns of x (flat spaces)."""
        self.need_constant()
        measure = concrete(measure)
        if not measure.space.flat:
            raise ProblemError.at("points", "the Jacobian is one of drifts in R^d; ask for the divergence")
        return self.output_jacobians(measure, measure.space.points(points), positions)

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """`div G_mu(x)`, `(m,)`; on spheres `tr(P_x D_x G) - (d - 1) <x, G>` of the projected drift."""
        self.need_constant()
        measure = concrete(measure)
        x = measure.space.points(points)
        slopes = self.output_jacobians(measure, x, positions)
        return measure.space.divergence(x, slopes, lambda: self.outputs(measure, measure.space.queries(x), positions).T)

    def output_jacobians(self, measure: Measure, points: Float, positions: AnyArray | None = None) -> Float:
        """`D_x` of what `outputs` gives, for x in R^d, `(m, d, d)`."""
        raise ProblemError.at("attention", f"{type(self).__name__} has no Jacobian")


def concrete(measure: Measure) -> Measure:
    """A measure written down for a problem, on its natural space."""
    instance("measure", measure, Measure, "a measure such as mfpde.Particles(points)")
    return measure.concrete
