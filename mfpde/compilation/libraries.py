"""Code of kernels, and of what they call, in the language of LLVM."""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="attr-defined, misc, no-untyped-call"

from __future__ import annotations

from typing import Any

from numba.core import codegen

__all__ = ["CalleeLibrary", "KernelLibrary"]

_WRAPPER = "_ZN7cpython"  # how names of functions begin that take arguments out of Python's objects


class KernelLibrary(codegen.JITCodeLibrary):
    """Code that machine code is made of."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """numba's own does it of what is only declared, too, which are most."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                if function.name.startswith(_WRAPPER):
                    function.add_function_attribute("optsize")
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


class CalleeLibrary(KernelLibrary):
    """Code with all that it calls, to be linked into other code and optimised there."""

    def finalize(self) -> None:
        """Link what is called."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if any(one.name.startswith(codegen.RuntimeLinker.PREFIX) for one in self._final_module.global_variables):
            raise NotImplementedError(f"{self.name} calls itself with other types: write the loop")
        self._finalize_dynamic_globals()
        self._finalized = True

    def as_bitcode(self) -> bytes:
        """What `read` reads."""
        return self._final_module.as_bitcode()

    def read(self, bitcode: bytes) -> None:
        """Become the library that `bitcode` was made of."""
        self._final_module = codegen.ll.parse_bitcode(bitcode)
        self._finalized = True
