"""Forces of interactions on cells of the plane, from the numbers of a solution: no law is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Interaction
from mfpde.attention.lattice_sums import sums_over_lattice
from mfpde.attention.pair_potential import PairPotential
from mfpde.measure.expression_program import program_of
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution, lattices
from mfpde.solvers.kernels.plane_forces import add_outer_forces
from mfpde.transform.programs import POINTS_PER_BLOCK, program_room
from mfpde.transform.threads import run_pieces
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.geometry import Geometry

__all__ = ["ForcesOfPlane"]


class ForcesOfPlane:
    """Of an interaction, on cells that move or rest."""

    def __init__(self, law: Interaction, space: Geometry, rests: bool) -> None:
        pair, external = law.pair_potential, law.external_on(space)
        self._space, self._rests, self._stiffness = space, rests, None if pair is None else pair.stiffness
        self._pair = pair if self._stiffness is None else None
        self._outer = program_of(None if external is None else external.expression, "xy")
        self._kept: tuple[Grid, Float] | None = None

    def find(self, solution: Solution, grid: Grid, out: Float) -> bool:
        """out = the velocity of tokens in the cells of every panel, `(panels, 2, rows, columns)`; False where sums over
        lattices do not do."""
        if self._pair is None:
            out[...] = 0.0
        elif not self._find_pairs(self._pair, solution, grid, out):
            return False
        if self._stiffness is None and self._outer.codes.size == 0:
            return True
        if self._rests and self._stiffness is None:
            out += self._at_rest(solution, grid)
        else:
            self._add_outer(solution, grid, out)
        return True

    def _find_pairs(self, pair: PairPotential, solution: Solution, grid: Grid, out: Float) -> bool:
        frames, masses = lattices(solution, grid), solution.density * grid.volume
        for panel, lattice in enumerate(frames):
            for source, other in enumerate(frames):
                found = sums_over_lattice(pair, self._space, "slopes", other, masses[source], lattice)
                if found is None:
                    return False
                if source == 0:
                    out[panel] = found.reshape(out[panel].shape)
                else:
                    out[panel] += found.reshape(out[panel].shape)
        return True

    def _at_rest(self, solution: Solution, grid: Grid) -> Float:
        """The gradient of U in cells that rest, found once for each grid."""
        if self._kept is None or self._kept[0] is not grid:
            found = np.zeros((1, 2, *grid.shape))
            self._add_outer(solution, grid, found)
            self._kept = grid, found
        return self._kept[1]

    def _add_outer(self, solution: Solution, grid: Grid, out: Float) -> None:
        stiffness, centre = self._moments(solution, grid)
        blocks = grid.blocks

        def work(piece: int) -> None:
            panel, block = divmod(piece, len(blocks))
            rows = slice(*blocks[block])
            frame = np.ascontiguousarray(solution.mean[panel]), np.ascontiguousarray(solution.matrix[panel])
            room = np.empty((2, 2, POINTS_PER_BLOCK)), program_room(self._outer, 2)
            here, outer = out[panel, :, rows], self._outer
            add_outer_forces(grid.axes[0][rows], grid.axes[1], frame, centre, stiffness, outer, room, here)

        run_pieces(work, len(out) * len(blocks))

    def _moments(self, solution: Solution, grid: Grid) -> tuple[float, Float]:
        """Of a quadratic W: its stiffness times the mass, and the mean of all panels."""
        if self._stiffness is None:
            return 0.0, np.zeros(2)
        mass, moment = 0.0, np.zeros(2)
        for density, mean, matrix in zip(*solution, strict=True):
            along, across = density.sum(axis=0), density.sum(axis=1)
            here = float(across.sum())
            middle = np.array([across @ grid.axes[0], along @ grid.axes[1]])
            mass, moment = mass + here, moment + here * mean + matrix @ middle
        return self._stiffness[0] * mass * grid.volume, moment / mass
