"""A stationary state of a bifurcation diagram as initial measure."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from mfpde.errors import MfpdeError, ProblemError
from mfpde.geometry import Geometry
from mfpde.measure.base import Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.initial.base import Initial
from mfpde.measure.sphere_density import SphereDensity
from mfpde.registry import lookup, register
from mfpde.specification import Real, Whole
from mfpde.typing import Complex, Float

__all__ = ["BranchState"]


@register("initial", "branch")
class BranchState(Initial):
    """A state on a branch of a diagram's `file`: at a value of the parameter, with its `side` where several states are
    there, or a `point` by its index. `perturb: e` multiplies its density by `1 + e (cos theta + sin theta)` on the
    circle, `1 + e (x + z + x y)` on S^2: along the axis and across it, and of degree 2 about it.

    >>> import mfpde, tempfile
    >>> equation = {"geometry": {"kind": "circle"}, "attention": {"kind": "unnormalized", "beta": 0}}
    >>> branches = {"parameter": "kappa", "range": [1, 5], "branches": [1]}
    >>> diagram = mfpde.bifurcate(mfpde.Problem.from_dict({**equation, "bifurcation": branches}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = diagram.save(f"{folder}/branches.h5")
    ...     print(BranchState(file=str(file), branch=1, at=4).mean.round(6))          # r = I_1(4 r) / I_0(4 r)
    [0.831462 0.      ]
    """

    kind: Literal["branch"] = "branch"
    file: str = Field(description="the diagram to take it from")
    branch: Whole = Field(ge=0, description="number of the branch; 0 is the uniform state")
    at: Real | None = Field(default=None, description="value of the diagram's parameter")
    side: Literal["upper", "lower", "oblate"] | None = Field(
        default=None, description="which, where several states are"
    )
    point: Whole | None = Field(default=None, description="index of a point, in place of `at`")
    perturb: Real = Field(default=0.0, gt=-0.5, lt=0.5, description="size of a perturbation that breaks its symmetry")

    @model_validator(mode="after")
    def _one_place(self) -> BranchState:
        if (self.at is None) == (self.point is None):
            raise ProblemError.at("", "needs either `at`, a value of the parameter, or `point`, the index of a state")
        if self.side is not None and self.at is None:
            raise ProblemError.at("side", "goes with `at`, not with `point`")
        return self

    def natural_geometry(self) -> Geometry:
        geometry: Geometry = self._diagram().problem.geometry
        return geometry

    def on(self, geometry: Geometry) -> Measure:
        diagram = self._diagram()
        if diagram.problem.geometry != geometry:
            there, here = diagram.problem.geometry.name, geometry.name
            raise ProblemError.at("initial.file", f"{self.file} is a diagram on {there}, this problem is on {here}")
        try:
            branch = diagram.branch(self.branch)
            state = self._state(branch)
        except MfpdeError as error:
            raise ProblemError.at("initial", str(error)) from None
        measure = state.measure
        if self.perturb == 0:
            found: Measure = measure
            return found
        if geometry.angular:
            return _perturbed(measure, self.perturb)
        if geometry.ambient_dimension > 3:
            raise ProblemError.at("initial.perturb", "states are perturbed on the circle and on the sphere S^2")
        return SphereDensity(_Tilted(measure, self.perturb))

    def _state(self, branch: Any) -> Any:
        if self.at is not None:
            return branch.at(self.at, self.side)
        if not -len(branch) <= self.point < len(branch):  # type: ignore[operator]
            raise ProblemError.at("initial.point", f"branch {self.branch} has {len(branch)} points, not {self.point}")
        return branch.state(self.point)

    def _diagram(self) -> Any:
        try:
            return lookup("archive", "diagram")(self.file)
        except MfpdeError as error:
            raise ProblemError.at("initial.file", str(error)) from None


class _Tilted:
    """The density of a state on S^2 times `1 + size (x + z + x y)`."""

    kinks: tuple[()] = ()

    def __init__(self, measure: Measure, size: float) -> None:
        self._measure, self._size = measure, size

    def __call__(self, points: Float) -> Float:
        x, y, z = points.T
        found: Float = self._measure.evaluate(points) * (1 + self._size * (x + z + x * y))
        return found

    def without_mass(self) -> ProblemError:
        """What is wrong where its integral is not positive."""
        return ProblemError.at("initial", "the state has no mass")


def _perturbed(measure: CircleDensity, size: float) -> CircleDensity:
    """Times `1 + size (cos theta + sin theta)`, of mass 1."""
    known = measure.coefficients(4096)
    width = int(np.flatnonzero(known)[-1]) + 2
    wide = np.concatenate([np.conj(known[1 : width + 1][::-1]), known[: width + 2]])
    # c_k of cos + sin is (c_{k-1} + c_{k+1}) / 2 + (c_{k-1} - c_{k+1}) / 2i, as c_k = <e^{-ik theta}>
    middle = slice(width, 2 * width + 1)
    below, above = wide[middle.start - 1 : middle.stop - 1], wide[middle.start + 1 : middle.stop + 1]
    changed = wide[middle] + 0.5 * size * (below + above + (below - above) / 1j)
    mass = float(changed[0].real)
    changed = changed / mass

    return CircleDensity(partial(_padded, changed), changed.size, partial(_tilted, measure, size, mass))


def _padded(known: Complex, count: int) -> Complex:
    out = np.zeros(count, dtype=complex)
    out[: min(count, known.size)] = known[:count]
    return out


def _tilted(measure: CircleDensity, size: float, mass: float, theta: Float) -> Float:
    return measure.evaluate(theta) * (1 + size * (np.cos(theta) + np.sin(theta))) / mass
