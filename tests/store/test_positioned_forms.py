"""Densities at several positions on circle and sphere come back from files as they were, axes growing on the way."""

import numpy as np
import pytest

import mfpde

MATRICES = {"circle": [[1, 0.5], [0, 1]], "sphere": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}


@pytest.mark.parametrize(
    ("geometry", "initial", "axis"),
    [("circle", "1 + 0.5*cos(theta + s)", "theta"), ("sphere", "1 + 0.5*x*s + 0.2*z", "colatitude")],
)
def test_a_masked_run_is_loaded_as_it_was(tmp_path, geometry, initial, axis):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": geometry},
            "attention": {
                "kind": "masked",
                "attention": {"kind": "softmax", "A": MATRICES[geometry]},
                "positions": [0.2, 0.8],
            },
            "noise": {"kappa": 5},
            "initial": {"kind": "density", "expression": initial},
            "solver": {"kind": "spectral", "tolerance": 1e-4},
            "time": {"until": 0.2, "save_every": 0.1},
            "observe": ["mass", "mean"],
        }
    )
    living = mfpde.solve(problem, output=tmp_path / "run.h5")
    loaded = mfpde.load(tmp_path / "run.h5")
    assert loaded.layout.dimensions[0] == axis
    assert loaded.layout.sizes["panel"] == 2
    one, other = living.measure(-1), loaded.measure(-1)
    points = other.nodes()[0][::50]
    assert one.evaluate(points) == pytest.approx(other.evaluate(points), rel=1e-12)
    assert one.mean == pytest.approx(other.mean, rel=1e-12)
    for (place, share, law), (there, its, back) in zip(one.slices, other.slices, strict=True):
        assert (place, share) == (there, pytest.approx(its, rel=1e-13))
        assert law.mean == pytest.approx(back.mean, rel=1e-12)
    assert np.asarray(loaded["mass"]) == pytest.approx(1.0, abs=1e-13)
    assert loaded.to_xarray().density.dims[:2] == ("time", "panel")
