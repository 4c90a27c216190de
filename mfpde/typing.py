"""Array aliases used in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "Complex", "Float", "Integers", "Truths"]

Float: TypeAlias = NDArray[np.float64]
Complex: TypeAlias = NDArray[np.complex128]
Integers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
