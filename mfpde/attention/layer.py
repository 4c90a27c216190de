"""One layer of attention as a map of all its tokens, `x -> (G_mu(x_i))_i`: its derivative, its Lipschitz constant."""

from __future__ import annotations

import numpy as np

from mfpde.arguments import number, numbers, whole
from mfpde.attention.base import Attention
from mfpde.attention.law import concrete
from mfpde.attention.singular_value import largest_singular_value
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.streams import random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["Layer", "LipschitzConstant"]


class LipschitzConstant(float):
    """A number that knows how it was found: `error`, an estimate of what it may be off by; `iterations`; whether it
    has `converged`; and the `direction` `(n, d)` in which tokens are driven apart fastest, of norm 1."""

    error: float
    iterations: int
    converged: bool
    direction: Float


class Layer:
    """The map of all nodes of a measure to their drifts. On spheres directions are tangent and derivatives covariant:
    `P_x D G u - <x, G> u` for the drift `P_x G`."""

    def __init__(self, attention: Attention, measure: Measure) -> None:
        attention.need_constant()
        self.measure = concrete(measure)
        if self.measure.nodes()[1].min() < 0:
            raise ProblemError.at("measure", "has negative weights")
        terms = attention.terms(self.measure.ambient_dimension)
        self.parts = [term.head.variation(term, self.measure) for term in terms]
        self.nodes, self.weights = self.measure.nodes()
        self.space = self.measure.space
        self.precision = max((float(np.finfo(part.kind).eps) for part in self.parts), default=0.0) * 10
        none = np.zeros((len(self.nodes), self.measure.ambient_dimension))
        self.outputs = sum((part.means @ part.value.T for part in self.parts), none)

    def product(self, directions: AnyArray) -> Float:
        """What the drifts change by when the tokens move in these directions, `(n, components)` both."""
        given = self._checked(directions)
        pushed = self.space.pushed(self.nodes, given)
        change = sum((part.product(pushed) for part in self.parts), np.zeros(pushed.shape))
        return self.space.tangent(self.nodes, change) - self.space.bent(self.nodes, self.outputs, given)

    def transposed(self, covectors: AnyArray) -> Float:
        """The transpose: `<covectors, product(u)> = <transposed(covectors), u>` for all u."""
        given = self._checked(covectors)
        pushed = self.space.pushed(self.nodes, given)
        change = sum((part.transposed(pushed) for part in self.parts), np.zeros(pushed.shape))
        return self.space.tangent(self.nodes, change) - self.space.bent(self.nodes, self.outputs, given)

    def lipschitz(self, tolerance: float, seed: int, iterations: int) -> LipschitzConstant:
        """The largest singular value of the derivative, in the norm `|u|^2 = sum_i w_i |u_i|^2`."""
        whole("iterations", iterations, least=1)
        if not number("tolerance", tolerance) > 0:
            raise ProblemError.at("tolerance", f"must be greater than 0, not {tolerance:g}")
        root = np.sqrt(self.weights)[:, None]
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        start = random_stream(len(self.nodes), seed).standard_normal(self.nodes.shape)
        start = np.where(root > 0, start, 0.0)
        found = largest_singular_value(
            lambda u: root * self.product(inverse * u),
            lambda v: inverse * self.transposed(root * v),
            start,
            tolerance,
            iterations,
        )
        constant = LipschitzConstant(found.value)
        constant.error = max(found.error, self.precision * found.value)
        constant.iterations, constant.converged = found.iterations, found.converged
        constant.direction = inverse * found.direction
        return constant

    def _checked(self, directions: AnyArray) -> Float:
        given = numbers("directions", directions)
        given = given[:, None] if given.ndim == 1 and self.nodes.shape[1] == 1 else given
        if given.shape != self.nodes.shape or not np.isfinite(given).all():
            raise ProblemError.at(
                "directions", f"must be finite and have the shape of the tokens, {self.nodes.shape}, not {given.shape}"
            )
        return given
