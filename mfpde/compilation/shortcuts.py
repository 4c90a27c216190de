"""What numba does again and again while it translates a function, done once: the code that it makes stays the same."""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="attr-defined, misc, no-untyped-call"

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import compiler

__all__ = ["QuickFlags", "collection_paused", "remember_sizes"]


class QuickFlags(compiler.Flags):
    """Flags that are compared some ten thousand times, as part of the keys of numba's own tables."""

    def values(self) -> dict[str, Any]:
        return {name: self._values.get(name, option.default) for name, option in self.options.items()}


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
