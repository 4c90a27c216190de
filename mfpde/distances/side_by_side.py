"""Two densities at the same points, with the volumes these stand for."""

from __future__ import annotations

import numpy as np

from mfpde.distances.discretisation import box_lattice
from mfpde.distances.transport import on_line
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.measure.base import Beside
from mfpde.measure.rules import of_sphere
from mfpde.typing import Float

__all__ = ["side_by_side"]

_ANGLES = 4096  # equispaced; where densities cross, the integral is off by their distance squared
_CELLS = {True: 8192, False: 128}  # a side, on the line and in the plane
_DEGREE = 400  # of a rule for the sphere S^2


def side_by_side(kind: str, measure: Measure, reference: Measure) -> list[Beside]:
    """On the cells of whichever is a density on a grid, else on even cells that hold both."""
    for each in (measure, reference):
        if each.point_masses() is not None:
            raise ProblemError.at(
                "measure",
                f"the {kind} distance compares densities, and point masses have none; take a Wasserstein distance",
            )
    if measure.lattices:
        return measure.beside(reference)
    if reference.lattices:
        return [Beside(share, volume, own, other) for share, volume, other, own in reference.beside(measure)]
    space = measure.space
    if space.angular:
        theta: Float = 2 * np.pi / _ANGLES * np.arange(_ANGLES, dtype=float)
        return [_at(measure, reference, theta, np.full(_ANGLES, 2 * np.pi / _ANGLES))]
    if space.flat and space.ambient_dimension <= 2:
        lattice = box_lattice((measure, reference), _CELLS[on_line(space)])
        volume = float(np.prod([axis[1] - axis[0] for axis in lattice.axes]))
        return [Beside(np.ones(lattice.shape), volume, *(each.cell_averages(lattice) for each in (measure, reference)))]
    if space.flat or space.ambient_dimension != 3:
        raise ProblemError.at("measure", f"the {kind} distance is for at most two dimensions")
    points, weights = of_sphere(3, _DEGREE)
    return [_at(measure, reference, points, 4 * np.pi * weights)]


def _at(measure: Measure, reference: Measure, points: Float, volumes: Float) -> Beside:
    return Beside(volumes, 1.0, measure.evaluate(points), reference.evaluate(points))
