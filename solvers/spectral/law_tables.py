"""Laws as tables: on the circle and about an axis, integrals of a kernel against the harmonics that it sees.

A kernel that is the same for every measure is integrated once; a velocity is then a product of tables and coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.attention import Convolution
from mfpde.attention.base import Term
from mfpde.geometry import Harmonics
from mfpde.geometry.gauss import gauss_legendre, gauss_on_sphere
from mfpde.solvers.spectral.law_grids import Grid, MeridianGrid, ModeGrid
from mfpde.solvers.spectral.law_part import DECAYED, Part, bounds_of, kernel_between, pull_of_uniform, seen_by
from mfpde.typing import Complex, Float

__all__ = ["Tables", "tables_of_convolution", "tables_of_terms", "waves_of"]

_FIRST_NODES, _LAST_NODES = 32, 4096  # of rules that resolve a kernel: each has twice as many as the one before
_CIRCLE_NODES = 64  # fewer cost no less there
_LAST_RINGS = 256  # about an axis, where nodes are as many on every ring
_KINK_NODES = 24  # Gauss nodes of a half circle beside one for every mode
_TRIED_SHARE = 8  # every so many points are tried first
_UNTRIED_PAIRS_MAX = 2**13  # of points and nodes, which cost less than to try few points first
_POINTS_AT_A_TIME = 64  # of which kernels are evaluated against whole rings: bounds memory

#: of every point of a grid, integrals against harmonics `(degree + 1, n)` of the component of `V k y`, and of k. On the
#: circle real and imaginary parts are what those of the coefficients are multiplied by
Waves = tuple[Complex, Complex]


@dataclass
class Tables(Part):
    """`v = fixed + sum_h (numerators[h] . c) / (denominators[h] . c)`, `(terms, columns, n)`; the last terms have no
    denominator. Columns are coefficients up to a degree as `Grid.seen` lists them. `fixed` is the pull of an external
    potential, the same for every measure."""

    degree: int
    numerators: Float
    denominators: Float
    bounds: Float
    bound: float
    masses: Float
    masked: bool
    grid: Grid
    #: whether the kernels have no more harmonics, and not only as many as the grid had
    complete: bool
    fixed: Float
    #: of a rule that resolves the kernels
    nodes: int

    @property
    def cost(self) -> float:
        return 3e-4 * (self.numerators.size + self.denominators.size) * self.masses.size

    def on(self, grid: Grid) -> Tables | None:
        """The same on another grid with the same points, where they know enough harmonics."""
        same = np.array_equal(grid.points, self.grid.points)
        return replace(self, grid=grid) if same and self.complete else None

    def velocity(self, values: Float, densities: Float) -> Float:
        """|v| <= bound holds for every measure where there is a denominator, and is kept where that has sunk below
        roundoff."""
        low = np.stack([self.grid.seen(each, self.degree) for each in values])
        columns, speed = seen_by(low, self.masses, self.masked), np.zeros(densities.shape)
        for term, numerator in enumerate(self.numerators):
            above = columns @ numerator
            if term < len(self.denominators):
                below = columns @ self.denominators[term]
                ratio = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
                above = np.clip(ratio, -self.bounds[term], self.bounds[term])
            speed += above
        return (speed + self.fixed)[:, None]


def tables_of_terms(
    terms: Sequence[Term], grid: ModeGrid | MeridianGrid, masses: Float, masked: bool, nodes: int = 0
) -> Tables | None:
    """None where a kernel depends on the measure, or has no harmonics that end. So many `nodes` are tried first."""
    make = _on_circle if isinstance(grid, ModeGrid) else _about_axis
    bounds, above, below, plain, most = bounds_of(terms), [], [], [], 0
    for term in terms:
        found = make(term, grid, max(nodes, _FIRST_NODES))  # type: ignore[arg-type]
        if found is None:
            return None
        waves, count = found
        most = max(most, count)
        if term.head.normalised:
            above.append(waves[0])
            below.append(waves[1])
        else:
            plain.append(waves[0])
    known = np.array([bound for term, bound in zip(terms, bounds, strict=True) if term.head.normalised])
    length = max(map(len, [*above, *below, *plain]))
    if plain:
        above.append(np.sum([_padded(each, length) for each in plain], axis=0))
    degree, numerators, denominators = _columns(grid, length, above, below)
    return Tables(
        degree=degree,
        numerators=numerators,
        denominators=denominators,
        bounds=known,
        bound=sum(bounds),
        masses=masses,
        masked=masked,
        grid=grid,
        complete=not any(term.head.kinked for term in terms),
        fixed=np.zeros(len(grid.points)),
        nodes=most,
    )


def tables_of_convolution(convolution: Convolution, grid: ModeGrid | MeridianGrid) -> Tables:
    """Of a law that multiplies degree by degree."""
    degree = convolution.degree
    if isinstance(grid, ModeGrid):
        order = np.arange(degree + 1)[:, None]
        waves = np.exp(-1j * order * grid.points[:, 0]) * np.where(order == 0, 1.0, 2.0)
        slopes = -1j * order * waves
    else:
        waves, slopes = (each + 0j for each in (grid.functions(grid.cosines, degree), grid.slopes(degree)))
    above, normaliser = [convolution.multipliers[: degree + 1, None].conj() * slopes], convolution.normaliser
    below = [] if normaliser is None else [normaliser[: degree + 1, None] * waves]
    known, numerators, denominators = _columns(grid, degree + 1, above, below)
    return Tables(
        degree=known,
        numerators=numerators,
        denominators=denominators,
        bounds=np.full(len(below), convolution.bound),
        bound=convolution.bound,
        masses=np.ones(1),
        masked=False,
        grid=grid,
        complete=True,
        fixed=pull_of_uniform(convolution, grid)[0],
        nodes=0,
    )


def _columns(
    grid: ModeGrid | MeridianGrid, length: int, above: list[Complex], below: list[Complex]
) -> tuple[int, Float, Float]:
    """The degree of the columns, and those of numerators and denominators."""
    length += -length % 4  # compiled loops take four columns of one parity together

    def columns(waves: list[Complex]) -> Float:
        if not waves:
            return np.zeros((0, 2 * length if isinstance(grid, ModeGrid) else length, len(grid.points)))
        full = [_padded(each, length) for each in waves]
        if isinstance(grid, ModeGrid):
            return np.stack([grid.columns(each.real, each.imag) for each in full])
        return np.ascontiguousarray(np.stack(full).real)

    return length - 1, columns(above), columns(below)


def waves_of(numerator: Float, fixed: Float) -> tuple[Float, Float]:
    """The modes of the velocity instead of its values on the circle: `(columns, 2 (J + 1))` of a table, and those of
    what is fixed; nothing where they do not end."""
    count = fixed.size // 2
    both = np.fft.rfft(np.vstack([numerator, fixed]), axis=1)[:, :count] / fixed.size
    sizes = np.abs(both).max(axis=0)
    there = np.flatnonzero(sizes > DECAYED * sizes.max())
    last = int(there.max(initial=0)) + 1
    if last > count - count // 4:
        return np.zeros((0, 0)), np.zeros(0)
    parts = np.ascontiguousarray(np.concatenate([both.real[:, :last], both.imag[:, :last]], axis=1))
    return parts[:-1], parts[-1]


def _padded(waves: Complex, length: int) -> Complex:
    return np.pad(waves[:length], ((0, max(0, length - len(waves))), (0, 0)))


def _shortened(waves: Waves, peaks: Float | float = 1.0) -> Waves | None:
    """Without harmonics that are negligible, beside the `peaks` of the functions, which roundings grow with; None where
    the last that are known are not."""
    sizes = [np.abs(each).max(axis=1) / max(float(np.abs(each).max()), np.finfo(float).tiny) for each in waves]
    largest = np.maximum(*sizes) / peaks
    if largest[-max(1, len(largest) // 4) :].max() > DECAYED:
        return None
    last = int(np.flatnonzero(largest > DECAYED).max(initial=0))
    return waves[0][: last + 1], waves[1][: last + 1]


def _directed(term: Term, grid: ModeGrid | MeridianGrid) -> Float:
    """`V^T t` at every point, t the unit tangent: the component of `V y` is its product with y."""
    return grid.frame[0] @ term.value


# -- on the circle
# ---------------------------------------------------------------------------------------------------------


def _on_circle(term: Term, grid: ModeGrid, first: int) -> tuple[Waves, int] | None:
    """At the points of half a circle, and by symmetry at their antipodes."""
    half = slice(grid.length // 2)
    found = _between_kinks(term, grid, half) if term.head.kinked else _between_nodes(term, grid, half, first)
    if found is None:
        return None
    (above, below), count = found
    signs = 1.0 - 2.0 * (np.arange(len(above)) % 2)[:, None]
    return (np.hstack([above, signs * above]), np.hstack([below, signs * below])), count


def _between_nodes(term: Term, grid: ModeGrid, half: slice, count: int) -> tuple[Waves, int] | None:
    queries, directed, count = grid.vectors[half], _directed(term, grid)[half], max(count, _CIRCLE_NODES)
    while count <= _LAST_NODES:
        theta = 2 * np.pi / count * np.arange(count)
        keys = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
        few = [slice(None, None, _TRIED_SHARE)] if count * len(queries) > _UNTRIED_PAIRS_MAX else []
        for rows in (*few, slice(None)):  # few points tell that nodes do not do
            kernel = kernel_between(term, queries[rows], keys)
            if kernel is None:
                return None
            found = _shortened((_doubled(kernel * (directed[rows] @ keys.T)), _doubled(kernel)))
            if found is None:
                break
        if found is not None:
            return found, count
        count *= 2
    return None


def _doubled(rows: Float) -> Complex:
    """`(1, 2, 2, ..)` times the mean of `f e^{-ik theta}`, below half of the nodes."""
    count = rows.shape[1]
    waves = np.ascontiguousarray(np.fft.rfft(rows, axis=1)[:, : count // 2].T) / count
    waves[1:] *= 2
    return waves


def _between_kinks(term: Term, grid: ModeGrid, half: slice) -> tuple[Waves, int] | None:
    """By Gauss rules on the two half circles between which `<Ax, y>` changes its sign, for all modes of the grid."""
    tilts, directed = grid.vectors[half] @ term.head.query_matrix(2).T, _directed(term, grid)[half]
    x, weights = gauss_legendre(grid.degree + _KINK_NODES)
    turn, share = np.concatenate([0.5 * np.pi * x, 0.5 * np.pi * x + np.pi]), np.concatenate([weights, weights]) / 2
    middle = np.arctan2(tilts[:, 1], tilts[:, 0])
    above, below = np.empty((middle.size, turn.size)), np.empty((middle.size, turn.size))
    for row, angle in enumerate(middle):
        keys = np.stack([np.cos(angle + turn), np.sin(angle + turn)], axis=-1)
        kernel = kernel_between(term, grid.vectors[row : row + 1], keys)
        if kernel is None:
            return None
        below[row] = share * kernel[0]
        above[row] = below[row] * (keys @ directed[row])
    order = np.arange(grid.degree + 1)
    waves = np.exp(-1j * np.outer(turn, order))
    turned = np.exp(-1j * np.outer(middle, order)) * np.where(order == 0, 1.0, 2.0)
    found = np.asarray(((above @ waves) * turned).T), np.asarray(((below @ waves) * turned).T)
    return found, _FIRST_NODES


# -- about an axis
# ---------------------------------------------------------------------------------------------------------


def _about_axis(term: Term, grid: MeridianGrid, count: int) -> tuple[Waves, int] | None:
    """By Gauss colatitudes and whole rings."""
    while count <= _LAST_RINGS:
        cosines, weights = gauss_on_sphere(count, grid.axis.size)
        rings, share = grid.around(cosines, count)
        keys, directed = rings.reshape(-1, grid.axis.size), _directed(term, grid)
        functions = grid.functions(cosines, count - 1) * weights
        above, below = np.empty((grid.cosines.size, count)), np.empty((grid.cosines.size, count))
        for start in range(0, grid.cosines.size, _POINTS_AT_A_TIME):
            here = slice(start, start + _POINTS_AT_A_TIME)
            kernel = kernel_between(term, grid.vectors[here], keys)
            if kernel is None:
                return None
            for out, rows in ((above, kernel * (directed[here] @ keys.T)), (below, kernel)):
                out[here] = rows.reshape(-1, count, count) @ share
        waves: Waves = np.asarray(functions @ above.T + 0j), np.asarray(functions @ below.T + 0j)
        found = _shortened(waves, np.sqrt(Harmonics(grid.axis.size).multiplicities(count - 1)))
        if found is not None:
            return found, count
        count *= 2
    return None
