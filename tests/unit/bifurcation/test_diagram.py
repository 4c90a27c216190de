"""What a diagram answers: selection of states, files, figures, refusals, interrupts."""

import h5py
import numpy as np
import pytest

import mfpde
from mfpde.bifurcation.deflation import deflated_states
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.phase_row import Request, family_at
from mfpde.bifurcation.stability import instability

CIRCLE = {"kind": "circle"}


def problem(low=0.15, high=0.4, parameter="kappa", branches=("uniform", 1, 2), **blocks):
    block = {"parameter": parameter, "range": [low, high], "branches": list(branches)}
    equation = {"geometry": CIRCLE, "attention": {"kind": "unnormalized", "beta": 5}, **blocks}
    return mfpde.Problem.from_dict({**equation, "bifurcation": block})


@pytest.fixture(scope="module")
def diagram():
    return mfpde.bifurcate(problem())


def test_sides(diagram):
    branch = diagram.branches[1]
    upper, lower = branch.at(0.19, "upper"), branch.at(0.19, "lower")
    assert upper.amplitude > lower.amplitude > 0
    assert upper.stable
    assert lower.unstable == 1
    with pytest.raises(mfpde.MfpdeError, match=r"upper \(amplitude 0.7753\), lower \(amplitude 0.3961\)"):
        branch.at(0.19)
    assert branch.at(0.3).amplitude > 0.97
    with pytest.raises(mfpde.MfpdeError, match=r"no state is there.*fold at 0.184300682956"):
        branch.at(0.18)
    with pytest.raises(mfpde.MfpdeError, match="sides: upper, lower"):
        branch.at(0.19, "oblate")


def test_a_parameter_is_a_parameter(diagram):
    """The fold is the same point, whichever number moves."""
    fold = next(p for p in diagram.branches[1].special if p.kind == "fold")
    inverse = mfpde.bifurcate(problem(1 / 0.4, 1 / 0.15, "1/kappa", (1,)))
    assert next(p for p in inverse.branches[1].special if p.kind == "fold").parameter == pytest.approx(
        1 / fold.parameter, rel=1e-11
    )
    noise = {"kappa": fold.parameter}
    for name in ("beta", "attention.beta"):
        along = mfpde.bifurcate(problem(4, 6, name, (1,), noise=noise))
        assert next(p for p in along.branches[1].special if p.kind == "fold").parameter == pytest.approx(5, rel=1e-10)
    nematic = {"interaction": {"coefficients": [1, 0.5]}, "attention": None, "noise": {"kappa": 3}}
    moved = mfpde.bifurcate(problem(0.1, 1, "interaction.coefficients.1", (2,), **nematic))
    assert moved.branches[1].special[0].parameter == pytest.approx(2 / 3, rel=1e-12)


def test_file_comes_back(diagram, tmp_path):
    path = diagram.save(tmp_path / "branches.h5")
    loaded = mfpde.load(path)
    assert loaded.problem == diagram.problem
    assert loaded.range == diagram.range
    for ours, theirs in zip(diagram.branches, loaded.branches, strict=True):
        for name in ("parameter", "amplitude", "free_energy", "unstable", "residual", "rates"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert [str(point) for point in ours.special] == [str(point) for point in theirs.special]
        assert ours.name == theirs.name
    assert loaded.branches[1].at(0.19, "upper").moments[1] == pytest.approx(0.77532106636295, abs=1e-12)
    with pytest.raises(mfpde.OutputError, match="exists already"):
        diagram.save(path)
    with h5py.File(path) as file:
        assert file["moments"].dims[0][0].name == "/point"
        assert set(np.unique(file["branch"])) == {0, 1, 2}


def test_xarray_reads_the_file(diagram, tmp_path):
    xarray = pytest.importorskip("xarray")
    path = diagram.save(tmp_path / "branches.h5")
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data.moments.dims == ("point", "order")
        assert data.attrs["mfpde_kind"] == "diagram"
        mine = diagram.to_xarray()
        for name in mine.data_vars:
            np.testing.assert_array_equal(mine[name], data[name])
    assert "carrillo2020" in diagram.citations()
    assert mfpde.load(path).path == path


def test_figures(diagram, tmp_path):
    for quantity in ("amplitude", "free_energy", "m2"):
        figure = diagram.plot(tmp_path / f"{quantity}.png", quantity)
        assert len(figure.axes) == 1
    with pytest.raises(
        mfpde.MfpdeError, match=r"shows amplitude, free_energy, m1, m2, \.\. or an observable: there is no"
    ):
        diagram.plot(quantity="speed")
    notes = [note.get_text() for note in figure.axes[0].texts]
    assert notes == ["0.20546", "0.28562", "0.1843", "0.18798"]
    energies = diagram.observed(diagram.branches[1], "free-energy")  # another formula, on a grid
    np.testing.assert_allclose(energies, diagram.branches[1].free_energy, atol=1e-11)
    with pytest.raises(mfpde.MfpdeError, match="modes is more than one number"):
        diagram.plot(quantity="modes")
    assert [len(diagram.branches[place].plot().axes) for place in (0, 1)] == [2, 3]
    labels = [text.get_text() for text in diagram.branches[2].plot(tmp_path / "two.pdf").axes[2].get_legend().texts]
    assert labels[0].startswith(f"{diagram.branches[2].rates[1:, 0].max():.3g}")
    assert "rotation" in labels


def test_stable_parts_are_solid(diagram):
    axes = diagram.plot().axes[0]
    fold = next(p for p in diagram.branches[1].special if p.kind == "fold")
    for line in axes.lines:
        if line.get_color() == "#0072B2" and len(line.get_xdata()) > 1:
            above = line.get_ydata().mean() > fold.state.amplitude
            assert (line.get_linestyle() == "-") == above


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"low": 0.01, "high": 0.1, "branches": ()},
            r"no mode leaves .* in \[0.01, 0.1\]; the nearest is mode 1, at 0.20545",
        ),
        ({"low": 0.1, "high": 0.5, "branches": (5,)}, "mode 5 does not leave .* the nearest is mode 5, at 2.31698"),
        (
            {"low": 0.21, "high": 0.27, "branches": (7,)},
            "mode 7 does not leave .* the nearest is mode 7, at 19.49401782",
        ),
        ({"low": 0.5, "high": 0.1}, "must be two finite numbers in ascending order"),
        ({"low": -1, "high": 1}, "kappa must be greater than 0"),
        ({"branches": (0,)}, "a mode is a positive whole number"),
        ({"parameter": "gamma"}, "gamma is not a number of the equation"),
        ({"parameter": "beta"}, "with the parameter beta there is one kappa"),
        ({"parameter": "attention.gamma", "noise": {"kappa": 1}}, "the problem has no number attention.gamma"),
        ({"attention": {"kind": "sigmoid", "A": 1, "V": 1}}, "stationary states are known for"),
        ({"geometry": {"kind": "line"}}, "known on circle and sphere"),
        ({"attention": {"kind": "softmax", "A": [[1, 0], [0, 2]], "V": 1}}, "constant multiples of I"),
    ],
)
def test_refusals(given, told):
    with pytest.raises(mfpde.ProblemError, match=told):
        mfpde.bifurcate(problem(**given))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kappa": 0.1}, "no state is there.*fold at 0.1843"),
        ({"kappa": -1}, "must be a positive finite number"),
        ({"kappa": 1, "mode": 0.5}, "positive whole number or 'uniform'"),
        ({"kappa": 1, "mode": 99}, "never leaves the uniform state"),
        ({"kappa": 0.19, "side": "left"}, "side must be upper, lower or oblate"),
    ],
)
def test_states_that_are_not_there(given, told):
    with pytest.raises(mfpde.MfpdeError, match=told):
        mfpde.stationary_state(CIRCLE, {"kind": "unnormalized", "beta": 5}, **given)


@pytest.mark.parametrize(("beta", "ratio"), [(3.0, 0.992), (5.0, 0.905), (8.0, 1.4)])
def test_deflation_finds_what_continuation_does(beta, ratio):
    family, _, first = family_at(Request(2, 1.0, False, (0.5 * ratio, 2 * ratio)), beta)
    u = family.place(ratio * first)
    explorer = Explorer(family)
    branches = [*explorer.primary(), *explorer.secondary()]
    found = deflated_states(family, u)
    assert found
    assert all(any(branch.holds(state, u) for branch in branches) for state in found)
    crossed = sum(
        (old.u - u) * (new.u - u) < 0
        for branch in branches
        for side in branch.sides
        for old, new in zip(side.path.points, side.path.points[1:], strict=False)
    )
    assert crossed == len(found)


def test_phase_diagram_counts_like_deflation():
    found = mfpde.phase_diagram(
        CIRCLE, {"kind": "unnormalized", "beta": 1}, beta=(1, 7), ratio=(0.8, 1.5), count=(4, 9)
    )
    assert found.stable.shape == (4, 9)
    assert found.tricritical[0, 0] == pytest.approx(2.4469183112890461, abs=1e-8)
    for i, j in [(0, 2), (1, 8), (2, 1), (3, 2)]:
        family, _, first = family_at(Request(2, 1.0, False, (0.7, 1.6)), found.beta[i])
        states = deflated_states(family, family.place(found.ratio[j] * first))
        stable = sum(instability(state) == 0 for state in states) + (found.ratio[j] < 1)
        assert stable == found.stable[i, j]
        lowest = min([0.0, *(s.free_energy for s in states)])
        assert found.free_energy[i, j] == pytest.approx(lowest, abs=1e-10 * (1 + abs(lowest)))


@pytest.mark.parametrize(
    ("space", "kind", "beta", "ratio", "points"),
    [
        ("circle", "unnormalized", (60, 100), (0.4, 1.3), [(0, 1), (1, 0), (1, 3), (1, 4)]),  # folds below the ratios
        ("circle", "unnormalized", (-4, -1), (0.5, 2.0), [(0, 4), (1, 2)]),
        ("sphere", "unnormalized", (2, 12), (0.5, 1.4), [(0, 2), (1, 0), (1, 3)]),
        ("sphere", "softmax", (2, 8), (0.8, 1.6), [(0, 4), (1, 3)]),
    ],
)
def test_phase_diagrams_elsewhere(space, kind, beta, ratio, points):
    found = mfpde.phase_diagram({"kind": space}, {"kind": kind, "beta": 1}, beta=beta, ratio=ratio, count=(2, 5))
    dimension = 2 if space == "circle" else 3
    for i, j in points:
        at = found.ratio[j]
        request = Request(dimension, 1.0, kind == "softmax", (0.99 * at, 1.01 * at))
        family, multipliers, first = family_at(request, float(found.beta[i]))
        states = deflated_states(family, family.place(at * first), seed=1)
        uniform = at * first * multipliers.scale * max(multipliers.relative.max(), 0) < 1
        assert found.stable[i, j] == sum(instability(state) == 0 for state in states) + uniform


def test_workers_find_the_same():
    given = {"beta": (1.0, 6.0), "ratio": (0.8, 1.5), "count": (8, 4)}
    alone = mfpde.phase_diagram(CIRCLE, {"kind": "unnormalized", "beta": 1}, workers=1, **given)
    shared = mfpde.phase_diagram(CIRCLE, {"kind": "unnormalized", "beta": 1}, workers=2, **given)
    for name in ("stable", "order_parameter", "free_energy", "mode", "first_order"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(shared, name))
    np.testing.assert_array_equal(alone.folds[1], shared.folds[1])
    assert alone.plot().axes[0].get_legend() is not None
