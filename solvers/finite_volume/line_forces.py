"""Forces of interactions on the line, prepared for compiled code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from mfpde.attention import Interaction
from mfpde.attention.lattice_sums import LATTICE_RULE, LATTICE_STENCIL, acting_between, widest_resolved
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.attention.pair_tables import tables_of
from mfpde.measure.expression_program import program_of
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.kernels.line_forces import LineForces, distance
from mfpde.transform.piecewise import Piecewise, tabulated
from mfpde.transform.programs import Program
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.geometry import Geometry

__all__ = ["ForcesOfLine"]

_NO_TABLE = cast("Piecewise", tabulated(np.zeros_like, 1.0, np.zeros(0)))


class ForcesOfLine:
    """Of an interaction, on cells that move or rest."""

    def __init__(self, law: Interaction, space: Geometry, rests: bool) -> None:
        self._space, self._rests = space, rests
        self._pair, self._external = law.pair_potential, law.external_on(space)
        self._paired = self._pair is not None and self._pair.stiffness is None
        self._grid: Grid | None = None
        self._kept: dict[float, LineForces | None] = {}

    def near(self, solution: Solution, grid: Grid) -> LineForces | None:
        """For solutions that are about as wide; None where W has no table."""
        distances = self._distances(solution, grid) if self._paired else 1.0
        if self._grid is not grid:
            self._grid, self._kept = grid, {}
        if distances not in self._kept:
            self._kept[distances] = self._prepared(grid, distances)
        return self._kept[distances]

    @staticmethod
    def _distances(solution: Solution, grid: Grid) -> float:
        """A power of two beyond them all."""
        axis = grid.axes[0]
        length = distance(solution.mean, solution.matrix, float(axis[0]), float(axis[-1]), float(grid.widths[0]))
        fraction, power = math.frexp(length)
        return math.ldexp(1.0, power - (fraction == 0.5)) if 0.0 < length < np.inf else np.inf

    def _prepared(self, grid: Grid, distances: float) -> LineForces | None:
        table, kinks, resolved, acting = _NO_TABLE, np.zeros(0), 0.0, np.zeros(0)
        if self._pair is not None and self._paired:
            tables = tables_of(self._pair, self._space, distances, "slopes") if distances < np.inf else None
            if tables is None:
                return None
            table, kinks = tables[0], np.ascontiguousarray(kinks_of(self._pair, distances), dtype=float)
            resolved = widest_resolved(self._pair, self._space, "slopes", distances)
            acting = self._between(self._pair, grid) if self._rests else acting
        stiffness = None if self._pair is None else self._pair.stiffness
        program, outer = self._outer(grid)
        return LineForces(
            stiffness=0.0 if stiffness is None else float(stiffness[0]),
            paired=self._paired,
            table=table,
            reach=distances,
            resolved=resolved,
            kinks=kinks,
            rule=LATTICE_RULE,
            stencil=LATTICE_STENCIL,
            acting=acting,
            external=program,
            outer=outer,
        )

    def _between(self, pair: PairPotential, grid: Grid) -> Float:
        """What acts between cells that rest."""
        own = grid.widths.tobytes(), grid.cells, ((0, grid.cells[0]),)
        found = acting_between(pair, self._space, "slopes", *own)
        return np.zeros(0) if found is None else found[0]

    def _outer(self, grid: Grid) -> tuple[Program, Float]:
        """U as a program, or as its slope in cells that rest."""
        if self._external is None or not self._rests:
            return program_of(None if self._external is None else self._external.expression, "x"), np.zeros(0)
        return program_of(None, "x"), np.ascontiguousarray(self._external.slopes(grid.axes[0][:, None])[:, 0])
