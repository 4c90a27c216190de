"""Functions in the intermediate language of LLVM, in as few instructions as they need.

numba writes every variable to the stack, takes a tuple of arrays apart and puts it together again at each use, and
copies an array's description for each element; LLVM finds out that none of it is needed. Most of the time of a first
solve went into writing, reading and removing that. Here variables that are assigned once are values, what is taken out
of a tuple is what was put in, and elements are addressed directly: half of the instructions, and the same machine code.
"""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="attr-defined, misc, no-untyped-call, no-untyped-def"

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions
from numba.core import cgutils, compiler, lowering, typed_passes, types, untyped_passes
from numba.core import ir as numba_ir
from numba.core.compiler_machinery import PassManager, register_pass
from numba.np.arrayobj import fix_integer_index, load_item, store_item

__all__ = ["KernelCompiler"]

#: without effects: removed where nobody uses their result
_PURE = (
    instructions.InsertValue,
    instructions.ExtractValue,
    instructions.LoadInstr,
    instructions.GEPInstr,
    instructions.CastInstr,
    instructions.CompareInstr,
    instructions.SelectInstr,
)


class _Builder(ir.IRBuilder):
    """Writes no instruction whose result is known."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        wanted = list(idx) if isinstance(idx, tuple | list) else [idx]
        while wanted and isinstance(agg, instructions.InsertValue):
            given, size = list(agg.indices), min(len(wanted), len(agg.indices))
            if given[:size] != wanted[:size]:
                agg = agg.aggregate
            elif len(given) <= len(wanted):
                agg, wanted = agg.value, wanted[size:]
            else:
                break
        return super().extract_value(agg, wanted, name) if wanted else agg

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        if _is_constant(lhs, 1):
            return rhs
        return lhs if _is_constant(rhs, 1) else super().mul(lhs, rhs, name, flags)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        if _is_constant(lhs, 0):
            return rhs
        return lhs if _is_constant(rhs, 0) else super().add(lhs, rhs, name, flags)


def _is_constant(value: Any, number: int) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType) and value.constant == number


class _Lower(lowering.Lower):
    """numba's, for functions that count no references."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = _Builder(self.entry_block)

    def _find_singly_assigned_variable(self) -> None:
        """Also of those that other blocks use: numba has made the one definition dominate all uses."""
        assigned = Counter(
            inst.target.name for block in self.blocks.values() for inst in block.find_insts(numba_ir.Assign)
        )
        self._singly_assigned_vars = {name for name, times in assigned.items() if times == 1}
        self._blk_local_varmap = {}

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        place = self._place(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind, array, pointer, used = place
        if used == kind.ndim:
            found = load_item(self.context, self.builder, kind, pointer)
        else:
            found = self._view(kind, array, pointer, signature.return_type)
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        place = self._place(target_var, index_var)
        if place is None or place[3] < place[0].ndim:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind, _, pointer, _ = place
        value = self.context.cast(
            self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), kind.dtype
        )
        return store_item(self.context, self.builder, kind, value, pointer)

    def _place(self, array_var: Any, index_var: Any) -> tuple[Any, Any, Any, int] | None:
        """Type and value of an array, the address of what integers index, and their number; None for other indices."""
        kind, index_kind = self.typeof(array_var.name), self.typeof(index_var.name)
        index_kinds = list(index_kind) if isinstance(index_kind, types.BaseTuple) else [index_kind]
        if not isinstance(kind, types.Array) or not all(isinstance(one, types.Integer) for one in index_kinds):
            return None
        array, index = self.loadvar(array_var.name), self.loadvar(index_var.name)
        several = isinstance(index_kind, types.BaseTuple)
        given = [self.builder.extract_value(index, k) for k in range(len(index_kinds))] if several else [index]
        shape, strides = self._parts(kind, array, "shape"), self._parts(kind, array, "strides")
        indices = [
            one if isinstance(one, ir.Constant) and one.constant >= 0 else
            fix_integer_index(self.context, self.builder, of, one, size)
            for of, one, size in zip(index_kinds, given, shape, strict=False)
        ]  # fmt: skip
        data = self._field(kind, array, "data")
        pointer = cgutils.get_item_pointer2(self.context, self.builder, data, shape, strides, kind.layout, indices)
        return kind, array, pointer, len(indices)

    def _field(self, kind: Any, array: Any, name: str) -> Any:
        position = self.context.data_model_manager[kind].get_field_position(name)
        return self.builder.extract_value(array, position)

    def _parts(self, kind: Any, array: Any, name: str) -> list[Any]:
        return cgutils.unpack_tuple(self.builder, self._field(kind, array, name), kind.ndim)

    def _view(self, kind: Any, array: Any, pointer: Any, found: Any) -> Any:
        """The array of type `found` that remains of `array` behind the first indices."""
        builder, intp, model = self.builder, self.context.get_value_type(types.intp), self.context.data_model_manager[found]
        first = kind.ndim - found.ndim
        shape, strides = self._parts(kind, array, "shape")[first:], self._parts(kind, array, "strides")[first:]
        count = intp(1)
        for size in shape:
            count = builder.mul(count, size, flags=["nsw"])
        fields = {name: self._field(kind, array, name) for name in ("meminfo", "parent", "itemsize")}
        fields |= {"nitems": count, "data": pointer}
        fields |= {"shape": cgutils.pack_array(builder, shape, intp), "strides": cgutils.pack_array(builder, strides, intp)}
        view = ir.Constant(model.get_value_type(), ir.Undefined)
        for name, value in fields.items():
            view = builder.insert_value(view, value, model.get_field_position(name))
        return view

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        _sweep(self.function)

    def lower(self) -> None:
        super().lower()
        for block in self.function.blocks:  # they know the block: free them without a collection of cycles
            block.instructions.clear()


def _sweep(function: Any) -> None:
    """Remove instructions without effects that nobody uses the result of."""
    ahead = [one for block in function.blocks for one in block.instructions if not isinstance(one, _PURE)]
    used = set(map(id, ahead))
    while ahead:
        one = ahead.pop()
        operands = [value for value, _ in one.incomings] if isinstance(one, instructions.PhiInstr) else one.operands
        for operand in operands:
            if isinstance(operand, _PURE) and id(operand) not in used:
                used.add(id(operand))
                ahead.append(operand)
    for block in function.blocks:
        block.instructions = [one for one in block.instructions if id(one) in used]


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):
    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower


class KernelCompiler(compiler.CompilerBase):
    """numba's passes as far as kernels need them: without closures, array expressions and branches on types."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("kernel")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            _KernelLowering,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]
