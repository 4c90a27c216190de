"""The last (or any) snapshot of an earlier run as initial measure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mfpde.errors import MfpdeError, ProblemError
from mfpde.geometry import Geometry
from mfpde.measure.base import Measure
from mfpde.measure.initial.base import Initial
from mfpde.registry import lookup, register
from mfpde.specification import Whole

__all__ = ["Snapshot"]


@register("initial", "snapshot")
class Snapshot(Initial):
    """The measure at snapshot `index` (default -1, the last) of a run's `file`.

    >>> import mfpde, tempfile
    >>> diffusion = mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "noise": {"kappa": 2},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 2},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = mfpde.solve(diffusion, f"{folder}/run.h5")
    ...     print(Snapshot(file=f"{folder}/run.h5").mean[0].round(6))          # e^{-1} / 4
    0.09197
    """

    kind: Literal["snapshot"] = "snapshot"
    file: str = Field(description="the run to take it from")
    index: Whole = Field(default=-1, description="which snapshot; -1 is the last")

    def natural_geometry(self) -> Geometry:
        geometry = self._measure().geometry
        if geometry is None:
            raise ProblemError.at("initial.file", f"{self.file} does not say on which space it is")
        return geometry

    def on(self, geometry: Geometry) -> Measure:
        measure = self._measure()
        if measure.geometry != geometry:
            raise ProblemError.at(
                "initial.file",
                f"{self.file} is a run on {_named(measure.geometry)}, this problem is on {_named(geometry)}",
            )
        return measure

    def _measure(self) -> Measure:
        try:
            run = lookup("archive", "run")(self.file)
        except MfpdeError as error:
            raise ProblemError.at("initial.file", str(error)) from None
        if not -len(run.times) <= self.index < len(run.times):
            raise ProblemError.at(
                "initial.index", f"{self.index} is not a snapshot of {self.file}, which has {len(run.times)}"
            )
        measure: Measure = run.measure(self.index)
        return measure


def _named(geometry: Geometry | None) -> str:
    return "R^d" if geometry is None else " ".join(str(value) for value in geometry.model_dump().values())
