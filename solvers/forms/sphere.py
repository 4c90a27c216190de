"""Densities on spheres at Gauss colatitudes: on S^2 with longitudes, in other dimensions about an axis."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Axis, Constant, Field, Layout, Sphere
from mfpde.geometry.layout import axis_weights
from mfpde.measure.sphere_grid import ProfileDensity, SphereGridDensity
from mfpde.registry import register
from mfpde.solvers.forms.base import Form, Written
from mfpde.typing import Float

__all__ = ["ProfileForm", "SphereForm", "profile_layout", "sphere_layout"]

_WEIGHT = "quadrature weight: (density * weight).sum() is the mass"


def sphere_layout(count: int) -> Layout:
    """`density (colatitude, longitude)` on S^2, `count` Gauss colatitudes and twice as many longitudes: all harmonics
    of degree below `count`."""
    axes = (
        Axis.of_colatitudes(count, longitude="longitude"),
        Axis.of_angles("longitude", 2 * count, "angle about the pole"),
    )
    names = tuple(axis.name for axis in axes)
    density, weight = Field(names, "probability density", "steradian-1"), Field(names, _WEIGHT, "steradian")
    return Layout(
        "sphere", axes, fields={"density": density}, constants={"weight": Constant(weight, axis_weights(axes))}
    )


def profile_layout(count: int, axis: Float) -> Layout:
    """`density (colatitude)` about an axis in R^d, `axis (component)`."""
    axes = (Axis.of_colatitudes(count, axis.size),)
    constants = {
        "weight": Constant(Field(("colatitude",), _WEIGHT), axis_weights(axes)),
        "axis": Constant(Field(("component",), "axis of the density"), axis),
    }
    density = Field(("colatitude",), "probability density")
    return Layout("profile", axes, {"component": axis.size}, fields={"density": density}, constants=constants)


@register("form", "sphere")
class SphereForm(Form):
    """`density (colatitude, longitude)`, constant `weight`."""

    def measure(self, written: Written) -> SphereGridDensity:
        return SphereGridDensity(np.asarray(written.fields["density"]))


@register("form", "profile")
class ProfileForm(Form):
    """`density (colatitude)`, constants `weight` and `axis`."""

    def measure(self, written: Written) -> ProfileDensity:
        axis = np.asarray(written.constant("axis"))
        return ProfileDensity(np.asarray(written.fields["density"]), axis, Sphere(dimension=axis.size))
