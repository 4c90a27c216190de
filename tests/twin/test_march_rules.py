"""What compiled marches on the line ask after each step, by plain formulas, and the plan of each next one."""

import numpy as np
import pytest

from mfpde.solvers.finite_volume.control import ExactLimits, StepControl
from mfpde.solvers.kernels.cells import Cells, Slopes, State
from mfpde.solvers.kernels.line_march import (
    GOES_ON,
    LOOKED_AT,
    WALL_FACTOR,
    March,
    _at_walls,
    _is_crowded,
    _leaves_the_box,
    _next_end,
    _wall_error,
    _write_down,
)
from mfpde.solvers.steppers.dop853 import Dop853


def march_of(**given):
    kept = {
        **dict.fromkeys(March._fields, 0.0),
        "target": 1.0,
        "ring": 3,
        "attempts": 1,
        "error_order": 7,
        "counts": np.zeros(3, dtype=np.int64),
        **{name: np.zeros(3) for name in ("crowded", "clock")},
        "controllers": np.zeros((3, 4)),
        "rows": np.zeros((1, 7)),
    }
    return March(**{**kept, **given})


def state_of(density):
    panels = len(density)
    return State(density, np.zeros((panels, 1)), np.ones((panels, 1, 1)))


@pytest.mark.parametrize(("cell", "near"), [(2, 0), (3, None), (16, None), (17, 1), (19, 1)])
def test_ends_are_the_cells_of_a_ring(cell, near):
    """A third of the mass of two panels is there."""
    density = np.zeros((2, 1, 20))
    density[0, 0, 10], density[1, 0, cell] = 2.0, 1.0
    for end in range(2):
        bounds = np.array([1.0, 1.0])
        for share, crowded in ((0.3, True), (0.4, False)):
            bounds[end] = share
            assert _is_crowded(density, march_of(crowded=bounds)) is (crowded and near == end)


def test_mass_that_leaves_a_box():
    """More than rounding, in the step, and in all."""
    whole = np.full((2, 1, 50), 0.01)
    for before, after, leaves in ((1, 1, False), (1, 1 - 1e-13, True), (1 + 1e-13, 1, False), (0.9, 0.9, False)):
        assert _leaves_the_box(state_of(before * whole), state_of(after * whole), 1.0) is leaves


def test_mass_and_errors_at_walls(random):
    density, speeds = 1.0 + random.random((2, 1, 12)), random.standard_normal((2, 1, 1, 12))
    conductivity, width = np.array([[[0.3]], [[0.7]]]), 0.1
    none = np.zeros((2, 1, 1))
    rates = Slopes(none, none, speeds, np.zeros((2, 1)), none, conductivity, np.zeros(1))
    missed = ((speeds[:, 0, 0] * width / conductivity[:, 0]) ** 2 * density[:, 0])[:, [0, -1]]
    assert _wall_error(density, rates, width) == pytest.approx(WALL_FACTOR * missed.max() / density.max(), rel=1e-14)
    bent = abs(3 * density[..., 1] - 2 * density[..., 0] - density[..., 2])
    bent += abs(3 * density[..., -2] - 2 * density[..., -1] - density[..., -3])
    assert _at_walls(density) == pytest.approx(bent.sum() / 24 / density.sum(), rel=1e-14)


def test_steps_after_which_python_looks():
    """Narrow clusters, poles ahead, the target, and no room for another row."""
    cells = Cells(**{**dict.fromkeys(Cells._fields, np.zeros(1)), "widths": np.ones(1), "order": 7, "other_order": 5,
                     "walls": False, "moves": True, "spreads": False})  # fmt: skip

    def after(width=5.0, growth=1.0, end=0.2, rows=2, left=1e-4):
        march = march_of(
            narrow=3.0, left=left, wall_error=np.inf, rows=np.zeros((rows, 7)), crowded=np.ones(3),
            clock=np.array([0.1, 0.1, 0.1]),
        )  # fmt: skip
        none, speeds = np.zeros((1, 1, 1)), np.zeros((1, 1, 1, 20))
        rates = Slopes(none, none, speeds, np.zeros((1, 1)), np.full((1, 1, 1), growth), none, np.full(4, width))
        state = state_of(np.ones((1, 1, 20)))
        found = _write_down(march, 0, end, state, rates, cells)
        assert march.rows[0].tolist() == [end - 0.1, end, width, 0.5 / growth, 1.0, 1.0, 0.0]
        assert march.clock.tolist() == [end, end, 0.5 / growth]
        return found

    assert after() == GOES_ON
    assert after(width=2.9) == LOOKED_AT
    assert after(growth=1e4) == GOES_ON  # 1 / (2 growth) fell from 0.1 to 5e-5: a pole 5e-5 ahead
    assert after(growth=1e4, left=1e-3) == LOOKED_AT
    assert after(end=1.0) == after(rows=1) == LOOKED_AT


def test_the_usual_step_is_taken_where_no_other_pays(random):
    """Whenever the compiled plan knows it, it is that of `StepControl`; in most of these it does."""
    planned, known, usual = 1000, 0, 0
    for _ in range(planned):
        control = StepControl(Dop853(), 1.2, 1e-6)
        control.begin(10 ** random.uniform(-4, 0))
        outflow, spreading, work = 10 ** random.uniform(0, 3), 10 ** random.uniform(-1, 5), 10 ** random.uniform(0, 3)
        controllers = np.zeros((3, 4))
        for row, each in enumerate((control._usual, control._stiff, control._exact)):
            if row > 0:
                each.length = 1.2 / (outflow + spreading) * 10 ** random.uniform(-3, 1) * (random.random() > 0.3)
                each._last_length = each.length * 10 ** random.uniform(-1.5, 0.5)
            controllers[row] = each.numbers
        exact = ExactLimits(work, 1, outflow, 0.0) if random.random() > 0.5 else None
        march = march_of(
            cfl=1.2, work=float(len(Dop853.tableau.weights)), controllers=controllers,
            exact_work=np.inf if exact is None else work,
        )  # fmt: skip
        plan = control.plan(0.0, 1.0, outflow, spreading, exact)
        end = _next_end(march, outflow, spreading)
        taken = plan.exact is None and not plan.stiff
        known, usual = known + int(np.isfinite(end)), usual + int(taken)
        assert taken or np.isnan(end)
        assert np.isnan(end) or end == plan.end
    assert known > 0.8 * usual > 0.2 * planned
