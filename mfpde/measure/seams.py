"""Where angles end an expression in them need not: jumps along the meridian 0, and at the poles."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measure.expression import Expression
from mfpde.typing import Float

__all__ = ["seam"]

_PERIODIC_TO = 1e-9  # of the largest value: what an expression may differ by after a turn
_ONE_VALUED_TO = 1e-6  # of the largest value: what it may vary by around a pole
_POLE_DISTANCES = np.array([1e-4, 1e-8, 1e-12])  # radian: bounded functions change ever less from one to the next
_LATITUDES, _TURNS = 48, 64  # of places at which values are compared


def seam(expression: Expression, geometry: Geometry) -> str | None:
    """How an expression jumps where the angles of circle or sphere come round, or at a pole, or that it grows there
    without bound; None where it does not, and on flat spaces.

    >>> from mfpde import Circle
    >>> seam(Expression("2 + theta"), Circle())
    'is not periodic: 2 at theta = 0 and 8.28319 at theta = 2 pi'
    """
    used = set(expression.names)
    with np.errstate(all="ignore"):
        if geometry.angular:
            return _at_turn(expression, "theta", np.zeros(1)) if "theta" in used else None
        if not used & {"colatitude", "longitude"} or "colatitude" not in geometry.coordinates(_north(geometry)):
            return None
        colatitudes = np.pi * (np.arange(_LATITUDES) + 0.5) / _LATITUDES
        turned = _at_turn(expression, "longitude", colatitudes) if "longitude" in used else None
        return (
            turned or _at_pole(expression, "0", _POLE_DISTANCES) or _at_pole(expression, "pi", np.pi - _POLE_DISTANCES)
        )


def _north(geometry: Geometry) -> Float:
    return np.eye(1, geometry.ambient_dimension, geometry.ambient_dimension - 1)


def _at(expression: Expression, colatitude: Float, angle: Float) -> Float:
    """Values at angles as they are written, also beyond a turn; of the circle those of the equator."""
    side, height = np.sin(colatitude), np.cos(colatitude)
    known = {"x": side * np.cos(angle), "y": side * np.sin(angle), "z": height}
    return expression({**known, "colatitude": colatitude, "longitude": angle, "theta": angle})


def _at_turn(expression: Expression, name: str, colatitudes: Float) -> str | None:
    equator = np.full(1, 0.5 * np.pi)
    places = equator if name == "theta" else colatitudes
    turns = np.linspace(0, 2 * np.pi, _TURNS)
    around = _at(expression, np.repeat(places, _TURNS), np.tile(turns, places.size)).reshape(places.size, _TURNS)
    ends = around[:, 0], around[:, -1]
    apart = np.nan_to_num(np.abs(ends[0] - ends[1]))
    if apart.max() <= _PERIODIC_TO * float(np.nanmax(np.abs(around))):
        return None
    worst = int(apart.argmax())
    return f"is not periodic: {ends[0][worst]:.6g} at {name} = 0 and {ends[1][worst]:.6g} at {name} = 2 pi"


def _at_pole(expression: Expression, name: str, colatitudes: Float) -> str | None:
    angles = 2 * np.pi * np.arange(_TURNS) / _TURNS
    around = np.array([_at(expression, np.full(_TURNS, colatitude), angles) for colatitude in colatitudes])
    if not np.isfinite(around).all():
        return None  # whoever evaluates it there says so
    far, near, nearest = np.abs(around).max(axis=1)
    if nearest - near > 0.5 * (near - far) > _ONE_VALUED_TO * far:
        return f"grows without bound towards colatitude = {name}: {far:.6g}, {near:.6g}, {nearest:.6g} ever nearer"
    if np.ptp(around[-1]) > _ONE_VALUED_TO * far:
        least, most = around[-1].min(), around[-1].max()
        return f"has no one value at colatitude = {name}: from {least:.6g} to {most:.6g} around it"
    return None
