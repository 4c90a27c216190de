"""What figures of sweeps show; their values are made up."""

import numpy as np
import pytest
from scipy.special import i1

import mfpde
from mfpde.contracts import FINISHED, Outcome
from mfpde.sweeping.columns import FINISHED_MARK, empty_columns, layout_of
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.result import Sweep

BETAS, KAPPAS = {"from": 0, "to": 3, "count": 7}, {"from": 0.5, "to": 4, "count": 8, "scale": "log"}
STARTS = ["1 + 0.1*cos(theta)", "1 + 0.5*cos(theta)"]


@pytest.fixture
def drawn():
    """The figure of a sweep whose order parameters are these."""

    def draw(swept, values, **blocks):
        problem = mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": "unnormalized", "beta": 1},
                "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
                "time": {"until": 1},
                "sweep": swept,
                "collect": ["order-parameter"],
                **blocks,
            }
        )
        plan = Plan(problem)
        columns = empty_columns(plan.shape, layout_of(plan))
        columns["order-parameter"][...] = values(*np.meshgrid(*map(np.arange, plan.shape), indexing="ij"))
        columns["outcome"][...] = b"finished"
        columns[FINISHED_MARK][...] = True
        layout, finished = layout_of(plan), columns.pop(FINISHED_MARK)
        return Sweep(problem, plan.axes, layout, columns, finished, Outcome(FINISHED, np.nan)).plot()

    return draw


def maps(figure):
    return [axes for axes in figure.axes if axes.collections and axes.get_xlabel()]


def test_small_multiples_have_one_scale_and_the_curve_of_theory(drawn):
    swept = {"attention.beta": BETAS, "noise.kappa": KAPPAS, "initial.expression": STARTS}
    figure = drawn(swept, lambda beta, kappa, start: (beta + kappa) * (1 + start))
    panels = maps(figure)
    assert [axes.get_title(loc="left") for axes in panels] == [f"initial.expression = {start}" for start in STARTS]
    assert [axes.collections[0].get_clim() for axes in panels] == [(0, 26), (0, 26)]
    for axes in panels:
        betas, kappas = axes.lines[-1].get_data()
        np.testing.assert_allclose(kappas, [2, *(betas[1:] / i1(betas[1:]))], rtol=1e-12)
    assert [text.get_text() for text in figure.legends[0].texts] == ["uniform state loses its stability"]
    assert figure.texts[0].get_text() == "over attention.beta, noise.kappa, initial.expression; attention: unnormalized"


def test_axes_of_one_ratio_are_written_without_powers(drawn):
    (axes,) = maps(drawn({"attention.beta": BETAS, "noise.kappa": KAPPAS}, lambda beta, kappa: beta + kappa))
    axes.figure.canvas.draw()
    assert axes.get_yscale() == "log"
    told = {tick.get_text() for tick in axes.get_yticklabels()}
    assert {"0.5", "0.7", "1", "1.5", "2", "3"} <= told


def test_repeats_are_a_mean_and_a_band(drawn):
    seeds = {"from": 0, "to": 20, "count": 21}
    tokens = {"solver": {"kind": "particles", "count": 10}}
    figure = drawn({"attention.beta": [0, 1, 2], "solver.seed": seeds}, lambda beta, seed: beta + seed / 20, **tokens)
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.5, 1.5, 2.5])
    edges = axes.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose([edges[:, 1].min(), edges[:, 1].max()], [0.05, 2.95])


def test_a_value_that_no_repeat_has_is_an_empty_panel(drawn):
    figure = drawn({"noise.kappa": [1, 2], "solver.seed": [1, 2]}, lambda *_: np.nan, solver={"kind": "particles"})
    assert len(figure.axes[0].lines[0].get_xdata()) == 0


def test_curves_that_lie_on_each_other_are_both_seen_over_all_of_the_axis(drawn):
    swept = {"noise.kappa": {"from": 1, "to": 4, "count": 7}, "attention.beta": [0, 1]}
    figure = drawn(swept, lambda kappa, _: np.where(kappa < 3, np.nan, 1.0))
    (axes,) = figure.axes
    curves = [line for line in axes.lines if len(line.get_xdata()) == 4]
    assert [line.is_dashed() for line in curves] == [False, True]
    assert axes.get_xlim()[0] <= 1
