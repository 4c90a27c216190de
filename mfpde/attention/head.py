"""One kernel between tokens."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.attention.affine import AffineDrift, Forms
from mfpde.attention.base import Attention, Term
from mfpde.attention.masking import visible_groups
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention.linearisation import HeadVariation

__all__ = ["Head", "row_blocks"]

#: of the kernel matrix, in plain sums: bounds memory
_ENTRIES_PER_BLOCK = 2**22


class Head(Attention):
    """One kernel: `G_mu(x) = V int k(x, y) y dmu(y)`."""

    #: whether `int k(x, y) dmu(y) = 1`
    normalised: ClassVar[bool] = False
    #: whether the drift at x is a tilted mean, near `S A x` for covariance S, however far out that is
    tilts: ClassVar[bool] = False
    #: whether k is `e^{<Ax, y>}` and nothing else, but for a factor that depends on x alone
    plain: ClassVar[bool] = False
    #: power of the weight of a token by which the error of its place counts: 1/4 where tilts reach the tails
    tail_power: ClassVar[float] = 1.0
    #: the function of the scores `<Ax, y> - <y, F y>` that k is, by its name in sums over pairs; None is another kernel
    pair_kernel: ClassVar[str | None] = None
    #: whether `k(0, y) = 0`, so that a token at the origin stays there
    rests_at_origin: ClassVar[bool] = False
    #: whether the mean of all tokens moves by V alone
    keeps_mean: ClassVar[bool] = False

    @abstractmethod
    def value_matrix(self, dimension: int) -> Float:
        """V as a `(d, d)` array."""

    @abstractmethod
    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        """`k(x_i, y_j)` for vectors x (m, d), y (n, d), normalised with respect to the weighted nodes y: `(m, n)`."""

    # -- what a kernel may know
    # ---------------------------------------------------------------------------------------------------------

    def query_matrix(self, dimension: int) -> Float:
        """A as a `(d, d)` array, where the kernel depends on x through Ax."""
        raise ProblemError.at("attention", f"{self._name} attention has no matrix A")

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        """Nothing is shared by the drifts of a measure, for most kernels."""

    def sums(self, measure: Measure, queries: Queries) -> Float:
        """`int k(x, y) y dmu(y)` by the fastest sums over nodes, `(d, *shape)`."""
        return queries.laid(self._plain(measure, queries.points()))

    def slopes(self, measure: Measure, points: Float) -> Float:
        """`D_x` of that, `(m, d, d)`."""
        raise ProblemError.at("attention", f"{self._name} attention does not say its derivative")

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        """`k w` and `dk/ds w` for scores s `(m, n)` and weights `(n,)`; a score of -inf is a pair that is masked."""
        raise ProblemError.at("attention", f"{self._name} attention does not say its derivative")

    def fixed_kernel(self, queries: Float, keys: Float) -> Float | None:
        """k for vectors x (m, d), y (n, d) but for a factor of x alone, `(m, n)`, where that is the same for every
        measure; None where it is not. Between unit vectors a normalised one is at most 1, and smooth in x and y if k
        is."""
        return None if self.normalised else self.kernel(queries, keys, np.ones(keys.shape[0]))

    @property
    def sums_error(self) -> float:
        """Error of its sums besides rounding."""
        return 0.0

    def check_tails(self, measure: Measure, points: Float) -> None:
        """Fail where the tails of the measure are too heavy for its sums at native points."""

    def largest(self, dimension: int, radius: float) -> float:
        """The largest integral of |k| over tokens of R^d within that radius, or a bound of it."""
        return 1.0 if self.normalised else np.inf

    def log_factors(self, measure: Measure) -> Float | None:
        """g at the nodes of the measure, `(n,)`, of a kernel that depends on the scores `<Ax, y> + g(y)`; None is
        0."""
        return None

    def amplifies_tails(self, dimension: int) -> bool:
        """Whether drifts look far into tails, as those of e^{<Ax, y>} do without the damping e^{-|Ky|^2} of l2."""
        if self.tail_power >= 1:
            return False
        form = self.key_form(dimension)
        return form is None or not float(np.linalg.eigvalsh(form)[0]) > 0.0

    def key_form(self, dimension: int) -> Float | None:
        """The matrix F, `(d, d)`, of `g(y) = -<y, F y>` where that is what g is."""
        return None

    def features(self, dimension: int) -> tuple[Float, Float]:
        """Q and K with `A = K^T Q`, with as few rows as are known."""
        return self.query_matrix(dimension), np.eye(dimension)

    def variation(self, term: Term, measure: Measure) -> HeadVariation:
        """How its drifts of all nodes of the measure change with the nodes."""
        from mfpde.attention.linearisation import HeadVariation

        return HeadVariation(term, measure)

    @property
    def gaussian_unfit_head(self) -> str | None:
        """Why its drift of a Gaussian is not affine, or None."""
        return f"{self._name} attention does not keep Gaussians"

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """`int k(x, y) y dmu(y)` for `mu = N(mean, covariance)`, an affine function of x."""
        raise ProblemError.at("attention", f"has no closed form for Gaussians: {self.gaussian_unfit_head}")

    def gaussian_forms(self, dimension: int) -> Forms | None:
        """What `gaussian_push` needs, in the coordinates of tokens; None if it has no such formula."""
        return None

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        """c and `B F` of that affine function, `c + B (x - m)`, for `mu = N(m, F F^T)` and `F`, `(d, any)`; from forms
        in any coordinates, without inverting F: in those in which a Gaussian is round, however thin it is in others."""
        raise ProblemError.at("attention", f"{self._name} attention has no forms")

    @property
    def _name(self) -> str:
        return str(self.canonical().get("kind", type(self).__name__))

    # -- what follows
    # ---------------------------------------------------------------------------------------------------------

    def own_terms(self, dimension: int) -> list[Term]:
        self.check_shapes(dimension)
        return [Term(self, self.value_matrix(dimension))]

    def check_shapes(self, dimension: int) -> None:
        """Fail when the matrices of the kernel do not fit tokens in R^d."""

    def check_head(self, geometry: Geometry) -> None:
        """Fail when the kernel makes no sense on the space."""

    def check_speed(self, geometry: Geometry) -> None:
        """Fail when the kernel is known to be beyond all numbers there: only ratios of drifts have a meaning then."""

    def share_of(self, share: float) -> float:
        """What integrals over that share of the mass, scaled to mass 1, are multiplied by: nothing if normalised."""
        return 1.0 if self.normalised else share

    def means(self, measure: Measure, queries: Queries) -> Float:
        """`int k(x, y) y dmu(y)` by the fastest path, `(d, *shape)`."""
        summands = [] if self.normalised else measure.summands
        if len(summands) > 1:
            return np.sum([share * self.means(part, queries) for share, part in summands], axis=0)
        closed = self._closed_form(measure)
        return self.sums(measure, queries) if closed is None else closed.at(queries, measure.mean)

    def mean_jacobians(self, measure: Measure, points: Float) -> Float:
        """`D_x int k(x, y) y dmu(y)`, `(m, d, d)`."""
        summands = [] if self.normalised else measure.summands
        if len(summands) > 1:
            return np.sum([share * self.mean_jacobians(part, points) for share, part in summands], axis=0)
        closed = self._closed_form(measure)
        if closed is None:
            return self.slopes(measure, points)
        return np.broadcast_to(closed.B, (points.shape[0], *closed.B.shape)).copy()

    def masked_means(self, measure: Measure, queries: Queries, positions: Float) -> Float:
        """`int k_s(x, y) y dmu(y)` over the tokens at positions up to s, `(d, *shape)`."""
        groups = list(visible_groups(measure, positions))
        parts = [self.share_of(share) * self.means(seen, queries.only(rows)) for rows, seen, share in groups]
        if len(parts) == 1:
            return parts[0]
        means = np.empty((measure.ambient_dimension, *queries.shape))
        for (rows, _, _), part in zip(groups, parts, strict=True):
            means[:, rows] = part
        return means

    def plain_means(self, measure: Measure, points: Float) -> Float:
        """`int k(x, y) y dmu(y)` as a plain sum over nodes, `(m, d)`."""
        return self._plain(measure, measure.space.embed(points))

    def _plain(self, measure: Measure, queries: Float) -> Float:
        keys, weights = measure.embedded_nodes()
        means = np.empty((queries.shape[0], keys.shape[1]))
        for here in row_blocks(queries.shape[0], keys.shape[0]):
            means[here] = (self.kernel(queries[here], keys, weights) * weights) @ keys
        return means

    def pair_matrix(self, measure: Measure) -> Float:
        """`k(x_i, y_j) w_j` between the nodes of the measure, `(n, n)`."""
        keys, weights = measure.embedded_nodes()
        return self.kernel(keys, keys, weights) * weights

    def _closed_form(self, measure: Measure) -> AffineDrift | None:
        if measure.normal is None or self.gaussian_unfit_head is not None:
            return None
        return self.gaussian_mean(measure.mean, measure.covariance)


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Slices of rows so few that a block of that many columns stays small."""
    length = max(1, _ENTRIES_PER_BLOCK // max(columns, 1))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]
