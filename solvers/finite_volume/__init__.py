"""Finite volumes on the line and the plane."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError, shown
from mfpde.registry import lookup, register
from mfpde.specification import Intervals, NameOf, Real, Truth, Whole

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.steppers.explicit import ExplicitStepper
    from mfpde.typing import AnyArray

__all__ = ["FiniteVolume"]

Box = Annotated[
    Intervals | None,
    BeforeValidator(lambda given: None if isinstance(given, str) and given == "auto" else given),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "array"}]}),
]
# by tokens of tails, by dimension: so many steps take longer than characteristics
_MANY_CELLS_CROSSED = {1: 1e4, 2: 1e3}
_CELLS_MAX = 2**24  # 128 MB for each array over them
_STEPPER_OF_ORDER = {1: "ssprk3", 2: "ssprk3", 5: "ssprk54", 7: "dop853", 9: "dop853"}
_CITATIONS_OF_ORDER = {1: ("courant1952",), 2: ("vanleer1979",), 5: ("borges2008",)}


@register("solver", "finite-volume")
class FiniteVolume(Solver):
    """Point values on cells moved by fluxes through their faces: positive, and conservative to rounding.

    `order`: 1 (upwind), 2 (limited slopes), 5 (WENO-Z) for rough data, 7 and 9 (linear) for smooth ones. `frame`:
    `moving` gives every component of a mixture an affine frame that follows its mean and covariance, in which Gaussians
    stand still, clusters of any width stay resolved and blow-up can be followed; `static` leaves the cells where they
    are, in a `box` that is found by a coarse run first, or given (then with walls that let nothing through).
    `rescaled` uses the tokens `z = e^{-tV} x` as coordinates. Without `cells`, short pilots find how many `tolerance`
    needs; where that is too many (edges, kinks), or fewer are given, the run says in the end what its cells have left
    out. Good values: 128 cells on the line, 64 a side on the plane; a static grid wants four times as many. Fails: a
    cluster narrower than three cells ends a run as "resolution lost".
    """

    kind: Literal["finite-volume"] = "finite-volume"
    citations: ClassVar[tuple[str, ...]] = ("xu2014", "zalesak1979", "gustafsson1994")
    facts: ClassVar[frozenset[str]] = frozenset({"leak"})
    preference: ClassVar[int] = 5

    cells: Whole | tuple[Whole, ...] | None = Field(default=None, description="how many, or one number for each axis")
    box: Box = Field(default=None, description="`[[from, to], ...]` with walls; auto (default): found from the data")
    order: Literal[1, 2, 5, 7, 9] = Field(default=9, description="of the fluxes")
    frame: Literal["moving", "static"] | None = Field(
        default=None, description="moving (default) or static (default with a box)"
    )
    rescaled: Truth = Field(default=False, description="cells in the coordinates z = e^{-tV} x")
    stepper: Annotated[str, NameOf("stepper", "flux_unfit")] | None = Field(
        default=None, description="default dop853; ssprk54 for order 5, ssprk3 below"
    )
    cfl: Real | None = Field(
        default=None, gt=0, le=4, description="of a cell that may leave it in a step; default by stepper"
    )
    tolerance: Real | None = Field(
        default=None,
        ge=1e-14,
        le=1e-2,
        description="a tenth of the error of the density, relative to its peak; default 1e-8 on the line, 1e-6 on the "
        "plane, of time steps 1e-10",
    )

    @model_validator(mode="after")
    def _consistent(self) -> FiniteVolume:
        if self.box is not None:
            for side in self.box:
                if len(side) != 2 or not -math.inf < side[0] < side[1] < math.inf:
                    raise ProblemError.at(
                        "box", f"needs finite pairs [from, to] with from < to, not {shown(list(side))}"
                    )
            if self.frame == "moving":
                raise ProblemError.at("box", "stands still; it does not go with frame: moving")
        if self.rescaled and (self.frame == "moving" or self.box is not None):
            raise ProblemError.at(
                "rescaled", "is a frame of its own; it goes neither with frame: moving nor with a box"
            )
        _check_count("cells", self.cells if isinstance(self.cells, tuple) else (self.cells or 1,))
        for count in self.cells if isinstance(self.cells, tuple) else (self.cells,):
            if count is not None and count < self.least_cells:
                raise ProblemError.at(
                    "cells", f"order {self.order} needs at least {self.least_cells} along each axis, not {count}"
                )
        return self

    @property
    def least_cells(self) -> int:
        """So many that the stencil of the order fits in."""
        return max(8, 2 * self.order)

    @property
    def chosen_stepper(self) -> type[ExplicitStepper]:
        """The one given, or the one that goes with the order."""
        found: type[ExplicitStepper] = lookup("stepper", self.stepper or _STEPPER_OF_ORDER[self.order])
        return found

    def sources(self, equation: Equation, statistics: Mapping[str, Any]) -> tuple[str, ...]:
        noisy = equation.noise != type(equation.noise)()
        stiff = statistics["stiff"] > 0 if "stiff" in statistics else noisy
        steppers = self.chosen_stepper.citations + (lookup("stepper", "rkc2").citations if stiff else ())
        if statistics.get("exact", 0.0) > 0:
            steppers += lookup("stepper", "gif853").citations
        return (*self.citations, *_CITATIONS_OF_ORDER.get(self.order, ()), *steppers)

    def unfit(self, equation: Equation) -> str | None:
        kind = equation.geometry.name
        if not equation.geometry.counts_as("line", "plane"):
            return f"it works on the line and on the plane, not on the {kind}"
        law = equation.interaction
        reason = None if law is None else law.token_unfit(equation.geometry, noisy=True)
        if reason is not None:
            return reason
        self._check_axes(equation.geometry.ambient_dimension, kind)
        return None if equation.initial is None else equation.initial.density_unfit

    def _check_axes(self, dimension: int, kind: str) -> None:
        if isinstance(self.cells, int):
            _check_count("solver.cells", (self.cells,) * dimension)
        for key, given in (("cells", self.cells), ("box", self.box)):
            if isinstance(given, tuple) and len(given) != dimension:
                wanted = f"one entry for {'the axis' if dimension == 1 else 'each of the two axes'} of the {kind}"
                raise ProblemError.at(f"solver.{key}", f"must have {wanted}, not {len(given)}")

    def check_scales(self, task: InitialValueProblem) -> None:
        from mfpde.solvers.scales import check_scales

        check_scales(task)

    def falls_short(self, task: InitialValueProblem) -> str | None:
        if task.equation.noise.strongest > 0:
            return None
        if self._loses_tails(task):
            return "tokens at the ends of the cells, which have to cover the tails, are too fast for finite-volume"
        if not self._loses_edges(task):
            return None
        ends = "edges of the initial density cross" if task.initial.jumps else "the initial density ends within"
        return f"{ends} the cells of finite-volume, where it is wrong by a part of the peak"

    def _loses_tails(self, task: InitialValueProblem) -> bool:
        """Whether speeds grow with tails so much that cells are refused."""
        from mfpde.solvers.finite_volume.cell_count import TooFewCellsError
        from mfpde.solvers.finite_volume.setup import Setup

        setup = Setup.of(self, task)
        if not setup.unbounded:
            return False
        try:
            fewest = Setup.of(self.model_copy(update={"cells": setup.cells_over_tails}), task).start()
        except ProblemError as error:
            return not isinstance(error, TooFewCellsError)
        return fewest.race(_MANY_CELLS_CROSSED[setup.dimension]) is not None

    def _loses_edges(self, task: InitialValueProblem) -> bool:
        """Whether the density ends, or has a kink, where no end of the cells follows it, and characteristics can:
        they need many nodes and steps where tokens cross kinks of the velocity."""
        velocity = task.equation.velocity
        if velocity.law is not None and velocity.law.kinked_by_edges:
            return False
        if task.equation.geometry.counts_as("plane"):
            return task.initial.jumps or task.initial.compact
        from mfpde.solvers.finite_volume.pieces import ends_inside, kinks_inside, resolved
        from mfpde.solvers.finite_volume.setup import Setup

        if not ends_inside(task.initial) or kinks_inside(velocity):
            return False
        pieces = Setup.of(self, task).pieces
        return not pieces or not resolved(pieces)

    def remarks(self, task: InitialValueProblem) -> tuple[str, ...]:
        if self.box is None:
            return ()
        from mfpde.solvers.finite_volume.setup import Setup

        return Setup.of(self, task).remarks()

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.finite_volume.setup import Setup

        return Setup.of(self, task).start()

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.finite_volume.setup import Setup

        return Setup.of(self, task).resume(state)


def _check_count(path: str, cells: tuple[int, ...]) -> None:
    if math.prod(cells) > _CELLS_MAX:
        raise ProblemError.at(path, f"may be {_CELLS_MAX:,} in all, not {math.prod(cells):,}")
