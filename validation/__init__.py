"""Full-size checks of what mfpde claims. Imported as `mfpde.validation`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if __name__ != "mfpde.validation":
    raise ImportError(f"this folder is imported as mfpde.validation, not as {__name__}")

if TYPE_CHECKING:
    from mfpde.validation.case import Card, Case
    from mfpde.validation.report import Check, Report
    from mfpde.validation.suite import validate

_WHERE = {"Card": "case", "Case": "case", "Check": "report", "Report": "report", "validate": "suite"}

__all__ = ["Card", "Case", "Check", "Report", "validate"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"mfpde.validation.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'mfpde.validation' has no attribute {name!r}")
