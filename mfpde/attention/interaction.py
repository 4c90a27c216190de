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
from mfpde.attention.lattice_sums import sums_of_nodes
from mfpde.attention.law import Law
from mfpde.attention.listed_potential import convolution_of, listed, listed_degrees
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


#: why there is no energy
_TURNS = "an interaction with sines, which is odd in the angle, turns tokens and ascends no energy"


def _coefficients_way(value: Any) -> str:
    return FORMULA if isinstance(value, Mapping | CoefficientFormula) else "list"


_BY_DEGREE = Annotated[
    Annotated[Vector, Field(min_length=1), Tag("list")] | Annotated[CoefficientFormula, Tag(FORMULA)],
    Discriminator(_coefficients_way),
]


class Interaction(Law):
    """`G_mu = P grad (W * mu + U)`: tokens ascend a potential W of two of them, and an `external` one U of each.

    `expression`: W in `cosine` or `angle`, of the angle between two tokens: `exp(3*cosine)`, `-sqrt(1 - cosine**2)`
    (Onsager's on S^2), `maximum(0, 1 - abs(angle))`. Or `coefficients: [w_1, w_2, ..]`, or as a formula in k, of `W =
    sum_{k>=1} w_k P_k(cosine)`; `P_k` is `cos k theta` on the circle, Legendre's polynomial on S^2, Gegenbauer's, 1 at
    1, on S^{d-1}. Positive coefficients attract. `[1]` is the Kuramoto model, `[0, 1]` its nematic sister. On the
    circle `sine_coefficients: [s_1, s_2, ..]` add `sum_k s_k sin(k theta)`, as does an expression that is not even in
    `angle`, there from the token that pulls to the one that is pulled: tokens then turn, and ascend no energy.
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
    coefficients: _BY_DEGREE | None = Field(
        default=None, description="`w_1, w_2, ...` of the potential, a list or a formula in k"
    )
    sine_coefficients: _BY_DEGREE | None = Field(
        default=None, description="`s_1, s_2, ...` of the odd part of the potential, on the circle"
    )
    expression: str | None = Field(default=None, description="the potential W in cosine, or angle, between tokens")
    external: str | None = Field(default=None, description="a potential U of each token, in the coordinates")

    @field_validator("coefficients", "sine_coefficients")
    @classmethod
    def _finite(
        cls, given: tuple[float, ...] | CoefficientFormula | None
    ) -> tuple[float, ...] | CoefficientFormula | None:
        if given is None:
            return None
        values = listed(given)
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
        if self._listed and self.expression is not None:
            raise ProblemError.at("expression", "coefficients and expression cannot both be given: each is all of W")
        if not self._listed and self.expression is None and self.external is None:
            raise ProblemError.at("", "needs coefficients or an expression (of W), or an external potential")
        for key, parse in (("expression", lambda text: PairPotential(text).expression), ("external", Expression)):
            text = getattr(self, key)
            try:
                if text is not None:
                    parse(text)
            except ProblemError as error:
                raise ProblemError.at(key, error.faults[0].message) from None
        return self

    @property
    def _listed(self) -> bool:
        """Whether W is given by coefficients."""
        return self.coefficients is not None or self.sine_coefficients is not None

    # -- W and U
    # ----------------------------------------------------------------------------------------------------------------

    @property
    def pair_potential(self) -> PairPotential | None:
        """W, where it is an expression."""
        return None if self.expression is None else _pair_potential(self.expression)

    @property
    def pairs_kinked(self) -> bool:
        """Whether forces between tokens have kinks or jumps."""
        return self.pair_potential is not None and self.pair_potential.kinked

    @property
    def kinked_by_edges(self) -> bool:
        return self.pairs_kinked or (self.external is not None and bool(Expression(self.external).kinks))

    def external_on(self, geometry: Geometry) -> External | None:
        """U, where there is one."""
        return None if self.external is None else _external(self.external, geometry)

    def degrees(self, geometry: Geometry) -> Degrees:
        """W by degrees; without the mean of W where it is given by coefficients."""
        harmonics = self._harmonics(geometry)
        written = self.pair_potential
        if written is not None:
            return written.degrees(harmonics)
        if not self._listed:
            return Degrees(np.zeros(2), 0.0, np.inf)
        return listed_degrees(harmonics, self.coefficients, self.sine_coefficients)

    def _turns(self, geometry: Geometry) -> bool:
        """Whether W has an odd part."""
        written = self.pair_potential
        return geometry.angular and (self.sine_coefficients is not None if written is None else written.turns)

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
                written.check_turn()
            if flat:
                written.check_distances()
                written.check_meeting()
        if flat and self.coefficients is not None:
            raise ProblemError.at(
                "interaction.coefficients",
                f"are by degrees of harmonics, on circle and spheres; on the {geometry.name} write an expression in r",
            )
        if self.sine_coefficients is not None and not geometry.angular:
            raise ProblemError.at(
                "interaction.sine_coefficients",
                f"are of the circle; on the {geometry.name} the angle between two tokens has no sign",
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
        if written is None:
            return None
        if self._turns(geometry) and self.degrees(geometry).rest > 0:
            return (
                f"interaction.expression {self.expression} is not even and has a kink or a singularity; spectral "
                "solves for its density"
            )
        return written.token_unfit or (None if noisy or self._turns(geometry) else written.collision)

    def quick_convolution(self, measure: Measure) -> Convolution | None:
        """Of point masses by degrees only where that is exact, and cheaper than pairs."""
        if not measure.pointlike or measure.space.harmonics is None:
            return super().quick_convolution(measure)
        if self.expression is not None and not self._turns(measure.space):
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
        if written is None or not self._by_pairs(measure):
            pairs = _convolution(self.of_pairs, measure.space)
            return pairs.slopes_and_levels(points, measure.harmonics(pairs.top))[0]
        if written.token_unfit is not None:
            raise ProblemError.at("interaction.expression", written.token_unfit)
        return forces(written, measure, queries)

    def _by_pairs(self, measure: Measure) -> bool:
        """Whether a written W is summed over pairs of tokens: one that is not even has degrees only."""
        return measure.space.flat or (measure.pointlike and not self._turns(measure.space))

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
        elif written is None or not self._by_pairs(measure):
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
            strengths = listed(self.coefficients)
            slopes = harmonics.slopes(queries.points() @ keys.T, strengths.size)
            found = ((np.tensordot(np.array([0.0, *strengths]), slopes, axes=1)) * weights) @ keys
        if self.sine_coefficients is not None:
            strengths = listed(self.sine_coefficients)
            found = found + measure.space.pushed(x, pair_sums.sine_forces(strengths, x, *measure.nodes()))
        if self.expression is not None:
            signed = self._turns(measure.space)
            found = measure.space.pushed(
                x, pair_sums.forces(PairPotential(self.expression), measure.space, x, *measure.nodes(), signed=signed)
            )
        external = self.external_on(measure.space)
        if external is not None:
            found = found + measure.space.pushed(x, external.slopes(x))
        return queries.answered(queries.tangent(found.T))

    def sums_nodes(self, measure: Measure) -> bool:
        potential, space, lattices = self.pair_potential, measure.space, measure.lattices
        if potential is None or potential.stiffness is not None or not space.flat:
            return True
        return all(sums_of_nodes(potential, space, here, there) for here in lattices for there in lattices)

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
        if geometry.flat:
            return None
        return _TURNS if self._turns(geometry) else super().gradient_unfit(geometry)

    def energy_unfit(self, geometry: Geometry) -> str | None:
        if geometry.flat:
            return None
        if self._turns(geometry):
            return _TURNS
        return super().energy_unfit(geometry) if self.external is None else self.gradient_unfit(geometry)

    def excess_energy(self, measure: Measure) -> float:
        convolution = self.convolution(measure.space)
        if not measure.pointlike or self._listed or convolution is None:
            return super().excess_energy(measure)
        if self.quick_convolution(measure) is not None:
            return super().excess_energy(measure)
        return self._sum_over_nodes(measure) - convolution.energy_offset


@lru_cache(maxsize=32)
def _pair_potential(text: str) -> PairPotential:
    return PairPotential(text)


@lru_cache(maxsize=32)
def _external(text: str, geometry: Geometry) -> External:
    return External(text, geometry)


@lru_cache(maxsize=64)
def _convolution(law: Interaction, geometry: Geometry) -> Convolution:
    degrees, external = law.degrees(geometry), law.external_on(geometry)
    return convolution_of(law._harmonics(geometry), degrees, law.pair_potential, external)
