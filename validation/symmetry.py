"""Symmetries of the data that the equation has, too: the solution keeps them."""

from __future__ import annotations

import math

import numpy as np

from mfpde.equation import Equation
from mfpde.measure import Particles
from mfpde.streams import random_stream
from mfpde.typing import Float
from mfpde.validation.case import worst
from mfpde.validation.examined import Examined, tokens_unfit
from mfpde.validation.report import Check
from mfpde.validation.waves import waves_for

__all__ = ["checks"]

_TURNS = (2, 3, 4, 5, 6)  # parts of a full turn that are tried
_MOST_REFLECTED = 8  # coordinates that are tried
_TOKENS, _SEED = 12, 29  # of the cloud on which the equation's symmetry is looked for
_EXACT = 1e-12  # relative: what differs by less is the same but for rounding


def checks(examined: Examined) -> list[Check]:
    """Of each isometry that keeps the initial measure and turns the drift as it turns the tokens."""
    run, equation = examined.run, examined.run.problem.equation
    if equation.normalization is not None or equation.noise.common is not None or tokens_unfit(equation):
        return []
    waves, found = waves_for(equation.geometry, run.measure(0)), []
    means = {index: waves.means(run.measure(index)) for index in examined.looks}
    for words, isometry in _isometries(equation.geometry.ambient_dimension):
        turned = waves.turned(isometry)
        if np.abs(turned.means(run.measure(0)) - means[0]).max() > _EXACT or not _commutes(equation, isometry):
            continue
        apart = worst(np.abs(turned.means(run.measure(index)) - means[index]).max() for index in examined.looks)
        claim = f"the symmetry of the data is kept: {words}"
        source = "an isometry that the equation commutes with"
        tolerance = 2 * examined.promise + _EXACT
        found.append(Check.equal(claim, source, expected=0.0, measured=apart, tolerance=tolerance))
    return found


def _isometries(dimension: int) -> list[tuple[str, Float]]:
    """Reflections at the origin and of single coordinates, and turns of the first two."""
    unit = np.eye(dimension)
    found = [("x -> -x", -unit)]
    if dimension == 1:
        return found
    for axis in range(min(dimension, _MOST_REFLECTED)):
        mirror = unit.copy()
        mirror[axis, axis] = -1.0
        found.append((f"coordinate {axis + 1} reflected", mirror))
    for parts in _TURNS[dimension == 2 :]:  # in the plane half a turn is x -> -x
        turn, angle = unit.copy(), 2 * math.pi / parts
        turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        found.append((f"1/{parts} of a turn of the first two coordinates", turn))
    return found


def _commutes(equation: Equation, isometry: Float) -> bool:
    """Whether `G_{R mu}(R x) = R G_mu(x)` for a cloud of tokens, at the times that matter, and `R D R^T = D`."""
    space, root = equation.geometry, equation.noise.root(equation.geometry.ambient_dimension)
    if root is not None and not _same(isometry @ root @ root.T @ isometry.T, root @ root.T):
        return False
    dimension = space.ambient_dimension
    cloud = random_stream(_TOKENS * dimension, _SEED).standard_normal((_TOKENS, dimension))
    if not space.flat:
        cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    for time in (0.0, *equation.velocity.breaks()):
        velocity = equation.velocity.at(time)
        fields = []
        for tokens in (cloud, cloud @ isometry.T):
            points = space.points(tokens)
            positions = np.arange(_TOKENS) / _TOKENS if equation.initial_measure().positions is not None else None
            measure = Particles(points, geometry=space, positions=positions)
            drift = velocity.drift(measure, points).reshape(_TOKENS, -1)
            fields.append(space.pushed(points, drift))
        if not _same(fields[0] @ isometry.T, fields[1]):
            return False
    return True


def _same(first: Float, second: Float) -> bool:
    return bool(np.abs(first - second).max() <= _EXACT * max(float(np.abs(first).max()), 1.0))
