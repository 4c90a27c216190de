"""Measures that can be written down in a problem file, one kind a file."""

from mfpde.measure.initial.base import Initial, fields_like_properties

__all__ = ["Initial", "fields_like_properties"]
