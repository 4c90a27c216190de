"""Kernels as Python calls them, and as other kernels do.

numba makes machine code, optimised for itself, of every function that a function calls, and then once more of both
together: at depth n the innermost is optimised n times. Here what a kernel calls is translated once and linked into it,
and the kernel is optimised as a whole: the first solve compiles in half the time. numba has no public hook for that,
nor for a cache of one's own.
"""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="assignment, attr-defined, misc, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba.core import compiler, serialize, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from mfpde.compilation.cache import KernelCache, KernelFiles
from mfpde.compilation.libraries import CalleeLibrary
from mfpde.compilation.lowering import KernelCompiler
from mfpde.compilation.shortcuts import QuickFlags, collection_paused, remember_signatures, remember_sizes
from mfpde.compilation.signals import hold_signals

__all__ = ["CalleeDispatcher", "KernelDispatcher", "QuickCall"]

#: beside those of the kernel: what a callee is not asked for
_CALLEE_OPTIONS = {"no_cpython_wrapper": True}


def _pipeline(options: dict[str, Any]) -> Any:
    """Ours is for functions that count no references."""
    return compiler.Compiler if options["_nrt"] else KernelCompiler


class KernelDispatcher(CPUDispatcher):
    """What Python calls. Kernels that mention it call its `CalleeDispatcher`."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_pipeline(options))
        self._cache = KernelCache(function, options)

    @cached_property
    def _callee(self) -> CalleeDispatcher:
        return CalleeDispatcher(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._callee)

    def compile(self, sig: Any) -> Any:
        hold_signals(self.targetctx)
        with collection_paused():
            return super().compile(sig)


class QuickCall:
    """Calls a kernel's machine code for the types of the first call, if all arrays are contiguous there."""

    def __init__(self, dispatcher: KernelDispatcher) -> None:
        self._dispatcher = dispatcher
        self._code: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._code is not None:
            return self._code(*arguments)
        answer, found = self._dispatcher(*arguments), tuple(map(self._dispatcher.typeof_pyval, arguments))
        if _contiguous(found):
            self._code = self._dispatcher.overloads[found].entry_point
        return answer


def _contiguous(kinds: Any) -> bool:
    """Whether all arrays are, also within tuples of these types."""
    return all(_contiguous(kind) if isinstance(kind, types.BaseTuple) else _dense(kind) for kind in kinds)


def _dense(kind: Any) -> bool:
    return not isinstance(kind, types.Array) or kind.layout == "C"


class CalleeDispatcher(CPUDispatcher):
    """What kernels call: code that is linked into theirs, of which nobody makes machine code."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options | _CALLEE_OPTIONS, pipeline_class=_pipeline(options))
        self._files = KernelFiles(function, self.targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Which integers are known is for the optimiser: there is one translation for all."""
        return super().get_call_template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )

    def compile(self, sig: Any) -> Any:
        """numba's key of the code for a signature."""
        arguments, _ = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            if arguments not in self.overloads:
                callee = self._kept(arguments) or self._translated(arguments)
                self.targetctx.insert_user_function(callee.entry_point, callee.fndesc, [callee.library])
                self.overloads[arguments] = callee
            return self.overloads[arguments].entry_point

    def _translated(self, arguments: tuple[Any, ...]) -> Any:
        """By numba, as far as the optimisation of single functions."""
        remember_sizes(self.targetctx)
        remember_signatures(self.typingctx)
        flags = QuickFlags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = True
        library = CalleeLibrary(self.targetctx.codegen(), self.py_func.__qualname__)
        made = compiler.compile_extra(
            self.typingctx,
            self.targetctx,
            self.py_func,
            arguments,
            None,
            flags,
            {},
            library=library,
            pipeline_class=_pipeline(self.targetoptions),
        )
        library.finalize()
        if not (made.lifted or library.has_dynamic_globals):
            made.fndesc.typemap = made.fndesc.calltypes = None  # compiling is over; types need not be picklable
            described = (made.fndesc, made.environment, made.signature)
            self._files.keep(arguments, library.codegen, serialize.dumps((library.as_bitcode(), *described)))
        return made._replace(entry_point=object())

    def _kept(self, arguments: tuple[Any, ...]) -> Any:
        """As `_translated` has left it; None where it has not."""
        target = self.targetctx
        target.refresh()
        found = self._files.find(arguments, target.codegen())
        if found is None:
            return None
        bitcode, description, environment, signature = found
        library = CalleeLibrary(target.codegen(), self.py_func.__qualname__)
        library.read(bitcode)
        return compiler.compile_result(
            library=library,
            fndesc=description,
            environment=environment,
            signature=signature,
            entry_point=object(),
            objectmode=False,
        )
