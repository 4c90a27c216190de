"""Pseudo-arclength continuation of stationary states, with step control, through folds."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from mfpde.bifurcation.states import Solved, System, newton
from mfpde.typing import Float, Truths

__all__ = ["Path", "Point", "Tracer", "upright"]

FIRST_STEP, LARGEST_STEP, SMALLEST_STEP = 0.01, 0.04, 1e-7  # arclength in units of the range and of moments
_TURN = np.cos(0.25)  # largest turn of the tangent in one step, a quarter radian
_LOCATED = 1e-13  # arclength to which special points are located
_MOST_FOLDS = 8  # of the symmetries that a path may meet
_MOST_POINTS = 3000  # of a path: a hundred times what paths need
_VERTICAL_SLOPE = 1e-9  # du/ds that is roundoff of a vertical branch


@dataclass(frozen=True, eq=False)
class Point:
    """Unknowns x = (b, u), the unit tangent, the arclength, and how the tangent turns with it."""

    x: Float
    tangent: Float
    arclength: float
    bend: Float | float = 0.0

    @property
    def u(self) -> float:
        """The parameter in units of its range."""
        return float(self.x[-1])

    @property
    def turning(self) -> float:
        """du/ds, zero at folds."""
        return float(self.tangent[-1])


@dataclass
class Path:
    """Consecutive points, and why there are no more: `range`, `symmetric`, `closed`, `stalled`, `long`."""

    points: list[Point] = field(default_factory=list)
    end: str = ""

    @property
    def vertical(self) -> bool:
        """Whether it leaves along states that all have one parameter."""
        near = [point for point in self.points if abs(point.arclength) < 10 * LARGEST_STEP]
        return len(near) > 3 and all(upright(old, new) for old, new in pairwise(near))


def upright(old: Point, new: Point) -> bool:
    """Whether two points have one parameter, as on a vertical branch."""
    return abs(new.u - old.u) < _VERTICAL_SLOPE * abs(new.arclength - old.arclength)


class Tracer:
    """Follows solutions of a system. Lengths are of (m, u): the moments that matter at the start, equally weighted."""

    def __init__(self, system: System, kappa: float) -> None:
        self.system = system
        relative = system.family.model(0.5).multipliers.relative[system.active]
        felt = np.minimum(1.0, np.maximum(np.abs(kappa * relative), 1e-6))
        self.metric = np.append(felt / system.counts[system.active], 1.0)

    def anew(self) -> Tracer:
        """With a system of its own: its rule grows along a branch, and another branch must not depend on that."""
        made = copy(self)
        made.system = copy(self.system)
        return made

    def length(self, vector: Float) -> float:
        """In that metric."""
        return float(np.sqrt(self.metric @ vector**2))

    def tangent(self, x: Float, along: Float) -> Float | None:
        """The unit tangent at x that points along a given one."""
        matrix = np.vstack([self.system.evaluate(x)[1], self.metric * along])
        right = np.zeros(along.size)
        right[-1] = 1.0
        try:
            found: Float = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        return self._unit(found)

    def _unit(self, vector: Float) -> Float | None:
        size = self.length(vector)
        return vector / size if np.isfinite(size) and size > 0 else None

    def onto(self, x: Float, normal: Float, target: float) -> Solved | None:
        """The solution near x with `<normal, x> = target` in the metric."""
        weighted = self.metric * normal
        return newton(self.system, x, lambda y: (float(weighted @ y) - target, weighted))

    def at_parameter(self, x: Float, u: float) -> Float | None:
        """The solution near x at that parameter."""
        unit = np.zeros(x.size)
        unit[-1] = 1.0
        found = newton(self.system, np.append(x[:-1], u), lambda y: (float(y[-1]) - u, unit))
        return None if found is None else found.x

    def ahead(self, point: Point, step: float, exact: bool = False) -> tuple[Point, int] | None:
        """The point at that distance along the tangent, and Newton's number of steps; its own tangent is that of
        Newton's last step, or `exact`."""
        along = point.tangent
        target = float(self.metric @ (point.x * along)) + step
        found = self.onto(point.x + step * along + 0.5 * step**2 * point.bend, along, target)
        # the derivative of Newton's last step is that of a point less than a square root of roundoff away
        if found is None:
            return None
        tangent = self.tangent(found.x, along) if exact else self._unit(found.direction)
        if tangent is None:
            return None
        bend = (tangent - along) / step if step else point.bend
        return Point(found.x, tangent, point.arclength + step, bend), found.steps

    def begin(self, x: Float, along: Float, arclength: float) -> Point | None:
        """The point at x that looks along a direction."""
        tangent = self.tangent(x, along)
        return None if tangent is None else Point(x, tangent, arclength)

    def trace(self, start: Point, seen: Callable[[Point], None] | None = None) -> Path:
        """All points from there to where the range ends, or a state of higher symmetry is met."""
        path, step = Path([start]), FIRST_STEP
        while not path.end:
            point = path.points[-1]
            found = self.ahead(point, step)
            if found is not None and self._refine(found[0]):
                continue
            turned = 1.0 if found is None else float(self.metric @ (found[0].tangent * point.tangent))
            if found is None or turned < _TURN or self._astray(point, found[0], step):
                step *= 0.5
                if step < SMALLEST_STEP:
                    path.end = "stalled"
                continue
            new, iterations = found
            self._accept(path, new, step)
            if seen is not None:
                seen(path.points[-1])
            if iterations <= 4 and turned > np.cos(0.1):
                step = min(1.4 * step, LARGEST_STEP)
            elif iterations > 6:
                step *= 0.7
        return path

    def _refine(self, point: Point) -> bool:
        return self.system.refined(point.x)

    def _astray(self, old: Point, new: Point, step: float) -> bool:
        """A solution far from the prediction is on another branch."""
        return self.length(new.x - old.x - step * old.tangent) > 0.3 * step + 1e-12

    def _accept(self, path: Path, new: Point, step: float) -> None:
        old = path.points[-1]
        if not 0.0 <= new.u <= 1.0:
            edge = 0.0 if new.u < 0 else 1.0
            path.end = "range"
            near = self.located(old, step, lambda point: point.u - edge)
            x = None if near is None else self.at_parameter(near.x, edge)
            if near is None or x is None:
                return
            new = replace(near, x=x)
        else:
            apart = self._more_symmetric(old, new)
            if apart is not None:
                path.end = "symmetric"
                path.points.append(self._met(old, new, apart))
                return
        first = path.points[0]
        path.points.append(new)
        if len(path.points) >= _MOST_POINTS:
            path.end = path.end or "long"
        if len(path.points) > 10 and self.length(new.x - first.x) < 0.7 * step and first.tangent @ new.tangent > 0:
            path.end = path.end or "closed"

    def _met(self, old: Point, new: Point, apart: Truths) -> Point:
        """The state of higher symmetry between two points; where Newton's method does not find it, beside the other
        branch through it, by interpolation."""
        direction = old.x[:-1] * apart
        step = new.arclength - old.arclength
        met = self.located(old, step, lambda point: float(direction @ point.x[:-1]))
        if met is None:
            before, after = direction @ old.x[:-1], direction @ new.x[:-1]
            share = float(before / (before - after))
            met = Point(old.x + share * (new.x - old.x), old.tangent, old.arclength + share * step)
        x = np.append(np.where(apart, 0.0, met.x[:-1]), met.u)
        kept = np.flatnonzero(~apart)
        if kept.size:
            symmetric = System(self.system.family, self.system.active[kept].tolist(), self.system.size)
            found = Tracer(symmetric, 1.0).at_parameter(np.append(x[kept], met.u), met.u)
            x[kept] = x[kept] if found is None else found[:-1]
        return replace(met, x=x)

    def _more_symmetric(self, old: Point, new: Point) -> Truths | None:
        """Where between two points a state has a symmetry that its neighbours have not: the degrees that vanish."""
        products = old.x[:-1] * new.x[:-1]
        if products.min() >= 0:
            return None
        return next((apart for apart in self._vanishing if products[apart].sum() < 0), None)

    @cached_property
    def _vanishing(self) -> list[Truths]:
        """Degrees that vanish for each higher symmetry: all of rotations, more folds, on spheres x -> -x."""
        active = self.system.active
        stride = int(np.gcd.reduce(active))
        folds = range(2, _MOST_FOLDS) if self.system.family.dimension == 2 else range(2, 4 - stride)
        masks = [active % (fold * stride) != 0 for fold in folds]
        return [np.ones(active.size, dtype=bool), *(mask for mask in masks if mask.any())]

    def between(self, old: Point, new: Point, test: Callable[[Point], float], exact: bool = False) -> Point | None:
        """The point between two where a test function vanishes; None where it does not change its sign."""
        return self.located(old, new.arclength - old.arclength, test, exact, new)

    def located(
        self,
        point: Point,
        step: float,
        test: Callable[[Point], float],
        exact: bool = False,
        end: Point | None = None,
    ) -> Point | None:
        """The point within one step, to an `end` that may be known, where a test function vanishes."""
        from scipy.optimize import brentq

        last: dict[float, Point] = {0.0: point}
        if end is not None:
            last[step] = end

        def value(length: float) -> float:
            if length not in last:
                found = self.ahead(point, length, exact)
                if found is None:
                    raise ArithmeticError
                last[length] = found[0]
            return test(last[length])

        try:
            if value(0.0) * value(step) > 0:
                return None
            root = brentq(value, 0.0, step, xtol=_LOCATED, rtol=_LOCATED)
            value(root)
        except (ArithmeticError, RuntimeError):
            return None
        return last[root]
