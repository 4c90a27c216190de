"""What numba does again and again while it translates a function, done once: the code that it makes stays the same."""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="attr-defined, misc, no-untyped-call"

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import compiler, types

__all__ = ["QuickFlags", "collection_paused", "remember_signatures", "remember_sizes"]


class QuickFlags(compiler.Flags):
    """Flags that are hashed and compared some ten thousand times, as part of the keys of numba's own tables."""

    _HASH = hash(compiler.Flags())  # numba's: of the names alone, the same for all flags

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        alike = isinstance(other, QuickFlags) and self._values == other._values
        return alike or super().__eq__(other)


def remember_sizes(context: Any) -> None:
    """Of LLVM types: numba asks for that of every variable and has a module parsed each time, an eighth of all."""
    if "get_abi_sizeof" in vars(context):
        return
    sizes, plain = dict[str, int](), context.get_abi_sizeof

    def get_abi_sizeof(llvm_type: Any) -> int:
        text = str(llvm_type)
        if text not in sizes:
            sizes[text] = plain(llvm_type)
        return sizes[text]

    context.get_abi_sizeof = get_abi_sizeof


def remember_signatures(context: Any) -> None:
    """Of built-in functions for types: numba tries all ways to read `a * b` at each place where it is written, an
    eighth of the time. Functions that numba compiles for their types are left to it."""
    if "resolve_function_type" in vars(context):
        return
    signatures, plain = dict[Any, Any](), context.resolve_function_type

    def resolve_function_type(function: Any, arguments: Any, names: Any) -> Any:
        built_in = function if isinstance(function, types.Type) else context._lookup_global(function)
        if names or not isinstance(built_in, types.Function):
            return plain(function, arguments, names)
        found = signatures.get((built_in, arguments))
        if found is None:
            found = plain(built_in, arguments, names)
            if found is not None and built_in.get_impl_key(found) is built_in.typing_key:
                signatures[built_in, arguments] = found
        return found

    context.resolve_function_type = resolve_function_type


@contextmanager
def collection_paused() -> Iterator[None]:
    """numba makes millions of objects that live until the function is translated: collections would find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
