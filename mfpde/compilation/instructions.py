"""Instructions of LLVM's language, as few as functions need: none whose result is known, none that nobody uses."""

# mypy: disable-error-code="attr-defined, misc, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions

__all__ = ["Builder", "is_constant", "sweep"]

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


class Builder(ir.IRBuilder):
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
        if is_constant(lhs, 1):
            return rhs
        return lhs if is_constant(rhs, 1) else super().mul(lhs, rhs, name, flags)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        if is_constant(lhs, 0):
            return rhs
        return lhs if is_constant(rhs, 0) else super().add(lhs, rhs, name, flags)


def is_constant(value: Any, number: int) -> bool:
    """Whether a value is a certain integer."""
    return isinstance(value.type, ir.IntType) and getattr(value, "constant", None) == number


def sweep(function: Any) -> None:
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
