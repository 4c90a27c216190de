"""A small sweep whose values have a closed form, and workers that are this process."""

import pytest
from unit.sweeping.here import Here

import mfpde
from mfpde.sweeping import running

#: r(t) = a e^{-t/kappa} / 2 without attention
HEAT = {
    "geometry": {"kind": "circle"},
    "noise": {"kappa": 1},
    "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    "solver": {"kind": "spectral"},
    "time": {"until": 1, "save_every": 0.25},
    "sweep": {"noise.kappa": [1, 2, 4], "time.until": {"from": 1, "to": 2, "count": 2}},
    "collect": ["order-parameter"],
}


@pytest.fixture
def heat():
    """The problem with other blocks."""

    def make(**blocks) -> mfpde.Problem:
        return mfpde.Problem.from_dict({**HEAT, **blocks})

    return make


@pytest.fixture
def here(monkeypatch):
    """Sweeps in this process; what it returns sets which points kill their worker."""
    workers = Here()
    monkeypatch.setattr(running, "_workers", lambda *_: workers)
    return workers
