"""Runs to draw, made by hand: no solver is asked."""

from collections.abc import Callable

import numpy as np
import pytest

from mfpde.attention import Unnormalized
from mfpde.contracts import Outcome
from mfpde.equation import Noise
from mfpde.geometry import Circle
from mfpde.observe import Observable
from mfpde.observe.order_parameter import OrderParameter
from mfpde.problem import Problem, Time
from mfpde.registry import members
from mfpde.run import Run


def bump(theta, time):
    """A cluster that builds up at 0: cosine moments of growing size."""
    return (1 + 0.9 * (1 - np.exp(-time)) * np.cos(theta)) / (2 * np.pi)


def _observed(series) -> list[Observable]:
    """The observables that give these series, as a problem would ask for them."""
    known = [*(kind() for kind in members("observable").values()), OrderParameter(harmonic=2)]
    return [one for one in known if set(one.series(Circle())) & set(series)]


@pytest.fixture
def make_run() -> Callable[..., Run]:
    def make(density=bump, times=(0.0, 0.5, 1.0, 2.0), count=32, series=None, series_times=None, outcome=None, **about):
        layout = Circle().layout(count)
        theta = layout.axes[0].values
        until = max(times[-1], 1.0)
        problem = Problem(
            title=about.get("title", "a test"),
            geometry=Circle(),
            attention=Unnormalized(beta=0),
            noise=Noise(kappa=4),
            time=Time(until=until),
            observe=_observed(series or {}),
            compare={"kind": "characteristics"} if "distance" in (series or {}) else None,
        )
        return Run(
            problem=problem,
            times=np.array(times, dtype=float),
            layout=layout,
            stored={"density": np.array([density(theta, time) for time in times])},
            series=series or {},
            series_times=np.array(times if series_times is None else series_times, dtype=float),
            outcome=outcome or Outcome("finished", times[-1]),
            provenance={"seed": 0, "versions": {"numpy": np.__version__}},
        )

    return make


@pytest.fixture
def run(make_run) -> Run:
    times = np.array([0.0, 0.5, 1.0, 2.0])
    order = 0.45 * (1 - np.exp(-times))
    return make_run(
        series={
            "order-parameter": order,
            "order-parameter-phase": np.zeros(4),
            "free-energy": -(order**2),
            "modes-cosine": np.zeros((4, 8)),
        }
    )
