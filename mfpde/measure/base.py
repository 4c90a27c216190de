"""A law of tokens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, HarmonicSeries, Lattice, Queries, Scattered, euclidean
from mfpde.measure.damping import LogFactors, Pair, values_at
from mfpde.measure.method_checks import CHECKS, NODES_ACCURACY, check_degree, check_reach, checked
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.measure.basins import Cluster
    from mfpde.measure.density_grid import DensityGrid
    from mfpde.measure.grid_density import GridDensity
    from mfpde.measure.normal import Normal

__all__ = ["NODES_ACCURACY", "Beside", "Measure", "Sums"]
Sums = TypeVar("Sums")


class Beside(NamedTuple):
    """Two densities at points of the same weight `volume`; where pieces of a density overlap, each counts for its
    `share`."""

    share: Float
    volume: float
    own: Float
    other: Float


class Measure(ABC):
    """A probability measure on a geometry: always weighted nodes underneath.

    Where points have one component (angles), functions given to `integrate` receive them as `(m,)`, otherwise as `(m,
    components)`.

    >>> import mfpde, numpy as np
    >>> measure = mfpde.VonMises(direction=0, concentration=2)
    >>> print(measure.integrate(np.cos).round(6), measure.mean.round(6))          # I_1(2) / I_0(2)
    0.697775 [0.697775 0.      ]
    >>> measure.evaluate([0.0]).round(6), measure.sample(3, seed=1).shape
    (array([0.515885]), (3, 1))
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """What callers hand to the methods of a measure is looked at before any of its own sees it."""
        super().__init_subclass__(**options)
        for name, check in CHECKS.items():
            if name in vars(cls):
                setattr(cls, name, checked(vars(cls)[name], check))

    _geometry: Geometry | None = None

    @property
    def geometry(self) -> Geometry | None:
        """Where the measure lives; None is R^d."""
        return self._geometry

    @abstractmethod
    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """Points `(m, components)` and weights `(m,)` whose sums are integrals of smooth functions, to that accuracy
        relative to their size.

        `refinement`: so many times as many per length, or fewer below 1, for functions that are steeper or less steep
        than tilts `e^{<w, y>}`; accuracies below rounding take normal laws farther into their tails. Measures that are
        points have no others.
        """

    def nodes_towards(self, vector: Float) -> tuple[Float, Float] | None:
        """Nodes and weights for functions of `<vector, x>` and `<axis, x>`, in more than three dimensions: many fewer
        than `nodes`. None of a measure without an axis."""
        return None

    @property
    def positions(self) -> Float | None:
        """Positions s of the nodes, `(m,)`, where tokens have them (masked attention)."""
        return None

    def log_laplace(self, w: AnyArray | Queries, gradient: bool = False) -> Any:
        """`log M(w)` for `M(w) = int e^{<w, y>} dmu(y)`, y in the ambient space; with `gradient` also `grad log M(w)`,
        the mean of the tilted measure.

        `w` is `(m, d)`, giving `(m,)` and `(m, d)`, or a `Lattice`, giving its shape and `(d, *shape)`. No size of w
        overflows.
        """
        queries = w if isinstance(w, Queries) else Scattered(self._tilts(w))
        value, mean = self.tilt(queries)
        return (value, queries.answered(mean)) if gradient else value

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        """`(log M(Ax), grad log M(Ax))` at queries x, in their shape and `(d, *shape)`, by the fastest sums there are;
        A is 1 where it is not given. With factors g, those of `e^g mu`, of any size and range."""
        w = queries if matrix is None else queries.mapped(matrix)
        if log_factors is None:
            value, mean = self._log_laplace(w.points())
        else:
            mean, value = self._tilted_mean(w.points(), log_factors)
        return value.reshape(w.shape), w.laid(mean)

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        """`log M` and its gradient at vectors `(m, d)`: `(m,)` and `(m, d)`."""
        return self._tilted_mean(w)[::-1]

    def _tilted_mean(self, w: Float, log_factors: LogFactors = None) -> tuple[Float, Float]:
        from mfpde.transform import tilted_mean

        nodes, weights = self.embedded_nodes()
        return tilted_mean(w, nodes, weights, values_at(log_factors, nodes))

    def over_nodes(self, sums: Callable[[Float, Float], Sums]) -> Sums:
        """A function of its nodes, as vectors, and their weights that the fast sums make: it adds up what parts of the
        nodes give."""
        return sums(*self.embedded_nodes())

    @property
    def node_count(self) -> int:
        """How many nodes it has."""
        return int(self.nodes()[1].size)

    def largest_found(self, value: float) -> float:
        """The largest of what was found in all processes that its nodes are spread over."""
        return value

    def tilted_covariance(self, w: Float, log_factors: LogFactors = None) -> tuple[Float, Float, Float]:
        """`log M`, its gradient and its Hessian at vectors `(m, d)`."""
        from mfpde.transform import tilted_covariance

        nodes, weights = self.embedded_nodes()
        return tilted_covariance(w, nodes, weights, values_at(log_factors, nodes))

    def _tilts(self, w: AnyArray) -> Float:
        given, dimension = numbers("w", w), self.ambient_dimension
        if given.ndim == 1 and dimension == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != dimension or not np.isfinite(given).all():
            raise ProblemError.at("w", f"must be finite and have shape (m, {dimension}), not {given.shape}")
        return given

    @property
    def ambient_dimension(self) -> int:
        """The d of the R^d around it."""
        if self.geometry is not None:
            return self.geometry.ambient_dimension
        return int(self.nodes()[0].shape[1])

    @abstractmethod
    def evaluate(self, points: AnyArray) -> Float:
        """Density at points, per unit length or area."""

    def on_lattice(self, lattice: Lattice) -> Float:
        """Density at the points of a lattice, in its shape."""
        return self.evaluate(lattice.points()).reshape(lattice.shape)

    @abstractmethod
    def sample(self, count: int, seed: int = 0) -> Float:
        """Independent draws `(count, components)`. The first draws do not depend on `count`."""

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        """Those `count` draws of `sample` that begin with number `first`: of measures that know better without the
        memory of all before."""
        return self.sample(first + count, seed)[first:]

    #: made of point masses: sums over its nodes are what it is
    pointlike: ClassVar[bool] = False

    @property
    def compact(self) -> bool:
        """Whether its support is bounded."""
        return not self.space.flat

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        """A box, `low` and `high` `(d,)`, outside of which lies at most the share `tolerance` of the measure's mass,
        and of that of each tilted measure `e^{<w, y>} mu`, w the rows of `tilts`; the support when that is bounded."""
        from mfpde.measure.cells import reach_of_nodes

        check_reach(tolerance)
        return reach_of_nodes(*self.embedded_nodes(), tolerance, None if tilts is None else self._tilts(tilts))

    def on_cells(self, cells: int) -> GridDensity | None:
        """Its density on so many cells along each axis, where it has one but no grid of its own."""
        return None

    @property
    def jumps(self) -> bool:
        """Whether the density is known to jump to zero at the border of its support."""
        return False

    @property
    def breakpoints(self) -> Float | None:
        """On the line: the ends of the support, or in tails places beyond which there is no mass that matters, and all
        places where the density jumps or has a kink; ascending. None where they are not known."""
        return None

    def cell_averages(self, lattice: Lattice) -> Float:
        """Averages of the density over the cells about the points of an evenly spaced lattice, in its shape, per unit
        physical volume."""
        self._check_cells(lattice)
        return self._cell_averages(lattice)

    def _cell_averages(self, lattice: Lattice) -> Float:
        from mfpde.measure.cells import averages_by_gauss

        return averages_by_gauss(self.on_lattice, lattice)

    def _check_cells(self, lattice: Lattice) -> None:
        instance("lattice", lattice, Lattice, "a lattice such as mfpde.Lattice.of([[0.0, 0.5, 1.0]])")
        here = f"in R^{self.ambient_dimension}" if self.space.flat else f"on the {self.space.name}"
        if not self.space.flat or lattice.dimension != self.ambient_dimension:
            raise ProblemError.at("lattice", f"has cells of R^{lattice.dimension}, the measure lives {here}")
        if min(lattice.shape) < 2:
            raise ProblemError.at("lattice", f"needs two points a side to have cells, not {lattice.shape}")

    def harmonics(self, degree: int) -> HarmonicSeries:
        """Its harmonics up to a degree, on circle and spheres: on the circle `c_k = int e^{-i k theta} dmu`."""
        check_degree(degree)
        return self.space.series(*self.nodes(), degree)

    @property
    def by_degree(self) -> bool:
        """Whether convolutions by degree are the quickest way to its drifts and energies."""
        return self.space.angular

    def integrate(self, function: Callable[[Float], Any]) -> Any:
        """`int f dmu`; `f` may return one value or an array per point."""
        instance("function", function, Callable, "a function of points such as numpy.cos")  # type: ignore[arg-type]
        points, weights = self.nodes()
        returned = function(points[:, 0] if points.shape[1] == 1 else points)
        try:
            values = np.asarray(returned)
        except ValueError:  # rows of several lengths
            values = np.empty(0, dtype=object)
        if values.shape[:1] != weights.shape or values.dtype.kind not in "biufc":
            raise ProblemError.at(
                "function", f"must return one value per point: {weights.size} are wanted, it returned {values.shape}"
            )
        return np.tensordot(weights, values, axes=1)

    @property
    def mean(self) -> Float:
        """`int x dmu` in the ambient space, `(d,)`."""
        points, weights = self.embedded_nodes()
        return weights @ points

    @property
    def covariance(self) -> Float:
        """`int (x-m)(x-m)^T dmu` in the ambient space, `(d, d)`."""
        points, weights = self.embedded_nodes()
        centred = points - weights @ points
        return (weights[:, None] * centred).T @ centred

    def embedded_nodes(self) -> tuple[Float, Float]:
        """Nodes as vectors of the ambient space, `(n, d)`, and their weights."""
        points, weights = self.nodes()
        return (points if self.geometry is None or self.geometry.flat else self.geometry.embed(points)), weights

    # -- what a measure may know of itself
    # ---------------------------------------------------------------------------------------------------------

    @property
    def concrete(self) -> Measure:
        """The measure itself, of one that was only written down."""
        return self

    @property
    def space(self) -> Geometry:
        """Where it lives, R^d where nobody has said so."""
        return self.geometry or euclidean(self.ambient_dimension)

    @property
    def mass(self) -> float:
        """Total mass: 1 but for what has rounding, or cells, of its own."""
        return 1.0

    @property
    def lattices(self) -> list[Lattice]:
        """Those of its panels, where it is a density on some."""
        return []

    @property
    def normal(self) -> Normal | None:
        """The normal law that it is, with its closed forms; None for any other measure."""
        return None

    @property
    def variances(self) -> Float:
        """Eigenvalues of the covariance, the largest first."""
        return np.linalg.eigvalsh(self.covariance)[::-1].astype(float)

    @property
    def summands(self) -> list[tuple[float, Measure]]:
        """Shares and measures that it is the sum of."""
        return [(1.0, self)]

    @property
    def slices(self) -> list[tuple[float | None, float, Measure]]:
        """Position, share of the mass, and law of each position where tokens have some; otherwise itself."""
        return [(None, 1.0, self)]

    def sample_positions(self, count: int, seed: int = 0) -> Float | None:
        """Positions of the draws that `sample` gives for this seed, where tokens have some."""
        return None

    def up_to(self, position: float) -> tuple[Measure, float]:
        """The part at positions up to that one, which masked attention there sees, and by what its integrals are to be
        multiplied: all but panels are scaled to mass 1."""
        from mfpde.measure.particles import Particles

        points, weights = self.nodes()
        there = np.asarray(self.positions) <= position
        return Particles(points[there], weights[there], self.geometry), float(weights[there].sum() / weights.sum())

    @property
    def views(self) -> tuple[float, ...]:
        """Positions for which `up_to` gives the same object every time, so that what was found for it is kept."""
        return ()

    def positions_at(self, queries: Queries) -> Float | None:
        """Positions of queries that are its own nodes; None for any others."""
        nodes = self.nodes()[0]
        own = queries.shape == nodes.shape[:1] and np.array_equal(self.space.embed(nodes), queries.points())
        return self.positions if own else None

    def node_queries(self) -> list[Queries]:
        """Its nodes as what it may be asked at itself, in their order."""
        return [Scattered(self.nodes()[0], self.space)]

    def sizes(self) -> Float | None:
        """Largest `|y_i|` of its tokens, `(d,)`, where that is known without any computing."""
        return None

    # -- functionals
    # ---------------------------------------------------------------------------------------------------------

    def density_grids(self, quantity: str) -> Iterator[DensityGrid]:
        """Ever finer grids of its density on a compact space, which `quantity` needs."""
        raise self._no_density(quantity)

    def relative_entropy(self) -> float:
        """`int mu log(|X| mu)` on a space of area |X|: the entropy that the uniform measure has more."""
        harmonics = self.space.harmonics
        if harmonics is None:
            raise ProblemError.at("measure", f"there is no uniform measure on {self.space.name}")
        return harmonics.log_area - self.entropy()

    def density_nodes(self) -> tuple[Float, Float]:
        """Weights of the nodes and the densities there, so that `sum_i w_i f(rho_i)` is `int f(rho) dmu`."""
        points, weights = self.nodes()
        return weights, self.evaluate(points)

    def entropy(self) -> float:
        """`-int rho log rho`, -inf where there is no density."""
        weights, density = self.density_nodes()
        there = weights > 0
        return -float(weights[there] @ np.log(density[there]))

    def minimum(self) -> float:
        """The smallest density."""
        return float(self.density_nodes()[1].min())

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        """Local maxima of the density that stand out, or tokens linked by distances (observable `clusters`)."""
        raise self._no_density("clusters")

    def places(self) -> tuple[Float, Float, Float]:
        """Where tokens are, `(n, d)`, what they weigh, and how far at most they are from there: half a cell."""
        points, weights = self.embedded_nodes()
        return points, weights, np.zeros(weights.size)

    def share_at_edge(self, tilts: Float) -> float:
        """Largest share of `e^{<w, y>} mu` in the outermost cells, over the rows w of `tilts`; NaN without cells."""
        return math.nan

    def pair_excess(self, scale: float) -> float:
        """`iint (e^{a <x, y>} - 1) dmu dmu`."""
        matrix, weights = scale * np.eye(self.ambient_dimension), self.nodes()[1]
        logs = np.concatenate([self.tilt(queries, matrix)[0].ravel() for queries in self.node_queries()])
        return float(weights[weights > 0] @ np.expm1(logs[weights > 0]))

    def beside(self, reference: Measure) -> list[Beside]:
        """Its density and that of another measure at the points of quadratures, which distances compare."""
        raise self._no_density("a distance of densities")

    def _no_density(self, quantity: str) -> ProblemError:
        return ProblemError.at("measure", f"{quantity} needs a density, and a {type(self).__name__} measure has none")

    def fingerprint(self) -> bytes:
        """Of what may be written to from outside; most measures do not change."""
        return b""

    def point_masses(self) -> tuple[Float, Float] | None:
        """Points and weights, where it is made of points; None where it has a density."""
        return self.nodes() if self.pointlike else None
