"""A Transformer's own layers: residual steps of length tau = until / L, normalised as its scheme says.

| scheme | a layer, N(x) = D x/|x|, theta = x/|x| |
|---|---|
| none (R^d) | `x + tau Att(x)` |
| post | `N(x + tau Att(x))`, of tokens x = D u with unit vectors u |
| pre | `x + tau Att(N(x))` |
| peri | `x + tau Att(N(x)) / |Att(N(x))|` |
| mix | `theta + tau Att(N(x))` at the length of x until `switch`, then pre |
| ngpt | `theta + tau rate Att(N(x)) / |Att(N(x))|` at the length of x |
| sqrt | `x + tau Att(N(x)) / sqrt(t + 1)` |

In R^d the schemes that normalise last keep the norms that tokens begin with, post those of `D^{-1} x`. With sublayers
attention and drift follow one another, each as a layer of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Velocity
from mfpde.contracts import Progress, State
from mfpde.normalization import Normalization
from mfpde.solvers.particles.shown import TokenIntegration, lengths
from mfpde.solvers.particles.tokens import Tokens
from mfpde.transform.work import pairs_worth
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["LayeredIntegration"]

#: of a layer: a time so near to its end counts as that
_SAME_TIME = 1e-9
#: of a coordinate; tokens beyond it are lost
_MAX_COORDINATE = 1e150

#: what a layer adds to tokens, of vectors that it sees
Residual = Callable[[float, Float], Float]


class LayeredIntegration(TokenIntegration):
    """The state after the last whole layer, at any time until the next one."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        super().__init__(settings, task, tokens)
        self._length = task.until / float(settings.layers or 1)
        self._done = 0
        self._time = 0.0
        self._rule = self._scheme
        if self._directions is not None:
            self._rule = self._scheme or Normalization(kind="post")
            directions, norms = self.first_directions()
            self._x = self.lengthened(directions, norms)
        else:
            self._x = tokens.points.copy()

    @property
    def time(self) -> float:
        return self._time

    def _residuals(self) -> Sequence[Residual]:
        """What the parts of one layer add, in their order."""
        attention, pointwise = Velocity(self._velocity.law), Velocity(None, self._velocity.pointwise)
        if self._settings.sublayers and self._velocity.law is not None and self._velocity.pointwise is not None:
            return [partial(self.outputs, part) for part in (attention, pointwise)]
        return [partial(self.outputs, self._velocity)]

    def _layer(self, residual: Residual, time: float, x: Float) -> Float:
        scheme, tau = self._rule, self._length
        if scheme is None:
            return x + tau * residual(time, x)
        gain = 1.0 if self._gain is None else self._gain.factors
        if scheme.kind == "post":
            seen = x / lengths(x / gain)
            moved = seen + tau * residual(time, seen)
            normalised = gain * moved / lengths(moved)
            return lengths(x / gain) * normalised if self._geometry.flat else normalised
        before = scheme.kind in ("pre", "peri", "sqrt") or (scheme.kind == "mix" and time >= (scheme.switch or 0.0))
        size = lengths(x)
        output = residual(time, gain * x / size)
        if scheme.kind in ("peri", "ngpt"):
            output = (scheme.rate or 1.0) * output / lengths(output)
        if scheme.kind == "sqrt":
            output = output / np.sqrt(time + 1)
        if before:
            return x + tau * output
        moved = x / size + tau * output
        return (size if self._geometry.flat else 1.0) * moved / lengths(moved)

    def advance(self, target: float, budget: int) -> Progress:
        left = max(1, int(budget / self._cost()))
        while (self._done + 1 - _SAME_TIME) * self._length <= target:
            if left == 0:
                return Progress(State.UNDER_WAY)
            left -= 1
            time, x = self._done * self._length, self._x
            for residual in self._residuals():
                x = np.stack([self._layer(residual, time, each) for each in x])
            if not self._ranks.most(float(np.abs(x).max())) < _MAX_COORDINATE:
                return Progress(State.NOT_FINITE, "tokens diverge", "take more layers, or fewer of them")
            self._x = x
            self._done += 1
            self._time = self._done * self._length
        self._time = target
        return Progress(State.REACHED)

    def _cost(self) -> float:
        """Microseconds of one layer, from the number of operations."""
        copies, _, width = self._x.shape
        return copies * (300 + 1.5e-3 * pairs_worth(self._tokens.total, width))

    def points(self) -> Float:
        if self._directions is None:
            return self._x
        last = self._gain is not None and self._rule is not None and self._rule.kind == "post"
        directions = self._x / self._gain.factors if self._gain is not None and last else self._x
        native = self._directions.points((directions / lengths(directions)).reshape(-1, directions.shape[2]))
        return native.reshape(self._tokens.copies, self._tokens.count, -1)

    def shown(self) -> Float:
        return self.points() if self._scheme is None else self._x

    def own_state(self) -> dict[str, AnyArray]:
        return {"x": self._x.copy(), "done": np.array(self._done), "time": np.array(self._time), **self.tokens_state()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._x, self._done, self._time = state["x"].copy(), int(state["done"]), float(state["time"])

    def statistics(self) -> dict[str, float]:
        return {"particles": float(self._tokens.copies * self._tokens.total), "layers": float(self._done)}
