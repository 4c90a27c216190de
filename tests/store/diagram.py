"""A result that is no run: states along a curve, each made of the one before, and special points among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mfpde
from mfpde.contracts import FINISHED, Outcome, Result, Summary
from mfpde.geometry import Constant, Field, Layout
from mfpde.registry import register
from mfpde.store.checkpoint import Checkpoint
from mfpde.store.opening import opened
from mfpde.store.provenance import provenance_of
from mfpde.store.result_file import ResultFile
from mfpde.store.schema import Header
from mfpde.store.stored_tables import StoredTables, check_kind
from mfpde.store.table import Column, Table

KIND = "toy-diagram"
ORDERS = 6
EVERY = 3  # states to a special point
LAYOUT = Layout(
    KIND, (), {"order": ORDERS}, constants={"shift": Constant(Field(("order",), "shift"), np.arange(1.0, ORDERS + 1))}
)
PROBLEM = mfpde.Problem.from_dict({"title": "toy", "geometry": {"kind": "circle"}})


def tables(problem: mfpde.Problem, layout: Layout) -> tuple[Table, ...]:
    """States with numbers, integers and words; special points, of which a state may tell."""
    words = Column(Field((), "kind of the point"), (), "S12")
    states = {
        "moments": Column(Field(("order",), "moments"), (ORDERS,)),
        "branch": Column(Field((), "number of the branch"), (), "<i4"),
        "stable": Column(Field((), "whether it is stable"), (), "i1"),
    }
    return (
        Table("state", "state", "number of the state", states, 40),
        Table("special_point", "special_point", "number of the point", {"kind": words}, 4),
    )


@dataclass(frozen=True)
class Diagram(Result):
    """What is loaded of it."""

    problem: mfpde.Problem
    outcome: Outcome
    provenance: dict[str, Any]
    columns: dict[str, Any]
    path: Path | None = None
    drawn: list[str] = field(default_factory=list)

    def summary(self) -> Summary:
        states = len(self.columns["moments"])
        last = {"first moment": float(self.columns["moments"][-1][0])}
        return Summary(
            extent={"states": f"{states} states"},
            contents={"orders": str(ORDERS)},
            counts={"turns": 2.0},
            last=last,
            when=f"of state {states - 1}",
            invariants={"least moment": 0.5},
            data={"states": states},
        )

    def citations(self) -> list[str]:
        return ["mfpde", "hairer1993"]

    def to_xarray(self) -> Any:
        raise NotImplementedError

    def plot(self, path: Any = None) -> None:
        Path(path).write_text("a picture", encoding="utf-8")


@register("archive", KIND)
def load_diagram(path: Any) -> Diagram:
    """As for runs."""
    with opened(Path(path)) as file:
        check_kind(Path(path), file, KIND)
        stored = StoredTables(Path(path), file, tables)
        stored.read_end()
        stored.read_scales()
        columns = {name: np.asarray(stored.rows(name, 0, array.shape[0])) for name, array in stored.stored().items()}
        return Diagram(stored.problem, stored.outcome, stored.provenance, columns, stored.path)


def rows_of(first: int, states: list[np.ndarray]) -> dict[str, dict[str, Any]]:
    """Those to append for states from that number on."""
    numbers = range(first, first + len(states))
    special = [number for number in numbers if number % EVERY == 0]
    return {
        "states": {
            "state": list(map(float, numbers)),
            "moments": states,
            "branch": [number // 4 for number in numbers],
            "stable": [number % 2 for number in numbers],
        },
        "special_points": {
            "special_point": [float(number // EVERY) for number in special],
            "kind": [b"fold" if number % 2 else b"branch-point" for number in special],
        },
    }


def step(state: np.ndarray) -> np.ndarray:
    """The next state: chaotic, so that whatever is lost shows."""
    return 3.9 * state * (1 - state)


def make(path: Path, count: int, *, resume: bool = False, each: int = 1, kept: bool = True) -> None:
    """Write the file state by state; `each` of them are a commit, with a checkpoint where the state is `kept`."""
    layout, made = LAYOUT, provenance_of(PROBLEM, {"turns": 2.0})
    header = Header(KIND, PROBLEM, layout, tables(PROBLEM, layout), "made by a test", made)
    if resume:
        with opened(path) as file:
            old = StoredTables(path, file, tables)
            old.read_sound()
            slot, checkpoint = old.latest()
            assert checkpoint is not None
            result = ResultFile.continued(path, old, header, (slot, checkpoint), old.counts)
        state = checkpoint.state["state"]
    else:
        state = np.linspace(0.1, 0.4, ORDERS)
        result = ResultFile.create(path, header, rows_of(0, [state]), Checkpoint(0.0, 1, {"state": state}), force=True)
    while result.counts["states"] < count:
        first, states = result.counts["states"], []
        while len(states) < each and first + len(states) < count:
            state = step(state)
            states.append(state)
        result.commit(rows_of(first, states), Checkpoint(float(first), 1, {"state": state}) if kept else None)
    result.trim()
    result.finish(Outcome(FINISHED, float(count - 1)), made)


def expected(count: int) -> dict[str, np.ndarray]:
    """Its columns."""
    states = [np.linspace(0.1, 0.4, ORDERS)]
    while len(states) < count:
        states.append(step(states[-1]))
    rows = rows_of(0, states)
    return {
        "moments": np.array(states),
        "branch": np.array(rows["states"]["branch"], "<i4"),
        "stable": np.array(rows["states"]["stable"], "i1"),
        "kind": np.array(rows["special_points"]["kind"], "S12"),
    }
