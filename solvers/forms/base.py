"""What every form can do: make the measure that arrays stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.registry import lookup
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Form", "Written", "written_measure"]


@dataclass(frozen=True)
class Written:
    """One snapshot as it was written down: arrays by name, and what they belong to.

    `trail` holds the arrays that grow along the whole run, when the form has any; an index reads just that.
    """

    equation: Equation
    time: float
    layout: Layout
    fields: Mapping[str, Float]
    trail: Mapping[str, Any] = field(default_factory=dict)

    def constant(self, name: str) -> Float | None:
        """An array that is the same in every snapshot, or None."""
        found = self.layout.constants.get(name)
        return None if found is None else found.values


class Form(ABC):
    """One way of writing measures down; registered under the name that layouts carry as `form`."""

    #: what such measures are, one of `mfpde.contracts.solver.SHOWN`
    shows: ClassVar[str] = "density"

    @abstractmethod
    def measure(self, written: Written) -> Measure:
        """The measure that was written down."""


def written_measure(written: Written) -> Measure:
    """The measure of a snapshot of any form."""
    form: Form = lookup("form", written.layout.form)()
    return form.measure(written)
