"""What every integration of tokens shows, and what moves them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Velocity
from mfpde.contracts import Integration
from mfpde.errors import ProblemError
from mfpde.geometry import Layout, Sphere
from mfpde.measure import Measure, Particles
from mfpde.solvers.forms import particles_fields, particles_layout
from mfpde.solvers.particles.schemes import Gain
from mfpde.solvers.particles.tokens import Tokens
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["OF_TOKENS", "TokenIntegration", "lengths", "spread"]


#: arrays of a state that have numbers of every token, one after the other
OF_TOKENS = frozenset({"march_state", "positions", "tokens", "view", "weights", "x", "y"})


class TokenIntegration(Integration):
    """Tokens on their way: subclasses move them. With a normalization they are vectors `x = r theta`, whose directions
    live on a sphere: in R^d of the norms r they begin with (under post-LN `x = r D theta`), on a sphere of norm 1,
    where their measure is that of the directions."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        self._settings, self._task, self._tokens = settings, task, tokens
        self._geometry, self._velocity = tokens.geometry, task.equation.velocity
        self._scheme = task.equation.normalization
        dimension = self._geometry.ambient_dimension
        self._gain = Gain.of(self._scheme, dimension)
        #: where directions live, of tokens that have some
        self._directions = None if self._geometry.flat else self._geometry
        if self._geometry.flat and self._scheme is not None:
            self._directions = Sphere(dimension=dimension)
        self._ranks = tokens.ranks
        copies = None if settings.copies is None else tokens.copies
        components = tokens.points.shape[2] if self._scheme is None else self._geometry.ambient_dimension
        weights, positions = (
            None if each is None else self._ranks.spread(each) for each in (tokens.weights, tokens.positions)
        )
        self._layout = particles_layout(weights, components, positions, copies)

    @property
    def layout(self) -> Layout:
        return self._layout

    @abstractmethod
    def points(self) -> Float:
        """Native points of all tokens at the present time, `(copies, n, c)`."""

    def shown(self) -> Float:
        """The tokens themselves, `(copies, n, components)`."""
        return self.points()

    def first_directions(self) -> tuple[Float, Float]:
        """Unit vectors `(copies, n, d)` and norms `(copies, n, 1)` at the start."""
        vectors = self._geometry.embed(self._tokens.points.reshape(-1, self._tokens.points.shape[2]))
        vectors = vectors.reshape(*self._tokens.points.shape[:2], -1)
        if self._geometry.flat:
            vectors = vectors / self._stretch
        norms = lengths(vectors)
        if not self._ranks.least(float(norms.min())):
            raise ProblemError.at("initial", "has a token at 0, which a normalization cannot give a direction")
        return vectors / norms, norms if self._geometry.flat else np.ones_like(norms)

    def lengthened(self, directions: Float, norms: Float) -> Float:
        """The tokens, multiples of D theta where LayerNorm comes last."""
        return norms * directions * self._stretch

    @property
    def _stretch(self) -> Float | float:
        """D of tokens D theta, those of post-LN; 1 of others."""
        last = self._scheme is not None and self._scheme.kind == "post"
        return self._gain.factors if self._gain is not None and last else 1.0

    def measure(self) -> Particles:
        return self._tokens.measure(self.shown() if self._geometry.flat else self.points())

    def copies(self) -> list[Measure]:
        return self._tokens.laws(self.shown() if self._geometry.flat else self.points())

    def fields(self) -> dict[str, Float]:
        shown = self.shown()
        return particles_fields(shown if self._settings.copies is not None else self._ranks.spread(shown[0]))

    def drift(self, time: float, points: Float) -> Float:
        """Of tokens at native points `(n, c)` by their own measure, in native components."""
        measure = self._tokens.law(points)
        velocity = self._velocity.at(time)
        velocity.prepare(measure)
        return velocity.drift(measure, points, self._tokens.positions)

    def drifts(self, time: float, points: Float) -> Float:
        """Of all copies, native points `(copies, n, c)`: each by its own measure, at once where no measure matters."""
        if self._velocity.law is None:
            measure, rows = self._tokens.law(points[0]), points.reshape(-1, points.shape[2])
            return self._velocity.at(time).drift(measure, rows).reshape(points.shape)
        return np.stack([self.drift(time, each) for each in points])

    def outputs(self, velocity: Velocity, time: float, seen: Float) -> Float:
        """`Att(y_i)`, not projected, of what layers see: unit vectors, or those times a gain, `(n, d)`."""
        space = None if self._gain is not None else self._directions
        points = seen if space is None else space.points(seen)
        measure = self._tokens.law_on(space, points).concrete
        velocity, total = velocity.at(time), np.zeros(seen.shape)
        velocity.prepare(measure)
        if velocity.law is not None:
            total += velocity.law.outputs(measure, measure.space.queries(points), self._tokens.positions).T
        return total if velocity.pointwise is None else total + velocity.pointwise.outputs(seen)

    def residual(self) -> float:
        """`(sum_i w_i |G(x_i)|^2)^{1/2}` relative to the spread of tokens in R^d; of copies the root mean square."""
        squares = []
        points_of_copies = self.points()
        for points, speed in zip(points_of_copies, self.drifts(self.time, points_of_copies), strict=True):
            square = self._ranks.sum(float(np.einsum("n,nc->", self._tokens.weights, speed**2)))
            squares.append(square / spread(points, self._tokens) ** 2)
        return float(np.sqrt(np.mean(squares)))

    def state(self) -> dict[str, AnyArray]:
        with self._ranks.called("state"):
            return {
                name: self._ranks.spread(array, 1 if array.ndim == 3 else 0)
                if name in OF_TOKENS and array.size
                else array
                for name, array in self.own_state().items()
            }

    @abstractmethod
    def own_state(self) -> dict[str, AnyArray]:
        """What goes on in this process; `OF_TOKENS` names the arrays of which the other ranks have the rest."""

    def tokens_state(self) -> dict[str, AnyArray]:
        """What was drawn at the start and never changes."""
        positions = np.zeros(0) if self._tokens.positions is None else self._tokens.positions
        return {"tokens": self._tokens.points, "weights": self._tokens.weights, "positions": positions}


def lengths(vectors: Float) -> Float:
    """Of vectors `(..., d)`, `(..., 1)`."""
    return np.sqrt(np.einsum("...c,...c->...", vectors, vectors))[..., None]


def spread(points: Float, tokens: Tokens) -> float:
    """Root of the mean square distance from the mean; 1 where the space is bounded."""
    if not tokens.geometry.flat:
        return 1.0
    mean = tokens.ranks.sum(np.einsum("n,nc->c", tokens.weights, points))
    variance = tokens.ranks.sum(float(np.einsum("n,nc->", tokens.weights, (points - mean) ** 2)))
    deviation = float(np.sqrt(variance))
    farthest = tokens.ranks.most(float(np.abs(points).max(initial=0.0)))
    return deviation if deviation > 1e-14 * farthest else farthest + 1e-200
