"""Where the moving frames of a density are."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Frame"]


@register("observable", "frame")
class Frame(Observable):
    """Frames `x = m + F z` of a density that moves with its tokens: `frame-mean` m and `frame-matrix` F by panels.

    Every snapshot has them anyway (`frame_mean`, `frame_matrix`); observed, they come at `observe_every`. Fails: a grid
    that stays where it is, and anything that is no density.

    >>> import mfpde, numpy as np
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line())
    >>> lattice = mfpde.Lattice.of([[-1.0, 0.0, 1.0]], origin=[2.0], matrix=[[0.5]])
    >>> density = mfpde.GridDensity([mfpde.Panel(lattice, np.ones(3))])
    >>> Frame().evaluate(Instant(0.0, density, equation, lambda: 0.0))
    {'frame-mean': array([[2.]]), 'frame-matrix': array([[[0.5]]])}
    """

    kind: Literal["frame"] = "frame"
    spaces: ClassVar[tuple[str, ...]] = ("line", "plane")
    looks_at: ClassVar[tuple[str, ...]] = ("density",)
    needs: ClassVar[str | None] = "frame_mean"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        components = ("component", geometry.ambient_dimension)
        columns = ("column", geometry.ambient_dimension)
        return {
            "frame-mean": Series("origins of the frames", extent=(("panel", None), components)),
            "frame-matrix": Series("axes of the frames, in columns", extent=(("panel", None), components, columns)),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        lattices = instant.measure.lattices
        if not lattices:
            raise ProblemError.at("observe", "frame is an observable of densities on grids")
        return {
            "frame-mean": np.array([lattice.origin for lattice in lattices]),
            "frame-matrix": np.array([lattice.matrix for lattice in lattices]),
        }
