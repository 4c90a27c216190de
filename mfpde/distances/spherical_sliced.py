"""The spherical sliced Wasserstein distance."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.distances.base import Distance
from mfpde.distances.coupling import TURN, circle_distance
from mfpde.distances.discretisation import as_points
from mfpde.distances.law import Law
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.specification import Whole
from mfpde.streams import random_stream
from mfpde.typing import Float

__all__ = ["SphericalSliced"]

_GOLDEN_ANGLE = np.pi * (3 - math.sqrt(5))


@register("distance", "spherical-sliced")
class SphericalSliced(Distance):
    """`(mean over great circles of W_2^2)^{1/2}` of what is projected onto the nearest points of great circles, lengths
    of arcs [bonet2023].

    On S^2 the normals of the circles are spread evenly over half the sphere, on other spheres the circles are drawn.
    Densities are taken at 8192 Gauss nodes on S^2, elsewhere at their quadrature nodes: what is finer is not seen.
    """

    kind: Literal["spherical-sliced"] = "spherical-sliced"
    spaces: ClassVar[tuple[str, ...]] = ("sphere",)
    projections: Whole = Field(default=64, ge=1, le=1_000_000, description="number of great circles")
    seed: Whole = Field(default=0, ge=0, description="of the circles beyond S^2")

    def between(self, measure: Measure, reference: Measure) -> float:
        from mfpde.transform.threads import run_pieces

        frames = self._frames(measure.ambient_dimension)
        (points, weights), (others, other_weights) = as_points((measure, reference))
        apart = np.empty(len(frames))

        def work(k: int) -> None:
            laws = _around(points, frames[k], weights), _around(others, frames[k], other_weights)
            apart[k] = circle_distance(*laws, 2.0)

        run_pieces(work, len(frames))
        return math.sqrt(float(np.mean(apart**2)))

    def _frames(self, dimension: int) -> Float:
        """Two orthonormal vectors in the plane of each great circle, `(projections, dimension, 2)`."""
        if dimension == 3:
            height = (np.arange(self.projections) + 0.5) / self.projections
            turn = _GOLDEN_ANGLE * np.arange(self.projections)
            side = np.sqrt(1 - height**2)
            east = np.column_stack([-np.sin(turn), np.cos(turn), np.zeros_like(turn)])
            north = np.column_stack([-height * np.cos(turn), -height * np.sin(turn), side])
            return np.stack([east, north], axis=2)
        drawn = random_stream(self.projections, self.seed).standard_normal((self.projections, dimension, 2))
        frames: Float = np.linalg.qr(drawn)[0]
        return frames


def _around(points: Float, frame: Float, weights: Float) -> Law:
    flat = points @ frame
    angles = np.mod(np.arctan2(flat[:, 1], flat[:, 0]), TURN)
    return Law(np.where(angles < TURN, angles, 0.0), weights)
