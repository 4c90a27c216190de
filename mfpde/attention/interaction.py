"""Any interaction potential of two tokens, and an external potential of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from mfpde.attention import pair_sums
from mfpde.attention.affine import AffineDrift
from mfpde.attention.convolution import Convolution
from mfpde.attention.external import External
from mfpde.attention.fast_pair_sums import energy_of_pairs, forces, laplacians
from mfpde.attention.law import Law
from mfpde.attention.pair_potential import Degrees, PairPotential
from mfpde.coefficients import FORMULA, CoefficientFormula
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Harmonics, Queries, euclidean
from mfpde.measure import Measure
from mfpde.measure.expression import Expression
from mfpde.specification import Vector
from mfpde.typing import AnyArray, Float

__all__ = ["Interaction"]

_MAX_COEFFICIENT = 1e100  # products of three of them stay finite
#: compiled pairs that cost as much as one harmonic of a token
_PAIRS_PER_HARMONIC_OF_CIRCLE, _PAIRS_PER_HARMONIC_OF_SPHERE = 20, 4


def _coefficients_way(value: Any) -> str:
    return FORMULA if isinstance(value, Mapping | CoefficientFormula) else "list"


class Interaction(Law):
    """`G_mu = P grad (W * mu + U)`: tokens ascend a potential W of two of them, and an `external` one U of each.

    `expression`: W in `cosine` or `angle`, of the angle between two tokens: `exp(3*cosine)`, `-sqrt(1 - cosine**2)`
    (Onsager's on S^2), `maximum(0, 1 - abs(angle))`. Or `coefficients: [w_1, w_2, ..]`, or as a formula in k, of `W =
    sum_{k>=1} w_k P_k(cosine)`; `P_k` is `cos k theta` on the circle, Legendre's polynomial on S^2, Gegenbauer's, 1 at
    1, on S^{d-1}. Positive coefficients attract. `[1]` is the Kuramoto model, `[0, 1]` its nematic sister.
    `external`: U in `theta` on the circle, `x`, `y`, `z`, `colatitude`, `longitude` on S^2. On flat spaces W is written
    in `r = |x - y|` and U in `x`, `y`, `z`: `-r**2/2`, `-x**2/2`.

    *Good values:* smooth W, of which a few degrees are all there is. Kinks cost as many degrees as the density has.
    *Fails:* a W without integral (1/angle on the circle); for tokens, one that is singular where they meet
    (log(1 - cosine)), which the spectral solver does for densities.

    >>> import mfpde
    >>> cluster = mfpde.Particles([1.0], geometry=mfpde.Circle())
    >>> mfpde.Interaction(coefficients=[1]).drift(cluster, [0.0]).round(6)          # sin(1)
    array([0.841471])
    >>> mfpde.Interaction(expression="-angle**2 / 2").drift(cluster, [0.0]).round(6)
    array([1.])
    """

    citations: ClassVar[tuple[str, ...]] = ("carrillo2020",)
    coefficients: (
        Annotated[
            Annotated[Vector, Field(min_length=1), Tag("list")] | Annotated[CoefficientFormula, Tag(FORMULA)],
            Discriminator(_coefficients_way),
        ]
        | None
    ) = Field(default=None, description="`w_1, w_2, ...` of the potential, a list or a formula in k")
    expression: str | None = Field(default=None, description="the potential W in cosine, or angle, between tokens")
    external: str | None = Field(default=None, description="a potential U of each token, in the coordinates")

    @field_validator("coefficients")
    @classmethod
    def _finite(
        cls, given: tuple[float, ...] | CoefficientFormula | None
    ) -> tuple[float, ...] | CoefficientFormula | None:
        if given is None:
            return None
        values = _listed(given)
        if not np.isfinite(values).all() or not values.any():
            raise ValueError("must be finite and not all zero")
        if np.abs(values).max() > _MAX_COEFFICIENT:
            raise ValueError(f"must not be beyond {_MAX_COEFFICIENT:g}")
        return given

    @field_validator("expression", "external", mode="before")
    @classmethod
    def _text(cls, given: object) -> object:
        return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given

    @model_validator(mode="after")
    def _one_potential(self) -> Interaction:
        if self.coefficients is not None and self.expression is not None:
            raise ProblemError.at("expression", "coefficients and expression cannot both be given: each is all of W")
        if self.coefficients is None and self.expression is None and self.external is None:
            raise ProblemError.at("", "needs coefficients or an expression (of W), or an external potential")
        for key, parse in (("expression", lambda text: PairPotential(text).expression), ("external", Expression)):
            text = getattr(self, key)
            try:
                if text is not None:
                    parse(text)
            except ProblemError as error:
                raise ProblemError.at(key, error.faults[0].message) from None
        return self

    # -- W and U
    # ----------------------------------------------------------------------------------------------------------------

    @property
    def pair_potential(self) -> PairPotential | None:
        """W, where it is an expression."""
        return None if self.expression is None else _pair_potential(self.expression)

    def external_on(self, geometry: Geometry) -> External | None:
        """U, where there is one."""
        return None if self.external is None else _external(self.external, geometry)

    def degrees(self, geometry: Geometry) -> Degrees:
        """W by degrees; without the mean of W where it is given by coefficients."""
        harmonics = self._harmonics(geometry)
        written = self.pair_potential
        if written is not None:
            return written.degrees(harmonics)
        if self.coefficients is None:
            return Degrees(np.zeros(2), 0.0, np.inf)
        listed = np.concatenate([[0.0], _listed(self.coefficients)])
        return Degrees(listed / harmonics.multiplicities(listed.size - 1), 0.0, np.inf)

    def _harmonics(self, geometry: Geometry) -> Harmonics:
        if geometry.harmonics is None:
            raise ProblemError.at("interaction", f"has degrees on circle and spheres, not on {geometry.name}")
        return geometry.harmonics

    def check_constant(self, geometry: Geometry) -> None:
        self.external_on(geometry)
        written, flat = self.pair_potential, geometry.harmonics is None
        if written is not None:
            alien = [name for name in written.expression.names if (name == "r") != flat]
            if alien:
                own, other = "cosine or angle, of the angle between two tokens", "r, the distance on flat spaces"
                used, wanted = (", ".join(alien), "r") if flat else (other, own)
                raise ProblemError.at("interaction.expression", f"uses {used}; on the {geometry.name} write {wanted}")
            if geometry.angular:
                written.check_even()
            if flat:
                written.check_distances()
        if flat and self.coefficients is not None:
            raise ProblemError.at(
                "interaction.coefficients",
                f"are by degrees of harmonics, on circle and spheres; on the {geometry.name} write an expression in r",
            )
        if not flat:
            self.degrees(geometry)

    # -- by degrees
    # -------------------------------------------------------------------------------------------------------------

    def convolution(self, geometry: Geometry) -> Convolution | None:
        if geometry.harmonics is None or self.convolution_unfit(geometry) is not None:
            return None
        return _convolution(self, geometry)

    def convolution_unfit(self, geometry: Geometry) -> str | None:
        external = self.external_on(geometry)
        if external is None or not external.kinked:
            return None
        return (
            f"the external potential {self.external} is not smooth: its harmonics do not fall to rounding; "
            "characteristics and particles take it as it is"
        )

    def remarks(self, geometry: Geometry) -> tuple[str, ...]:
        if geometry.harmonics is None:
            return ()
        degrees = self.degrees(geometry)
        if degrees.rest == 0:
            return ()
        told = (
            f"interaction.expression has a kink or a singularity: coefficients fall like k^-{degrees.power:.2g}, "
            f"and {degrees.potential.size - 1} of them leave {degrees.rest:.1g} of W (root mean square); spectral "
            "takes as many modes at most, which do not feel the rest"
        )
        return (told,)

    def token_unfit(self, geometry: Geometry, noisy: bool) -> str | None:
        written = self.pair_potential
        return None if written is None else written.token_unfit or (None if noisy else written.collision)

    def quick_convolution(self, measure: Measure) -> Convolution | None:
        """Of point masses by degrees only where that is exact, and cheaper than pairs."""
        if not measure.pointlike or measure.space.harmonics is None:
            return super().quick_convolution(measure)
        if self.expression is not None:
            degrees = self.degrees(measure.space)
            tokens, top = measure.node_count, degrees.potential.size
            pairs = _PAIRS_PER_HARMONIC_OF_CIRCLE * top
            if not measure.space.angular:
                pairs = _PAIRS_PER_HARMONIC_OF_SPHERE * top**2
            if degrees.rest > 0 or (not measure.by_degree and tokens < pairs):
                return None
            if measure.ambient_dimension > 3:  # there are no harmonics of all orders
                return None
        return self.convolution(measure.space)

    # -- drifts
    # -----------------------------------------------------------------------------------------------------------------

    def outputs(self, measure: Measure, queries: Queries, positions: AnyArray | None = None) -> Float:
        space = measure.space
        points = queries.points() if queries.native is None else queries.native
        external = self.external_on(space)
        found = self._pair_forces(measure, queries, points)
        return queries.laid(space.pushed(points, found if external is None else found + external.slopes(points)))

    def _pair_forces(self, measure: Measure, queries: Queries, points: Float) -> Float:
        """`grad (W * mu)` in native components: of tokens, by pairs where W is written."""
        written, flat = self.pair_potential, measure.space.flat
        if written is None and flat:
            return np.zeros(points.shape)
        if written is None or not (measure.pointlike or flat):
            pairs = _convolution(self.of_pairs, measure.space)
            return pairs.slopes_and_levels(points, measure.harmonics(pairs.top))[0]
        if written.token_unfit is not None:
            raise ProblemError.at("interaction.expression", written.token_unfit)
        return forces(written, measure, queries)

    @property
    def of_pairs(self) -> Interaction:
        """The same without the external potential."""
        return self if self.external is None else self.altered({"external": None})

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        x, written = measure.space.points(points), self.pair_potential
        convolution, external = self.quick_convolution(measure), self.external_on(measure.space)
        if convolution is not None:
            return convolution.divergence(x, measure.harmonics(convolution.top))
        if written is None and measure.space.flat:
            found = np.zeros(x.shape[0])
        elif written is None or not (measure.pointlike or measure.space.flat):
            pairs = _convolution(self.of_pairs, measure.space)
            found = pairs.divergence(x, measure.harmonics(pairs.top))
        else:
            found = laplacians(written, measure, measure.space.queries(x))
        return found if external is None else found + external.laplacians(x)

    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        queries = measure.space.queries(points)
        x = measure.space.points(points)
        found = np.zeros((x.shape[0], measure.ambient_dimension))
        if self.coefficients is not None:
            harmonics = self._harmonics(measure.space)
            keys, weights = measure.embedded_nodes()
            listed = _listed(self.coefficients)
            slopes = harmonics.slopes(queries.points() @ keys.T, listed.size)
            found = ((np.tensordot(np.array([0.0, *listed]), slopes, axes=1)) * weights) @ keys
        elif self.expression is not None:
            found = measure.space.pushed(
                x, pair_sums.forces(PairPotential(self.expression), measure.space, x, *measure.nodes())
            )
        external = self.external_on(measure.space)
        if external is not None:
            found = found + measure.space.pushed(x, external.slopes(x))
        return queries.answered(queries.tangent(found.T))

    # -- Gaussians
    # ---------------------------------------------------------------------------------------------------------------

    def gaussian_unfit(self, dimension: int) -> str | None:
        written, space = self.pair_potential, euclidean(dimension)
        if self.coefficients is not None:
            return "coefficients by degree are of circle and spheres"
        if written is not None and written.stiffness is None:
            return f"interaction.expression {self.expression} is no quadratic one, as -r**2/2 is"
        external = self.external_on(space)
        if external is not None and external.quadratic is None:
            return f"interaction.external {self.external} is no polynomial of degree two"
        return None

    def gaussian_drift(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """`w (x - m) + b + H x` of `W = w r^2 / 2` and `U = <b, x> + <x, H x> / 2`."""
        reason = self.gaussian_unfit(mean.size)
        if reason is not None:
            raise ProblemError.at("interaction", f"has no closed form for Gaussians: {reason}")
        stiffness = None if self.pair_potential is None else self.pair_potential.stiffness
        own = AffineDrift(np.zeros(mean.size), (0.0 if stiffness is None else stiffness[0]) * np.eye(mean.size))
        external = self.external_on(euclidean(mean.size))
        outer = None if external is None else external.quadratic
        return own if outer is None else own + AffineDrift(outer.slope + outer.bend @ mean, outer.bend)

    # -- energies
    # ---------------------------------------------------------------------------------------------------------------

    def energy(self, measure: Measure) -> float:
        return self._sum_over_nodes(measure) if measure.space.flat else super().energy(measure)

    def _sum_over_nodes(self, measure: Measure) -> float:
        """`iint W dmu dmu / 2 + int U dmu` of nodes."""
        written, external = self.pair_potential, self.external_on(measure.space)
        points, weights = measure.nodes()
        energy = 0.0 if written is None else energy_of_pairs(written, measure)
        return energy if external is None else energy + float(np.einsum("n,n->", weights, external.values(points)))

    def gradient_unfit(self, geometry: Geometry) -> str | None:
        return None if geometry.flat else super().gradient_unfit(geometry)

    def energy_unfit(self, geometry: Geometry) -> str | None:
        if geometry.flat:
            return None
        return super().energy_unfit(geometry) if self.external is None else self.gradient_unfit(geometry)

    def excess_energy(self, measure: Measure) -> float:
        convolution = self.convolution(measure.space)
        if not measure.pointlike or self.coefficients is not None or convolution is None:
            return super().excess_energy(measure)
        if self.quick_convolution(measure) is not None:
            return super().excess_energy(measure)
        return self._sum_over_nodes(measure) - convolution.energy_offset


def _listed(given: tuple[float, ...] | CoefficientFormula) -> Float:
    """`w_1, w_2, ..`."""
    if not isinstance(given, CoefficientFormula):
        return np.asarray(given, dtype=float)
    try:
        return Expression(given.formula, ("k",))({"k": np.arange(1.0, given.count + 1)})
    except ProblemError as error:
        raise ProblemError.at("formula", error.faults[0].message) from None


@lru_cache(maxsize=32)
def _pair_potential(text: str) -> PairPotential:
    return PairPotential(text)


@lru_cache(maxsize=32)
def _external(text: str, geometry: Geometry) -> External:
    return External(text, geometry)


@lru_cache(maxsize=64)
def _convolution(law: Interaction, geometry: Geometry) -> Convolution:
    harmonics, external = law._harmonics(geometry), law.external_on(geometry)
    potential = np.copy(law.degrees(geometry).potential)
    mean, potential[0] = float(potential[0]), 0.0
    degree = potential.size - 1
    with np.errstate(over="ignore", invalid="ignore"):
        strengths = harmonics.multiplicities(degree) * harmonics.largest_slopes(degree)
        bound = float(np.nan_to_num(np.abs(potential) * strengths, posinf=0.0).sum())
    written = law.pair_potential
    if written is not None:
        bound = min(bound, written.largest_slope)
    cut = law.degrees(geometry).rest > 0
    if external is None:
        return Convolution(harmonics, potential, None, bound, 0.5 * mean, cut=cut)
    series = external.series()
    assert series is not None  # noqa: S101 - `convolution_unfit` has said so
    offset = 0.5 * mean + float(np.real(series.coefficients.flat[0]))
    return Convolution(harmonics, potential, None, bound + external.largest_slope, offset, external=series, cut=cut)
