"""Densities on grids: a stack of panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Lattice, Line, Plane, Queries
from mfpde.measure.base import NODES_ACCURACY, Beside, Measure
from mfpde.measure.basins import Cluster, clusters_on_grid
from mfpde.measure.damping import LogFactors, Pair, values_at
from mfpde.measure.panel import Panel
from mfpde.streams import random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["GridDensity"]

_LINE, _PLANE = Line(), Plane()
#: cells that count as the edge of a box
_EDGE = 2


class GridDensity(Measure):
    """`rho = sum_p rho_p`, each panel's density given on a lattice of the line or the plane; mass as given.

    A static grid is one panel with an unmoved lattice; moving frames and the positions of masked attention are several.
    Good values: ten cells for the narrowest feature; integrals against cell averages are then right to roundoff.
    Fails: edges inside cells are known to half a cell.

    >>> x = np.linspace(-8, 8, 65)
    >>> density = GridDensity.of([x], np.exp(-x**2 / 2) / np.sqrt(2 * np.pi), averages=False)
    >>> density.log_laplace([[2.0]]).round(12), density.covariance.round(12)
    (array([2.]), array([[1.]]))
    """

    compact = True

    def __init__(self, panels: Sequence[Panel]) -> None:
        instance("panels", panels, Sequence, "a list of panels; GridDensity.of(axes, values) makes one")
        self.panels = tuple(panels)
        for index, panel in enumerate(self.panels):
            instance(f"panels.{index}", panel, Panel, "a panel: mfpde.Panel(lattice, values)")
        dimensions = sorted({panel.lattice.dimension for panel in self.panels})
        if len(dimensions) != 1:
            raise ProblemError.at("panels", f"must be at least one, all of one dimension, not {dimensions}")
        if not sum(panel.mass for panel in self.panels) > 0:
            raise ProblemError.at("panels", "must have positive mass")
        placed = [panel.position is not None for panel in self.panels]
        if any(placed) and not all(placed):
            raise ProblemError.at("panels", f"have positions, all or none: panel {placed.index(False)} has none")
        self._geometry = _LINE if dimensions == [1] else _PLANE

    @classmethod
    def of(cls, axes: Sequence[AnyArray], values: AnyArray, averages: bool = True) -> GridDensity:
        """One panel that does not move, from its axes and densities."""
        return cls([Panel(Lattice.of(axes), numbers("values", values), averages)])

    @cached_property
    def mass(self) -> float:
        """Of all panels."""
        return float(sum(panel.mass for panel in self.panels))

    @property
    def mean(self) -> Float:
        return np.einsum("p,pi->i", self._shares, np.array([panel.moments[0] for panel in self._there]))

    @property
    def covariance(self) -> Float:
        means, spreads = (np.array([panel.moments[k] for panel in self._there]) for k in range(2))
        apart = means - self._shares @ means
        return np.einsum("p,pij->ij", self._shares, spreads + apart[:, :, None] * apart[:, None, :])

    @cached_property
    def _there(self) -> list[Panel]:
        return [panel for panel in self.panels if panel.mass > 0]

    @cached_property
    def _shares(self) -> Float:
        return np.array([panel.mass for panel in self._there]) / self.mass

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """The lattices' points; cell averages become point values first."""
        points = np.concatenate([panel.lattice.points() for panel in self.panels])
        return points, _whole(panel.node_masses for panel in self.panels)

    @property
    def positions(self) -> Float | None:
        if self.panels[0].position is None:
            return None
        return np.concatenate([np.full(panel.values.size, panel.position) for panel in self.panels])

    @property
    def slices(self) -> list[tuple[float | None, float, Measure]]:
        laws = [(place, self._restricted(self._at(place))) for place in self.views]
        return [(place, law.mass / self.mass, law) for place, law in laws] or super().slices

    def _at(self, position: float) -> list[int]:
        """Numbers of the panels at a position that hold some mass."""
        return [k for k, panel in enumerate(self.panels) if panel.position == position and panel.mass > 0]

    @property
    def views(self) -> tuple[float, ...]:
        return tuple(sorted({panel.position for panel in self.panels if panel.position is not None}))

    def up_to(self, position: float) -> tuple[GridDensity, float]:
        """The panels at positions up to that one, the same object every time. They keep their mass."""
        places = [np.inf if panel.position is None else panel.position for panel in self.panels]
        seen = [index for index, place in enumerate(places) if place <= position]
        if len(seen) not in self._earlier:
            self._earlier[len(seen)] = self._restricted(seen)
        return self._earlier[len(seen)], 1.0

    def _restricted(self, panels: Sequence[int]) -> GridDensity:
        """Those panels alone, by their numbers, with all that is known of them; on a common lattice they are one."""
        return GridDensity(_merged([self.panels[index] for index in panels]))

    @cached_property
    def _earlier(self) -> dict[int, GridDensity]:
        return {}

    def positions_at(self, queries: Queries) -> Float | None:
        own = [panel.position for panel in self.panels if panel.lattice is queries and panel.position is not None]
        return np.asarray(own[0]) if own else super().positions_at(queries)

    @property
    def breakpoints(self) -> Float | None:
        if not all(panel.edges for panel in self.panels):
            return None
        return np.unique([panel.ends for panel in self.panels])

    def node_queries(self) -> list[Queries]:
        return [panel.lattice for panel in self.panels]

    def sizes(self) -> Float:
        return np.max([panel.lattice.sizes() for panel in self.panels], axis=0)

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        from mfpde.transform import joined

        w = queries if matrix is None else queries.mapped(matrix)
        if w.dimension != self.ambient_dimension:
            raise ProblemError.at(
                "w", f"is a lattice in R^{w.dimension}, the measure lives in R^{self.ambient_dimension}"
            )
        if log_factors is None:
            answers = [panel.tilt(w) for panel in self._there]
        else:
            ends = np.cumsum([panel.values.size for panel in self.panels])[:-1]
            factors = np.split(np.asarray(values_at(log_factors, self.nodes()[0])), ends)
            answers = [panel.tilt(w, g) for panel, g in zip(self.panels, factors, strict=True)]
        mean, value = joined([(mean, value) for value, mean in answers], axis=0)
        return value, mean

    @property
    def lattices(self) -> list[Lattice]:
        return [panel.lattice for panel in self.panels]

    @property
    def lattice_masses(self) -> list[Float]:
        return [panel.node_masses for panel in self.panels]

    def density_on(self, panel: Panel) -> Float:
        """The density of all panels at the points of one, in its shape."""
        others = [other for other in self._there if other is not panel]
        density = panel.at_points
        if others:
            density = density + GridDensity(others).evaluate(panel.lattice.points()).reshape(density.shape)
        return density

    def density_nodes(self) -> tuple[Float, Float]:
        return self.nodes()[1], _whole(self.density_on(panel) for panel in self.panels)

    def minimum(self) -> float:
        return float(min(panel.values.min() for panel in self.panels))

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        basins = clusters_on_grid(self, dip)
        return [Cluster(each.mean, each.mass, each.width) for each in basins if each.mass > least * self.mass]

    def places(self) -> tuple[Float, Float, Float]:
        cells = [(np.linalg.norm(panel.lattice.matrix, axis=0) * panel.widths).sum() for panel in self.panels]
        halves = np.repeat(0.5 * np.array(cells), [panel.values.size for panel in self.panels])
        points = np.concatenate([panel.lattice.points() for panel in self.panels])
        return points, _whole(panel.masses for panel in self.panels), halves

    def share_at_edge(self, tilts: Float) -> float:
        points, masses, _ = self.places()
        outer = []
        for panel in self.panels:
            edge = np.ones(panel.lattice.shape, dtype=bool)
            edge[tuple(slice(_EDGE, -_EDGE) for _ in edge.shape)] = False
            outer.append(edge.ravel())
        there = masses > 0
        y, mass, at_edge = points[there], masses[there], np.concatenate(outer)[there]
        shares = []
        for w in tilts:
            exponent = y @ w
            raised = mass * np.exp(exponent - exponent.max())
            shares.append(float(raised[at_edge].sum() / raised.sum()))
        return max(shares)

    def beside(self, reference: Measure) -> list[Beside]:
        """Cell averages against cell averages; where panels overlap, each counts for its share."""
        if len(self.panels) == 1:
            (panel,) = self.panels
            lattice = panel.lattice
            sigma = reference.cell_averages(lattice) if panel.averages else reference.evaluate(lattice.points())
            return [Beside(np.ones(lattice.shape), panel.volume, panel.values, sigma.reshape(lattice.shape))]
        found = []
        for panel in self.panels:
            density = self.density_on(panel)
            share = np.divide(panel.at_points, density, out=np.zeros_like(density), where=density > 0)
            sigma = reference.evaluate(panel.lattice.points()).reshape(density.shape)
            found.append(Beside(share, panel.volume, density, sigma))
        return found

    def _cell_averages(self, lattice: Lattice) -> Float:
        """On its own cells they are what it is made of."""
        (panel, *others) = self.panels
        arrays = zip(
            (*panel.lattice.axes, panel.lattice.origin, panel.lattice.matrix),
            (*lattice.axes, lattice.origin, lattice.matrix),
            strict=True,
        )
        own = not others and panel.averages and all(np.array_equal(mine, its) for mine, its in arrays)
        return panel.values if own else super()._cell_averages(lattice)

    def evaluate(self, points: AnyArray) -> Float:
        """Interpolated to order fourteen between the lattices' points, never below 0; 0 outside of the cells."""
        x = self.space.points(points)
        return sum((panel.interpolant.at(x) for panel in self._there), np.zeros(x.shape[0]))

    def sample(self, count: int, seed: int = 0) -> Float:
        draws = random_stream(count, seed).random((count, 1 + self.ambient_dimension))
        masses = np.concatenate([panel.masses.ravel() for panel in self.panels])
        ends = np.cumsum(masses)
        chosen = np.minimum(np.searchsorted(ends, draws[:, 0] * ends[-1], side="right"), np.flatnonzero(masses)[-1])
        sizes = np.cumsum([0, *(panel.values.size for panel in self.panels)])
        out = np.empty((count, self.ambient_dimension))
        for panel, start, end in zip(self.panels, sizes[:-1], sizes[1:], strict=True):
            here = (chosen >= start) & (chosen < end)
            lattice = Lattice.of(panel.lattice.axes)
            z = lattice.points()[chosen[here] - start] + (draws[here, 1:] - 0.5) * panel.widths
            out[here] = z @ panel.lattice.matrix.T + panel.lattice.origin
        return out


def _whole(arrays: Iterable[Float]) -> Float:
    return np.concatenate([array.ravel() for array in arrays])


def _merged(panels: Sequence[Panel]) -> list[Panel]:
    """The same density with one panel on each lattice, at the last of the positions: a sum then costs as much as over
    one of them."""
    groups: dict[tuple[bytes, ...], list[Panel]] = {}
    for panel in panels:
        arrays = (
            *panel.lattice.axes,
            panel.lattice.origin,
            panel.lattice.matrix,
            np.array([panel.averages, panel.edges]),
        )
        groups.setdefault(tuple(array.tobytes() for array in arrays), []).append(panel)
    return [
        same[0] if len(same) == 1 else replace(same[-1], values=np.sum([panel.values for panel in same], axis=0))
        for same in groups.values()
    ]
