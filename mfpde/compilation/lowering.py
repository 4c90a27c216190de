"""Functions in the intermediate language of LLVM, in as few instructions as they need.

numba writes every variable to the stack, takes a tuple of arrays apart and puts it together again at each use, and
copies an array's description for each element; LLVM finds out that none of it is needed. Most of the time of a first
solve went into writing, reading and removing that. Here variables that are assigned once are values, what is taken out
of a tuple is what was put in, and elements are addressed directly: a fifth of the instructions, the same machine code.
"""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="attr-defined, misc, no-untyped-call, no-untyped-def"

from __future__ import annotations

from collections import Counter
from typing import Any

from llvmlite import ir
from numba.core import cgutils, compiler, lowering, typed_passes, types, untyped_passes
from numba.core import ir as numba_ir
from numba.core.compiler_machinery import PassManager, register_pass
from numba.cpython.slicing import fix_index
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from mfpde.compilation.instructions import Builder, is_constant, sweep
from mfpde.compilation.libraries import KernelLibrary

__all__ = ["KernelCompiler"]


def _is_plain(index_kind: Any) -> bool:
    return isinstance(index_kind, types.Integer) or (
        isinstance(index_kind, types.SliceType) and not index_kind.has_step
    )


class _Lower(lowering.Lower):
    """numba's, for functions that count no references."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = Builder(self.entry_block)

    def _find_singly_assigned_variable(self) -> None:
        """Also of those that other blocks use: numba has made the one definition dominate all uses."""
        assigned = Counter(
            inst.target.name for block in self.blocks.values() for inst in block.find_insts(numba_ir.Assign)
        )
        self._singly_assigned_vars = {name for name, times in assigned.items() if times == 1}
        self._blk_local_varmap = {}

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        own = {
            "call": self._span,
            "getiter": self._begin_range,
            "iternext": self._next_of_range,
            "pair_first": self._part_of_pair,
            "pair_second": self._part_of_pair,
            "getattr": self._size,
        }
        found = own[expr.op](resty, expr) if expr.op in own else None
        return super().lower_expr(resty, expr) if found is None else found

    def _span(self, resty: Any, expr: Any) -> Any:
        """`range` and `slice` by the ends of what they span."""
        made = getattr(self.typeof(expr.func.name), "typing_key", None)
        spans = made is range and isinstance(resty, types.RangeType)
        cuts = made is slice and isinstance(resty, types.SliceType) and not resty.has_step
        if not (spans or cuts) or len(expr.args) > 2 or expr.kws or expr.vararg:
            return None
        kind = resty.dtype if spans else types.intp
        integer = self.context.get_value_type(kind)
        given = [None if self.typeof(one.name) == types.none else self._cast_var(one, kind) for one in expr.args]
        start, stop = given if len(given) == 2 else (None, *given)
        start = integer(0) if start is None else start
        stop = integer((1 << (integer.width - 1)) - 1) if stop is None else stop
        return self._struct(resty, start=start, stop=stop, step=integer(1))

    def _begin_range(self, resty: Any, expr: Any) -> Any:
        """Of a range with steps of one: where it is, and how many are left."""
        if not isinstance(resty, types.RangeIteratorType):
            return None
        bounds, builder = self.loadvar(expr.value.name), self.builder
        start, stop, step = (builder.extract_value(bounds, k) for k in range(3))
        if not is_constant(step, 1):
            return None
        place, count = (cgutils.alloca_once(builder, start.type) for _ in range(2))
        builder.store(start, place)
        left = builder.sub(stop, start)
        builder.store(builder.select(builder.icmp_signed(">", left, left.type(0)), left, left.type(0)), count)
        return self._struct(resty, iter=place, stop=stop, step=step, count=count)

    def _next_of_range(self, resty: Any, expr: Any) -> Any:
        kind, builder = self.typeof(expr.value.name), self.builder
        state = self.loadvar(expr.value.name)
        if not isinstance(kind, types.RangeIteratorType):
            return None
        place, step, count = (self._field(kind, state, name) for name in ("iter", "step", "count"))
        here, left = builder.load(place), builder.load(count)
        valid = builder.icmp_signed(">", left, left.type(0))
        builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
        builder.store(builder.add(here, step), place)
        return self._struct(resty, first=here, second=valid)

    def _part_of_pair(self, _: Any, expr: Any) -> Any:
        return self._field(self.typeof(expr.value.name), self.loadvar(expr.value.name), expr.op.removeprefix("pair_"))

    def _size(self, _: Any, expr: Any) -> Any:
        kind, names = self.typeof(expr.value.name), {"size": "nitems", "shape": "shape"}
        if not isinstance(kind, types.Array) or expr.attr not in names:
            return None
        return self._field(kind, self.loadvar(expr.value.name), names[expr.attr])

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        place = self._place(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind, pointer, shape, strides = place
        if shape:
            return self._view(resty, self.loadvar(value.name), kind, pointer, shape, strides)
        found = load_item(self.context, self.builder, kind, pointer)
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        place = self._place(target_var, index_var)
        if place is None or place[2]:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind, pointer, _, _ = place
        return store_item(self.context, self.builder, kind, self._cast_var(value_var, kind.dtype), pointer)

    def _place(self, array_var: Any, index_var: Any) -> tuple[Any, Any, list[Any], list[Any]] | None:
        """Type of an array, the address of what integers and slices index, and what remains of its shape and strides;
        None for other indices."""
        kind, index_kind = self.typeof(array_var.name), self.typeof(index_var.name)
        several = isinstance(index_kind, types.BaseTuple)
        kinds = list(index_kind) if several else [index_kind]
        if not isinstance(kind, types.Array) or not all(map(_is_plain, kinds)):
            return None
        array, index, builder = self.loadvar(array_var.name), self.loadvar(index_var.name), self.builder
        given = [builder.extract_value(index, k) for k in range(len(kinds))] if several else [index]
        sizes, strides = self._parts(kind, array, "shape"), self._parts(kind, array, "strides")
        first, shape, steps = [], [], []
        for of, one, size, stride in zip(kinds, given, sizes, strides, strict=False):
            if isinstance(of, types.SliceType):
                start, stop = (self._clamped(self._field(of, one, name), size) for name in ("start", "stop"))
                length = builder.sub(stop, start)
                shape.append(builder.select(builder.icmp_signed("<=", length, length.type(0)), length.type(0), length))
                steps.append(stride)
                first.append(start)
            elif getattr(one, "constant", -1) >= 0:
                first.append(one)
            else:
                first.append(fix_integer_index(self.context, builder, of, one, size))
        shape, steps = shape + sizes[len(kinds) :], steps + strides[len(kinds) :]
        data = self._field(kind, array, "data")
        pointer = cgutils.get_item_pointer2(self.context, builder, data, sizes, strides, kind.layout, first)
        return kind, pointer, shape, steps

    def _clamped(self, bound: Any, size: Any) -> Any:
        """An end of a slice, within the array."""
        if is_constant(bound, 0):
            return bound
        if is_constant(bound, (1 << (bound.type.width - 1)) - 1):
            return size
        builder, zero = self.builder, bound.type(0)
        fixed = fix_index(builder, bound, size)
        above = builder.select(builder.icmp_signed("<", fixed, zero), zero, fixed)
        return builder.select(builder.icmp_signed(">=", fixed, size), size, above)

    def _view(self, found: Any, array: Any, kind: Any, pointer: Any, shape: list[Any], strides: list[Any]) -> Any:
        """The array of type `found` at an address within another one."""
        builder, intp = self.builder, self.context.get_value_type(types.intp)
        count = intp(1)
        for size in shape:
            count = builder.mul(count, size, flags=["nsw"])
        kept = {name: self._field(kind, array, name) for name in ("meminfo", "parent", "itemsize")}
        sizes, steps = (cgutils.pack_array(builder, numbers, intp) for numbers in (shape, strides))
        return self._struct(found, nitems=count, data=pointer, shape=sizes, strides=steps, **kept)

    def _struct(self, kind: Any, **fields: Any) -> Any:
        model = self.context.data_model_manager[kind]
        made = ir.Constant(model.get_value_type(), ir.Undefined)
        for name, value in fields.items():
            made = self.builder.insert_value(made, value, model.get_field_position(name))
        return made

    def _field(self, kind: Any, struct: Any, name: str) -> Any:
        return self.builder.extract_value(struct, self.context.data_model_manager[kind].get_field_position(name))

    def _parts(self, kind: Any, array: Any, name: str) -> list[Any]:
        return cgutils.unpack_tuple(self.builder, self._field(kind, array, name), kind.ndim)

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        sweep(self.function)

    def lower(self) -> None:
        super().lower()
        for block in self.function.blocks:  # they know the block: free them without a collection of cycles
            block.instructions.clear()


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):
    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> Any:
        if state.library is None:
            state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super().run_pass(state)

    @property
    def lowering_class(self) -> Any:
        return _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _ChooseByNone(untyped_passes.DeadBranchPrune):
    """Branches on which arguments are None: a kernel with several forms of an argument has one translation for each."""

    _name = "kernel_choose_by_none"

    def run_pass(self, state: Any) -> Any:
        return types.none in state.args and super().run_pass(state)

    def get_analysis_usage(self, usage: Any) -> None:
        """None is written as a constant already."""


class KernelCompiler(compiler.CompilerBase):
    """numba's passes as far as kernels need them: without closures, array expressions and branches on other types."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("kernel")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            _ChooseByNone,
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
