"""How far two measures are apart."""

from mfpde.distance.base import Distance

__all__ = ["Distance"]
