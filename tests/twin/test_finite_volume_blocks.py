"""What finite volumes do block by block, on any number of threads, against NumPy of a few lines."""

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Lattice, Scattered
from mfpde.measure import Normal, Panel
from mfpde.solvers.finite_volume import grid as grids
from mfpde.solvers.finite_volume import scheme as schemes
from mfpde.solvers.finite_volume import system as systems
from mfpde.solvers.finite_volume.compiled_system import CompiledSystem
from mfpde.solvers.finite_volume.gaussian_closure import ClosedDensity, Closure, Outside, shares_beyond
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.transform import mapped, threads


@pytest.mark.parametrize("width", [0.9, 0.3, 0.01])
def test_shares_beyond_the_cells(width, random):
    axis = -2.0 + width * np.arange(40)
    deviation = 0.7
    shares = shares_beyond(axis, width, deviation**2)
    places = np.concatenate([random.uniform(axis[0] - 4, axis[-1] + 4, 200), axis[[0, 3, -1]]])
    z = (axis - places[:, None]) / deviation
    inside = (np.exp(-0.5 * z**2) * width / deviation / np.sqrt(2 * np.pi)).sum(axis=1)
    index = np.rint((places - shares.start) * shares.per_unit).astype(int)
    offset = (places - shares.start) * shares.per_unit - index
    found = sum(shares.table[index, k] * offset**k for k in range(shares.table.shape[1]))
    assert np.abs(found - (1 - inside)).max() < 1e-14  # places are rounded
    ends = shares.table[[0, -1], 0]
    assert np.abs(ends - 1).max() < 1e-15


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("where", ["lattice", "points"])
def test_a_closed_gaussian_is_a_whole_one(dimension, where, random):
    """Cut off at 2 to 4 deviations and asked what lies 12 of them out."""
    low, high = np.array([-2.0, -3.0])[:dimension], np.array([4.0, 2.5])[:dimension]
    grid = Grid(low, high, [30, 26][:dimension], gaussian=True)
    frame, origin = np.array([[1.3, 0.4], [-0.2, 0.6]])[:dimension, :dimension], np.array([0.7, -2.0])[:dimension]
    lattice = Lattice(grid.axes, origin, frame)
    z = Lattice.of(grid.axes).points()
    density = 0.5 * np.exp(-0.5 * (z**2).sum(axis=1)).reshape(grid.cells) / (2 * np.pi) ** (dimension / 2)
    panel = Panel(lattice, density / abs(np.linalg.det(frame)), averages=False)
    closed = ClosedDensity([panel], [(lattice, Closure.of(density, panel.mass, grid.outside))])
    normal = Normal(origin, frame @ frame.T)
    axes = [np.linspace(-5, 8, 300), np.linspace(-9, 6, 90)][:dimension]  # several blocks
    w = Lattice(tuple(axes), random.standard_normal(dimension), random.standard_normal((dimension, dimension)))
    asked = w if where == "lattice" else w.points()
    value, mean = closed.log_laplace(asked, gradient=True)
    exact, exact_mean = normal.log_laplace(asked, gradient=True)
    assert np.abs(value - (exact + np.log(0.5))).max() < 1e-13 * np.abs(exact).max()
    assert np.abs(mean - exact_mean).max() < 1e-13 * np.abs(exact_mean).max()


def test_oblique_gaussians_are_cut_off_at_both_strips(random):
    """Against the same sums taken cell by cell, over boxes so long that they end nowhere."""
    covariance, mean = np.array([[1.2, 0.5], [0.5, 0.8]]), np.array([0.3, -0.1])
    inside = [0.25 * np.arange(-12, 16), 0.25 * np.arange(-10, 9)]
    everywhere = 0.25 * np.arange(-80, 81)
    w = random.standard_normal((20, 2))

    def total(x, y):
        z = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        scores = z @ w.T - 0.5 * np.einsum("ni,ij,nj->n", z - mean, np.linalg.inv(covariance), z - mean)[:, None]
        raised = np.exp(scores) * 0.25**2 / np.sqrt(np.linalg.det(2 * np.pi * covariance))
        return raised.sum(axis=0), raised.T @ z

    cells, whole = total(*inside), total(everywhere, everywhere)
    strips = total(inside[0], everywhere), total(everywhere, inside[1])
    share, product = 0.6, strips[0][0] * strips[1][0] / whole[0]
    slope = strips[0][1] / strips[0][0][:, None] + strips[1][1] / strips[1][0][:, None] - whole[1] / whole[0][:, None]
    mass = cells[0] + share * (whole[0] - product)
    moment = cells[1] + share * (whole[1] - product[:, None] * slope)

    value, means = np.log(cells[0]), np.ascontiguousarray((cells[1] / cells[0][:, None]).T)
    outside = Outside.of(inside, np.array([0.25, 0.25]), mean, covariance)
    Closure(share, outside).add(Lattice.of(inside), Scattered(w), value, means)
    assert np.abs(value - np.log(mass)).max() < 1e-13
    assert np.abs(means.T - moment / mass[:, None]).max() < 1e-12


def test_regression_and_what_it_leaves(random):
    grid = Grid(np.array([-3.0, -2.0]), np.array([4.0, 2.0]), (20, 16), gaussian=True)
    density, drift = random.random(grid.shape), 1e3 + random.standard_normal((2, *grid.shape))
    constant, linear = grid.regression(drift, density)
    table = np.column_stack([np.ones(320), grid.coordinates.reshape(2, -1).T]) * np.sqrt(density.reshape(-1, 1))
    expected = np.linalg.lstsq(table, (drift * np.sqrt(density)).reshape(2, -1).T)[0]
    assert np.abs(constant - expected[0]).max() < 1e-10
    assert np.abs(linear - expected[1:].T).max() < 1e-10
    inverse, left = random.standard_normal((2, 2)), np.empty_like(drift)
    grid.remainder(drift, constant, linear, inverse, left)
    fitted = constant[:, None, None] + np.tensordot(linear, grid.coordinates, axes=1)
    assert np.abs(left - np.tensordot(inverse, drift - fitted, axes=1)).max() < 1e-11


def test_matrices_times_grids(random):
    matrix, origin, field = random.random((2, 2)), random.random(2), random.random((2, 150, 130))
    found = mapped(matrix, field, origin)
    assert np.abs(found - np.tensordot(matrix, field, axes=1) - origin[:, None, None]).max() < 1e-15


@pytest.mark.parametrize("kappa", [np.inf, 4.0], ids=["quiet", "noisy"])
def test_neither_threads_nor_blocks_matter(kappa, monkeypatch):
    """Threads do not change a bit; blocks, which go by the number of cells, no more than rounding."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "softmax", "A": [[1.0, 0.5], [-0.2, 0.7]], "V": [[-1.0, 0.3], [-0.4, -0.8]]},
            "noise": {"kappa": kappa},
            "initial": {"kind": "density", "expression": "exp(-x**2 - y**2)*(1 + 0.5*sin(2*x)*cos(y))"},
            "solver": {"kind": "finite-volume", "cells": [72, 64]},
            "time": {"until": 1.0},
        }
    )
    monkeypatch.setattr(CompiledSystem, "fits", lambda *_: False)
    monkeypatch.setattr(threads, "_MIN_NUMBERS_TO_SPLIT", 0)  # small grids, too, go to threads
    found = []
    for count, block in ((1, 1 << 20), (1, 480), (3, 480)):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        monkeypatch.setattr(schemes, "_BLOCK_CELLS", block)
        monkeypatch.setattr(grids, "_CELLS_PER_PIECE", block)
        solution = problem.solver.start(problem.posed())
        solution.advance(1.0, 1)
        found.append(solution.state())
    for name in ("density", "mean", "matrix"):
        assert np.abs(found[0][name] - found[1][name]).max() < 1e-14
    for name, array in found[1].items():
        assert np.array_equal(array, found[2][name], equal_nan=True), name


def masked(frame, positions, **settings):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {
                "kind": "masked",
                "attention": {"kind": "softmax", "A": 1.2, "V": -0.5},
                "positions": positions,
            },
            "initial": {
                "kind": "mixture",
                "components": [
                    {"kind": "gaussian", "mean": -1.0, "covariance": 0.3},
                    {"kind": "gaussian", "mean": 1.0, "covariance": 0.2},
                ],
            },
            "solver": {"kind": "finite-volume", "cells": 60, "frame": frame, **settings},
            "time": {"until": 1.0},
        }
    )
    return problem.solver.start(problem.posed())


def test_panels_may_be_shared_out_among_threads(monkeypatch):
    monkeypatch.setattr(CompiledSystem, "fits", lambda *_: False)
    found = []
    for count in (1, 3):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        monkeypatch.setattr(systems, "thread_count", lambda count=count: count)
        solution = masked("moving", 4)
        solution.advance(1.0, 1)
        found.append(solution.state())
    for name, array in found[0].items():
        assert np.array_equal(array, found[1][name], equal_nan=True), name


def test_slices_on_one_lattice_are_summed_before_they_are_transformed(monkeypatch):
    """One sum for each position, not for each pair of positions."""
    solution = masked("static", 6, box=[[-8, 8]])
    measure, calls = solution.measure(), []
    transform = Panel.tilt
    monkeypatch.setattr(Panel, "tilt", lambda panel, *given: calls.append(panel) or transform(panel, *given))
    attention = mfpde.Softmax(A=1.2, V=-0.5)
    for place, panel in enumerate(measure.panels, start=1):
        calls.clear()
        found = mfpde.Masked(attention=attention).drift(measure, panel.lattice, panel.position)
        assert len(calls) == 1
        expected = attention.drift(mfpde.GridDensity(measure.panels[:place]), panel.lattice)
        assert np.abs(found - expected).max() < 1e-13


def test_pieces_of_pieces_and_what_is_ignored(monkeypatch):
    """A piece may have pieces of its own; overflow that the caller ignores is ignored on every thread."""
    monkeypatch.setattr(threads, "thread_count", lambda: 3)
    done = np.zeros((8, 5))

    def work(outer):
        def inner(piece):
            done[outer, piece] += np.exp(np.full(2, 1000.0)).min() > 0

        threads.run_pieces(inner, 5)

    with np.errstate(over="ignore"):
        threads.run_pieces(work, 8)
    assert (done == 1).all()
