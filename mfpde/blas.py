"""The matrix products and decompositions of NumPy and SciPy, and their threads."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["blas_in_one_thread"]


def blas_in_one_thread() -> AbstractContextManager[object]:
    """For work whose bits must not depend on the number of threads, or that is done in several processes at once."""
    return _libraries_of(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _libraries_of(_modules: int) -> ThreadpoolController:
    """Those that are loaded while there are so many modules, which bring them: it takes milliseconds to find them."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
