"""Cells are halved where the collected value changes, and nowhere else."""

import numpy as np
import pytest

import mfpde
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.refining import coarse_points, halved_cells

RANGES = {"noise.kappa": {"from": 1, "to": 2, "count": 5}, "time.until": {"from": 1, "to": 2, "count": 3}}
REFINE = {"where": "order-parameter", "levels": 2}


def test_only_cells_on_the_front_are_halved(heat):
    """A front between kappa = 1.5 and 1.75: on the finest grid the points about it, on the coarse one all."""
    plan = Plan(heat(sweep={**RANGES, "refine": REFINE}))
    assert plan.shape == (17, 9)
    kappa = plan.axes[0].coordinates["noise.kappa"]
    values = np.where(kappa > 1.6, 1.0, 0.0)[:, None] * np.ones(9)
    finished = coarse_points(plan)
    assert np.argwhere(finished).tolist() == [[i, j] for i in range(0, 17, 4) for j in range(0, 9, 4)]
    for level, rows in ((0, {8, 10, 12}), (1, {8, 9, 10})):
        numbers = halved_cells(plan, values, finished, level)
        assert not finished.reshape(-1)[numbers].any()
        finished.reshape(-1)[numbers] = True
        fine = {int(row) for row in np.unravel_index(numbers, plan.shape)[0]}
        assert fine == rows, level
    assert halved_cells(plan, np.ones(plan.shape), finished, 0).size == 0


def test_a_refined_sweep_has_the_values_of_the_fine_one(heat, here, tmp_path):
    coarse = {"from": 0.2, "to": 3.2, "count": 4}
    refine = {"where": "order-parameter", "levels": 2, "change": 0.5}
    found = mfpde.sweep(heat(sweep={"noise.kappa": coarse, "refine": refine}), tmp_path / "fine.h5")
    whole = mfpde.sweep(heat(sweep={"noise.kappa": {**coarse, "count": 13}}))
    assert np.flatnonzero(found.finished).tolist() == [0, 2, 4, 8, 12]  # 0.107 of 0.181, then less than half
    np.testing.assert_array_equal(found["order-parameter"][found.finished], whole["order-parameter"][found.finished])
    assert np.isnan(found["order-parameter"][~found.finished]).all()
    assert found.outcome.complete
    here.batches.clear()
    mfpde.sweep(heat(sweep={"noise.kappa": coarse, "refine": refine}), tmp_path / "fine.h5", resume=True)
    assert here.batches == []


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({**RANGES, "refine": {"where": "order-paramter"}}, "'order-paramter' is not collected (did you mean"),
        ({"noise.kappa": [1, 2], "refine": REFINE}, "refines ranges {from, to, count}, and there is none"),
    ],
)
def test_what_cannot_be_refined(heat, here, block, told):
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.sweep(heat(sweep=block))
    assert told in str(caught.value)
