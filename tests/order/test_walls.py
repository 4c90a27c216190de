"""Finite volumes between walls, with noise.

On the line the reference is the mass below x, `F' = D F'' - G F_x` with F = 0 and F = 1 at the walls, collocated in
Chebyshev points and integrated by SciPy's Radau: walls are values there, and nothing is shared with cells. On the plane
it is a Galerkin method in Legendre polynomials, in which walls are natural, and an exponential of its matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, legendre
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import erf

import mfpde
from mfpde.contracts.solver import State
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps
from mfpde.typing import Float

KAPPA, NODES, UNTIL = 4.0, 40, 0.1


def _density(time: float) -> Chebyshev:
    """Of drift 1 on [0, 1], from a uniform law, as a polynomial."""
    return _polynomial(lambda x, _: np.ones_like(x), lambda x: x, KAPPA, (0.0, 1.0), time)


def _polynomial(
    drift: Callable[[Float, Float], Float],
    below: Callable[[Float], Float],
    kappa: float,
    ends: tuple[float, float],
    time: float,
) -> Chebyshev:
    """The density at a time under a drift of places and density there; at first the mass is `below`."""
    k = np.arange(NODES + 1)
    x, signs = ends[0] + 0.5 * (ends[1] - ends[0]) * (1.0 - np.cos(np.pi * k / NODES)), (-1.0) ** k
    signs[[0, -1]] *= 2.0
    slope = np.outer(signs, 1.0 / signs) / (x[:, None] - x + np.eye(NODES + 1))
    slope -= np.diag(slope.sum(axis=1))

    def rate(_: float, inner: Float) -> Float:
        density = slope @ np.concatenate([[0.0], inner, [1.0]])
        changed: Float = (slope @ density / kappa - drift(x, density) * density)[1:-1]
        return changed

    found = solve_ivp(rate, (0.0, time), below(x)[1:-1], method="Radau", rtol=1e-9, atol=1e-11)
    mass = np.concatenate([[0.0], found.y[:, -1], [1.0]])
    return Chebyshev.fit(x, mass, NODES, domain=list(ends)).deriv()


def _begun(count: int, tolerance: float) -> FiniteVolumeIntegration:
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 0, "V": 0},
            "drift": {"kind": "constant", "value": [1.0]},
            "noise": {"kappa": KAPPA},
            "initial": {"kind": "uniform", "box": [[0, 1]]},
            "time": {"until": 2.0},
            "solver": {"kind": "finite-volume", "cells": count, "box": [[0, 1]], "tolerance": tolerance},
        }
    )
    run = problem.solver.start(problem.posed())
    assert isinstance(run, FiniteVolumeIntegration)
    return run


def _carried(run: FiniteVolumeIntegration, time: float) -> Float:
    while run.advance(time, 10**6).state is State.UNDER_WAY:
        pass
    return run.solution.density.ravel()


def _middles(count: int) -> Float:
    return (np.arange(count) + 0.5) / count


@pytest.mark.parametrize(("side", "told"), [(3.0, True), (8.0, False)])
def test_a_box_that_noise_would_leave_is_told(side: float, told: bool) -> None:
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 0, "V": 0},
            "noise": {"kappa": 2.0},
            "initial": {"kind": "gaussian", "mean": 0, "covariance": 0.1},
            "time": {"until": 1.0},
            "solver": {"kind": "finite-volume", "cells": 64, "box": [[-side, side]]},
        }
    )
    remarks = problem.solver.remarks(problem.posed())
    assert ["let nothing through" in remark for remark in remarks] == [True] * told
    assert ["they need [[-6.2" in remark for remark in remarks] == [True] * told  # six times sqrt(0.1 + 2 / kappa)


def test_order_at_walls() -> None:
    exact = _density(UNTIL)
    errors = [np.abs(_carried(_begun(n, 1e-7), UNTIL) - exact(_middles(n))).max() for n in (24, 48)]
    assert errors[1] < 1.2e-3  # of densities up to 2
    assert np.log2(errors[0] / errors[1]) > 1.8


@pytest.mark.parametrize("count", [24, 48])
@pytest.mark.parametrize("exact", [False, True])
def test_a_stationary_law_stays(count: int, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rho ~ e^{kappa x}` is the weight of the modes; explicit fluxes vanish to order five. Nothing leaves."""
    if not exact:
        monkeypatch.setattr(NoiseSteps, "limits", lambda *_: None)
    run = _begun(count, 1e-7)
    law = np.exp(KAPPA * _middles(count))
    law *= count / law.sum()
    run.restore({**run.state(), "density": law.reshape(1, 1, -1)})
    moved = np.abs(_carried(run, 2.0) - law).max() / law.max()
    assert (run.statistics()["exact"] > 0) == exact
    assert moved < (1e-13 if exact else 1e-5 if count == 24 else 4e-7)
    assert run.residual() < (1e-11 if exact else 1e-5)
    assert abs(run.solution.density.sum() / count - 1.0) < 1e-13


#: g(x) = -x, as a perceptron
HOME: dict[str, Any] = {"kind": "mlp", "W": [[1, -1]], "U": [[-1], [1]], "b": [0, 0], "activation": "relu"}
STILL: dict[str, Any] = {"kind": "softmax", "A": 0, "V": 0}


def _in_a_box(cells: Any, until: float, sides: int = 1, **blocks: Any) -> mfpde.Run:
    """In the box [-1, 1]^sides, with kappa = 4."""
    given = {
        "geometry": {"kind": "line" if sides == 1 else "plane"},
        "noise": {"kappa": KAPPA},
        "solver": {"kind": "finite-volume", "cells": cells, "box": [[-1, 1]] * sides},
        "time": {"until": until, "save": False},
    }
    run = mfpde.solve(mfpde.Problem.from_dict({**given, **blocks}))
    assert run.density[-1].min() > 0.0
    assert abs(run.density[-1].sum() / run.density[0].sum() - 1.0) < 1e-13
    return run


def _places(count: int) -> Float:
    return 2.0 * _middles(count) - 1.0


def test_ornstein_and_uhlenbeck_between_walls_take_a_few_steps() -> None:
    """On 512 cells stabilised steps were 6150."""
    exact = _polynomial(lambda x, _: -x, lambda x: 0.5 * (x + 1.0), KAPPA, (-1.0, 1.0), 1.0)
    uniform = {"kind": "uniform", "box": [[-1, 1]]}
    errors = []
    for count in (128, 512):
        run = _in_a_box(count, 1.0, attention=STILL, drift=HOME, initial=uniform)
        assert run.provenance["statistics"]["steps"] < 10
        errors.append(np.abs(run.density[-1].ravel() - exact(_places(count))).max())
    assert errors[1] < 1e-6
    assert 0.5 * np.log2(errors[0] / errors[1]) > 1.9


def _softmax(x: Float, density: Float) -> Float:
    """Int y e^{x y} rho / int e^{x y} rho, by Clenshaw-Curtis weights on the nodes x."""
    even = np.arange(0, NODES + 1, 2)
    integrals = np.zeros(NODES + 1)
    integrals[even] = 2.0 / (1.0 - even**2)
    weights = np.linalg.solve(np.polynomial.chebyshev.chebvander(x, NODES).T, integrals)
    scores = np.exp(np.outer(x, x)) * (weights * density)
    return np.asarray((scores @ x) / scores.sum(axis=1))


def test_attention_that_drives_tokens_to_a_wall() -> None:
    """The drift changes, and the modes with it; explicit steps were 3400 on 128 cells."""

    def below(x: Float) -> Float:
        return np.asarray(0.5 * (1.0 + erf((x - 0.2) / np.sqrt(0.02))))

    exact = _polynomial(_softmax, below, KAPPA, (-1.0, 1.0), 2.0)
    start = {"kind": "gaussian", "mean": 0.2, "covariance": 0.01}
    errors = []
    for count in (96, 192):
        run = _in_a_box(count, 2.0, attention={"kind": "softmax", "A": 1, "V": 1}, initial=start)
        statistics = run.provenance["statistics"]
        assert statistics["steps"] < 200
        errors.append(np.abs(run.density[-1].ravel() - exact(_places(count))).max() / exact(1.0))
        assert errors[-1] < 3.0 * statistics["cell-error"]
    assert errors[1] < 4e-5
    assert np.log2(errors[0] / errors[1]) > 1.8


def _galerkin(matrix: Float, time: float, places: tuple[Float, Float], degree: int = 20) -> Float:
    """Densities under the drift `matrix x` in [-1, 1]^2, from the uniform law."""
    nodes, weights = legendre.leggauss(degree + 12)
    norms = np.sqrt(np.arange(degree + 1) + 0.5)
    values = legendre.legvander(nodes, degree) * norms
    slopes = np.stack([legendre.legval(nodes, legendre.legder(row)) for row in np.eye(degree + 1)], axis=1) * norms
    one, first = np.eye(degree + 1), (values.T * (weights * nodes)) @ values
    bent, carried, pulled = ((slopes.T * w) @ v for w, v in (
        (weights, slopes), (weights, values), (weights * nodes, values)
    ))  # fmt: skip
    rates = -(np.kron(bent, one) + np.kron(one, bent)) / KAPPA
    rates += matrix[0, 0] * np.kron(pulled, one) + matrix[0, 1] * np.kron(carried, first)
    rates += matrix[1, 0] * np.kron(first, carried) + matrix[1, 1] * np.kron(one, pulled)
    found = expm(time * rates)[:, 0].reshape(degree + 1, -1) / 2.0
    across, along = (legendre.legvander(x, degree) * norms for x in places)
    return np.asarray(across @ found @ along.T)


def _linear(matrix: Float) -> dict[str, Any]:
    """The drift `matrix x` of a symmetric matrix, as a perceptron."""
    both = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    out = (both @ matrix).tolist()
    return {"kind": "mlp", "W": both.T.tolist(), "U": out, "b": [0, 0, 0, 0], "activation": "relu"}


def test_a_box_of_the_plane_whose_drift_is_no_sum() -> None:
    """What the means across the axes leave of the drift at walls is lifted; told, and of second order."""
    matrix, uniform = np.array([[-1.0, 0.5], [0.5, -1.0]]), {"kind": "uniform", "box": [[-1, 1], [-1, 1]]}
    errors = []
    for count in (24, 48):
        cells = (count, count + 4)
        run = _in_a_box(cells, 0.5, 2, attention=STILL, drift=_linear(matrix), initial=uniform)
        exact, statistics = _galerkin(matrix, 0.5, (_places(cells[0]), _places(cells[1]))), run.provenance["statistics"]
        assert statistics["exact"] > 0.5 * statistics["steps"]
        assert statistics["steps"] < 60
        errors.append(np.abs(run.density[-1].reshape(cells) - exact).max() / exact.max())
        assert errors[-1] < statistics["cell-error"]
    assert errors[1] < 2e-4
    assert np.log2(errors[0] / errors[1]) > 1.8


def test_a_stationary_law_that_is_no_product_stays() -> None:
    """Explicit steps, of order five at walls, go on where lifting would be the only thing that moves."""
    matrix, cells = np.array([[-1.0, 0.5], [0.5, -1.0]]), (32, 32)
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": STILL,
            "drift": _linear(matrix),
            "noise": {"kappa": KAPPA},
            "initial": {"kind": "uniform", "box": [[-1, 1], [-1, 1]]},
            "solver": {"kind": "finite-volume", "cells": cells, "box": [[-1, 1], [-1, 1]]},
            "time": {"until": 0.2},
        }
    )
    run = problem.solver.start(problem.posed())
    x, y = np.meshgrid(_places(32), _places(32), indexing="ij")
    law = np.exp(0.5 * KAPPA * (-x * x + x * y - y * y))[None]
    law *= 256.0 / law.sum()
    run.restore({**run.state(), "density": law})
    run.advance(0.2, 10**8)
    assert run.statistics()["exact"] == 0
    assert np.abs(run.solution.density - law).max() < 1e-5 * law.max()


def test_a_crowd_far_from_the_walls_takes_exact_steps_before_it_comes_there() -> None:
    """Softmax widens it, but between walls no tilt is so large that tails which steps clear would be seen."""
    counts = _in_a_box(
        256,
        2.0,
        attention={"kind": "softmax", "A": 1, "V": 1},
        initial={"kind": "gaussian", "mean": 0.2, "covariance": 0.01},
    ).provenance["statistics"]
    assert counts["exact"] > 0.5 * counts["steps"]
    assert counts["steps"] < 120
