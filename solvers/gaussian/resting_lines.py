"""Lines on which a Gaussian of the plane can come to rest, and the family of covariances it comes to rest with."""

from __future__ import annotations

import numpy as np

from mfpde.measure.principal import principal
from mfpde.solvers.gaussian.frame import Frame
from mfpde.solvers.gaussian.moments import Moments
from mfpde.typing import Float

__all__ = ["family", "resting_lines"]

_ANGLE_SAMPLES = 720  # over half a turn
_SPEED_AT_REST = 1e-9  # of the largest speed of any line
_DIFFERENCE_STEP = 1e-7  # of the variance
_EIGENVALUE_FLOOR = 1e-5  # of the largest: smaller rates are rounding


def resting_lines(moments: Moments, time: float, frame: Frame) -> tuple[Float, ...]:
    """Unit vectors along the line on which `frame` lies and along the other ones that attract.

    A Gaussian on the line of u, `S = s u u^T`, moves by `u' = B u`. Under one softmax or l2 head this is `<A u, u> V u`
    times a positive number: where V is invertible the lines that rest are those with `<A u, u> = 0`, two if the
    symmetric part of A is indefinite on the plane, and either attracts or repels. In more dimensions they are a cone.
    """
    axes, widths, _ = principal(frame.root)
    here, variance = axes[:, 0], float(widths[0]) ** 2
    plane = moments.plane()
    if plane is None:
        return (_upwards(here),)
    field = _Lines(moments, time, frame.place, plane, variance)
    others = [line for line in field.attracting() if abs(line @ here) < 1 - 1e-4]
    return tuple(_upwards(line) for line in (here, *others))


def family(moments: Moments, time: float, frame: Frame) -> int:
    """The number of parameters of the steady covariances near this one: neutral directions of the linearisation."""
    slope = _slope(moments, time, frame.place, frame.root)
    return int(np.sum(np.abs(np.linalg.eigvals(slope)) * time < 1))


def _upwards(line: Float) -> Float:
    """Of the two unit vectors along a line, the one whose largest component is positive."""
    turned: Float = line * np.sign(line[np.abs(line).argmax()])
    return turned + 0.0


class _Lines:
    """The motion of Gaussians `s u u^T` on the lines of a plane."""

    def __init__(self, moments: Moments, time: float, mean: Float, plane: Float, variance: float) -> None:
        self._moments, self._time, self._mean, self._plane, self._variance = moments, time, mean, plane, variance

    def _along(self, angle: float) -> Float:
        return self._plane @ np.array([np.cos(angle), np.sin(angle)])

    def _speed(self, angle: float) -> Float:
        """`B u`."""
        line = self._along(angle)
        return self._moments.drift_of(self._time, self._mean, self._variance * np.outer(line, line)).B @ line

    def _turning(self, angle: float) -> float:
        return float(self._along(angle + 0.5 * np.pi) @ self._speed(angle))

    def attracting(self) -> list[Float]:
        """Directions at which the turning rate changes sign from positive to negative, and the speed vanishes."""
        from scipy.optimize import brentq

        angles = np.linspace(0, np.pi, _ANGLE_SAMPLES + 1) + 1e-3  # symmetric matrices have zeros at round angles
        turning = [self._turning(angle) for angle in angles]
        largest = max(float(np.linalg.norm(self._speed(angle))) for angle in angles)
        found = []
        for k in range(_ANGLE_SAMPLES):
            if turning[k] > 0 >= turning[k + 1]:
                angle = float(brentq(self._turning, angles[k], angles[k + 1], xtol=1e-15))
                if np.linalg.norm(self._speed(angle)) < _SPEED_AT_REST * largest and self._attracts(angle):
                    found.append(self._along(angle))
        return found

    def _attracts(self, angle: float) -> bool:
        """Whether covariances near this one, of rank two, are drawn to such as it."""
        root = np.sqrt(self._variance) * np.stack([self._along(angle), self._along(angle + 0.5 * np.pi)], axis=1)
        slope = _slope(self._moments, self._time, self._mean, root, lies=1)
        rates = np.sort(np.linalg.eigvals(slope).real)
        return bool(
            rates[1] < -_EIGENVALUE_FLOOR * np.abs(rates).max() and rates[2] < _EIGENVALUE_FLOOR * np.abs(rates).max()
        )


def _slope(moments: Moments, time: float, mean: Float, root: Float, lies: int = 2) -> Float:
    """The derivative of S' at `root root^T` (of the first columns that `lies` says), in the coordinates x, y, z of
    `root [[x, y], [y, z]] root^T`."""
    back = np.linalg.pinv(root)
    place = np.diag(np.arange(2) < lies).astype(float)
    directions = [np.array(each, dtype=float) for each in ([[1, 0], [0, 0]], [[1, 1], [1, 1]], [[0, 0], [0, 1]])]

    def change(form: Float) -> Float:
        covariance = root @ form @ root.T
        moved = moments.drift_of(time, mean, covariance).B @ covariance
        inside = back @ (moved + moved.T) @ back.T
        return np.array([inside[0, 0], inside[0, 1], inside[1, 1]])

    here = change(place)
    first, both, second = ((change(place + _DIFFERENCE_STEP * each) - here) / _DIFFERENCE_STEP for each in directions)
    return np.stack([first, both - first - second, second], axis=1)
