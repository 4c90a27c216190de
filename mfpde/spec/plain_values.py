"""What a Python program hands over, as the plain values a problem file would hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.errors import Fault, ProblemError
from mfpde.spec.document import MAX_DEPTH
from mfpde.specification import Specification

__all__ = ["native"]


def native(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    """Numpy values and exotic mappings as plain Python; specifications stay what they are.

    >>> native({"A": np.eye(2), "file": Path("a.npy")})
    {'A': [[1.0, 0.0], [0.0, 1.0]], 'file': 'a.npy'}
    """
    if len(path) > MAX_DEPTH:
        raise ProblemError([Fault(path[:6], f"is nested more than {MAX_DEPTH} deep")])
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Specification):
        return value
    if isinstance(value, Mapping):
        return {key: native(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [native(item, (*path, index)) for index, item in enumerate(value)]
    return str(value) if isinstance(value, Path) else value
