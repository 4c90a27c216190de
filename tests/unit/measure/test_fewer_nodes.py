"""Rules with fewer nodes against Bessel functions, cells askew to edges against areas of polygons."""

import numpy as np
import pytest
from scipy.special import iv

from mfpde import Plane
from mfpde.geometry import Lattice
from mfpde.measure.expression import Expression
from mfpde.measure.fewer_nodes import fewer_nodes
from mfpde.measure.flat_density import FlatDensity
from mfpde.measure.uniform_box import UniformBox
from mfpde.measure.written_density import WrittenDensity
from mfpde.transform.chebyshev_grid import ChebyshevGrid

TURN = np.array([[0.8, 0.6], [-0.6, 0.8]])  # to the axes of the rectangle
HALVES = np.array([1.1, 0.5])  # of its sides
WALLS = ("maximum(0, 1e9*(1.1 - abs(0.8*x + 0.6*y)))", "maximum(0, 1e9*(0.5 - abs(0.8*y - 0.6*x)))")


@pytest.fixture(scope="module")
def rectangle():
    """A written density, whose edges take two seconds to be found."""
    return FlatDensity(WrittenDensity(" * ".join(f"minimum(1, {wall})" for wall in WALLS), Plane()))


def test_few_nodes_of_a_law_on_a_disc_integrate_exponentials():
    """`1 - r^2`: `int e^{<w, x>} dmu = 8 I_2(|w|) / |w|^2`."""
    every = FlatDensity(WrittenDensity("maximum(0, 1 - x**2 - y**2)", Plane())).nodes(refinement=0.4)
    points, weights = fewer_nodes(*every, panels=4)
    assert 8 * len(weights) < len(every[1])
    assert weights.min() > 0
    for size, accuracy in ((1.0, 1e-14), (6.0, 1e-13), (12.0, 1e-10)):
        found = weights @ np.exp(points @ (size * TURN[0]))
        assert found == pytest.approx(8 * iv(2, size) / size**2, rel=accuracy)


def test_cells_askew_to_a_rectangle_hold_shares_of_it(rectangle):
    """Areas of polygons, in coordinates in which the rectangle is upright."""
    axes, origin, matrix = (np.linspace(-2.6, 2.6, 9),) * 2, np.array([0.05, -0.02]), np.array([[0.5, 0.1], [0.0, 0.4]])
    upright = UniformBox(-HALVES, HALVES, Plane()).cell_averages(Lattice(axes, TURN @ origin, TURN @ matrix))
    averages = rectangle.cell_averages(Lattice(axes, origin, matrix))
    assert np.abs(averages - upright).max() < 1e-8 * upright.max()  # slopes are 1e-9 wide


def test_cells_along_a_rectangle_whose_edges_are_faces_up_to_rounding(rectangle, monkeypatch):
    """The frame of a run turns with the data: lines within a slope of 1e9 then hold rounding errors alone. Looking for
    edges in these took seven times as many values."""
    axes, matrix = (np.linspace(-1.5, 1.5, 25),) * 2, TURN.T * HALVES / 1.4375  # faces at the ends of both sides
    values, evaluate = [], Expression.__call__

    def counted(expression, coordinates):
        values.append(coordinates["x"].size)
        return evaluate(expression, coordinates)

    monkeypatch.setattr(Expression, "__call__", counted)
    averages = rectangle.cell_averages(Lattice(axes, np.zeros(2), matrix))
    assert sum(values) < 1e7
    inside = np.abs(axes[0]) < 1.4375
    wanted = np.outer(inside, inside) / (4 * HALVES.prod())
    assert np.abs(averages - wanted).max() < 1e-7 * wanted.max()  # slopes are 1e-9 wide, cells 0.06


def test_polynomials_on_a_box(random):
    def smooth(points):
        x, y = points.T
        return np.column_stack([np.exp(np.sin(x) * y), np.cos(x - 2.0 * y)])

    points = random.uniform([-1.0, 2.0], [0.5, 3.0], (500, 2))
    grid = ChebyshevGrid.around(points, 20)
    assert np.abs(grid.interpolated(smooth(grid.points), points) - smooth(points)).max() < 1e-12
