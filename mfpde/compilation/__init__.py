"""How kernels are compiled, and kept, keyed on what they depend on.

A cached function of numba's does not notice that a function it calls in another file changed, or a named constant, or
the fields of a tuple it takes; two processes that compile at once may exchange their code; a damaged file is executed,
and where no folder can be written nothing works. So kernels are kept by a cache of our own (`cache`), in files that are
named after all that their code depends on (`sources`), where there is room (`folders`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from mfpde.compilation.cache import watched
from mfpde.compilation.folders import cache_folder, kept

__all__ = ["allocating_kernel", "cache_folder", "kept", "kernel", "quick", "watched"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars that allocates nothing. Every operation is the one that is written: sums
    are not reordered and products not fused with sums (`mfpde.transform.fused` is for where that pays), since what the
    compiler would make of that freedom depends on what it sees together. Without reference counts, which count every
    slice taken, the loop of the circle is 1.7 times faster.
    """
    return _compiled(function, counted=False)


def allocating_kernel(function: Function) -> Function:
    """The same for a function that makes room for itself, once per call: with reference counts."""
    return _compiled(function, counted=True)


def quick(function: Function) -> Function:
    """A kernel whose arguments have the same types in every call, and all arrays are contiguous: nobody looks at these
    again. To look at the types of sixty arrays in tuples takes 12 microseconds, as long as a stage on twenty cells."""
    import numba

    if vars(numba.config)["DISABLE_JIT"]:
        return function
    from mfpde.compilation.dispatchers import QuickCall

    called: Any = QuickCall(cast("Any", function))
    return cast("Function", called)


def _compiled(function: Function, *, counted: bool) -> Function:
    import numba

    if vars(numba.config)["DISABLE_JIT"]:
        return function
    from mfpde.compilation.dispatchers import KernelDispatcher

    options = {"nopython": True, "error_model": "numpy", "nogil": True, "_nrt": counted, "no_cfunc_wrapper": True}
    dispatcher: Any = KernelDispatcher(function, options)
    return dispatcher
