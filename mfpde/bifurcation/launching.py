"""The first point of a branch beside a point where several meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.bifurcation.continuation import Point, Tracer
from mfpde.bifurcation.crossings import Crossing, block_at
from mfpde.bifurcation.states import Family, System, newton
from mfpde.typing import AnyArray, Float

__all__ = ["Launch", "beside_uniform", "from_branch_point", "several_from_uniform"]

_DISTANCE = 0.005  # of the first point, as a moment
_SMALLEST_DISTANCE = 1e-5  # to which it is halved before the search is given up
_DIRECTIONS = 24  # in which branches are looked for where two modes meet
_SAME_MOMENTS = 1e-6  # difference below which two starts are one


@dataclass(frozen=True, eq=False)
class Launch:
    """The system of a branch's symmetry, where it is born, and its first point beside."""

    tracer: Tracer
    stride: int
    born: Float
    first: Point


def stride_of(dimension: int, degree: int) -> int:
    """The symmetry of the states that a degree makes: rotations by 2 pi / k on the circle, x -> -x on spheres."""
    return degree if dimension == 2 else 2 - degree % 2


def tracer_of(family: Family, stride: int, u: float, size: int = 0) -> Tracer:
    """For states whose moments vanish except at multiples of the stride."""
    return Tracer(System(family, range(stride, family.top + 1, stride), size), family.model(u).kappa)


def beside_uniform(family: Family, degree: int, u: float, sign: float) -> Launch | None:
    """On the branch of a degree that leaves the uniform state at u."""
    stride = stride_of(family.dimension, degree)
    tracer = tracer_of(family, stride, u)
    born = np.append(np.zeros(tracer.system.active.size), u)
    along = np.zeros(born.size)
    place = int(np.flatnonzero(tracer.system.active == degree)[0])
    along[place] = sign * tracer.system.scale[place]
    return _launched(tracer, stride, born, along)


def _launched(tracer: Tracer, stride: int, born: Float, along: Float) -> Launch | None:
    """Along a null direction, at a distance that is halved until there is a solution."""
    along = along / tracer.length(along)
    distance = _DISTANCE
    while distance > _SMALLEST_DISTANCE:
        target = float(tracer.metric @ (along * born)) + distance
        found = tracer.onto(born + distance * along, along, target)
        # the parameter is as far away as the branch is steep, where it leaves at an angle: in a narrow range far
        if found is not None and tracer.length(np.append((found.x - born)[:-1], 0.0)) < 2 * distance:
            point = tracer.begin(found.x, along, distance)
            if point is not None and 0.0 <= point.u <= 1.0:
                return Launch(tracer, stride, born, point)
        distance *= 0.5
    return None


def from_branch_point(tracer: Tracer, stride: int, crossing: Crossing) -> list[Launch]:
    """The branches of lower symmetry that meet a branch of that stride: none where states would lose their axis."""
    dimension = tracer.system.family.dimension
    order, residue = crossing.symmetry
    edge = dimension == 2 and order == 1 and 2 * residue == stride
    if (order == 1 and not edge) or order > 1 or residue == 0:
        return []
    divisor = int(np.gcd(stride, residue))
    wide = tracer_of(tracer.system.family, divisor, crossing.point.u, tracer.system.size)
    null = _null_vector(tracer, stride, crossing, wide)
    if null is None:
        return []
    born = np.zeros(wide.system.active.size + 1)
    born[np.searchsorted(wide.system.active, tracer.system.active)] = crossing.point.x[:-1]
    born[-1] = crossing.point.u
    parts = stride // divisor
    turned = np.append(_turned(wide.system.active, stride), 1.0)
    # the side opposite to a null direction is a rotation of the same side, unless the number of parts is odd
    starts = [(born, null)] if parts % 2 == 0 else [(born, null), (born, -null)]
    if edge:  # odd about this axis is even about the axis between two clusters
        starts = [(born * turned, null)]
    elif parts % 2 == 0 and parts > 2:
        starts.append((born * turned, null))
    found = [_launched(wide, divisor, where, along) for where, along in starts]
    return [launch for launch in found if launch is not None]


def _turned(active: AnyArray, stride: int) -> Float:
    """What a rotation by `pi / stride` does to the moments of a state of that symmetry; +1 for the other degrees."""
    return np.where(active % stride == 0, (-1.0) ** (active // stride), 1.0)


def _null_vector(tracer: Tracer, stride: int, crossing: Crossing, wide: Tracer) -> Float | None:
    block = block_at(tracer.system.state(crossing.point.x), stride, crossing.symmetry)
    if block is None:
        return None
    values, vectors = np.linalg.eigh(block.matrix)
    vector = vectors[:, int(np.argmin(np.abs(values)))]
    relative = tracer.system.family.model(crossing.point.u).multipliers.relative[block.degrees]
    moments = np.sign(relative) * vector / np.sqrt(np.abs(relative))
    if block.order == 1:
        # sin(j theta), j an odd multiple of stride / 2, turned by pi / stride
        moments = moments * (-1.0) ** ((block.degrees // block.residue - 1) // 2)
    null = np.zeros(wide.system.active.size + 1)
    null[np.searchsorted(wide.system.active, block.degrees)] = moments
    # degrees that are hardly felt are known to no digit; Newton finds them
    felt = np.append(np.abs(wide.system.family.model(crossing.point.u).multipliers.relative), 1.0)
    null[:-1][felt[wide.system.active] < 1e-12] = 0.0
    return null


def several_from_uniform(family: Family, degrees: list[int], u: float) -> list[Launch]:
    """Branches that mix degrees whose critical parameters coincide: solutions on a small circle of their moments."""
    stride = int(np.gcd.reduce([stride_of(family.dimension, degree) for degree in degrees]))
    tracer = tracer_of(family, stride, u)
    system = tracer.system
    places = np.searchsorted(system.active, degrees[:2])
    found: list[Launch] = []
    for angle in 2 * np.pi * (np.arange(_DIRECTIONS) + 0.25) / _DIRECTIONS:
        x = np.append(np.zeros(system.active.size), u)
        x[places] = _DISTANCE * system.scale[places] * np.array([np.cos(angle), np.sin(angle)])

        def circle(y: Float) -> tuple[float, Float]:
            gradient = np.zeros(y.size)
            parts = y[places] / system.counts[degrees[:2]]
            gradient[places] = 2 * parts
            return float(parts @ y[places]) - _DISTANCE**2, gradient / _DISTANCE

        def scaled(y: Float) -> tuple[float, Float]:
            value, gradient = circle(y)
            return value / _DISTANCE, gradient

        solved = newton(system, x, scaled, most=30)
        if solved is None or not _is_new(system, solved.x, places, [launch.first.x for launch in found]):
            continue
        along = np.append(solved.x[:-1], 0.0)
        born = np.append(np.zeros(system.active.size), u)
        point = tracer.begin(solved.x, along, _DISTANCE)
        if point is not None:
            found.append(Launch(tracer, stride, born, point))
    return found


def _is_new(system: System, x: Float, places: AnyArray, known: list[Float]) -> bool:
    """Truly mixed, and no rotation by pi of one that is known."""
    if np.abs(x[places]).min() < 1e-3 * np.abs(x[places]).max():
        return False
    images = [np.ones(system.active.size), (-1.0) ** system.active]
    return all(np.abs(image * x[:-1] - other[:-1]).max() > _SAME_MOMENTS for other in known for image in images)
