"""The matrix products and decompositions of NumPy and SciPy, and their threads."""

from __future__ import annotations

from contextlib import AbstractContextManager

__all__ = ["blas_in_one_thread"]


def blas_in_one_thread() -> AbstractContextManager[object]:
    """For work whose bits must not depend on the number of threads, or that is done in several processes at once."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
