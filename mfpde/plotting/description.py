"""A run in one line, in the words of its problem file."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from mfpde.coefficients import Schedule
from mfpde.prepare import chosen_solver
from mfpde.specification import Specification

if TYPE_CHECKING:
    from mfpde.equation import Noise
    from mfpde.problem import Problem

__all__ = ["describe"]

_BLOCKS = ("attention", "interaction", "drift", "normalization")

#: of a list of numbers, of a nested value
_MAX_LIST_LETTERS, _MAX_NESTED_LETTERS = 48, 160


def describe(problem: Problem, swept: Collection[str] = ()) -> str:
    """`attention: unnormalized, beta 0; noise: kappa 4; solver: spectral`, without the keys that are swept."""
    parts = []
    for block in _BLOCKS:
        part = getattr(problem, block)
        if part is not None and block not in swept:
            parts.append(f"{block}: {_block(part, _settings_of(block, swept))}")
    if problem.bifurcation is not None and problem.of_states:
        low, high = problem.bifurcation.range
        parts.append(f"stationary states for {problem.bifurcation.parameter} from {low:g} to {high:g}")
    if not problem.of_states or problem.noise.kappa != math.inf:
        parts += _noise(problem.noise, _settings_of("noise", swept))
    if problem.solver is not None and not {"solver", "solver.kind"}.intersection(swept):
        parts.append(f"solver: {getattr(problem.solver, 'kind', type(problem.solver).__name__)}")
    elif problem.solver is None and problem.initial is not None and not problem.of_states and not swept:
        parts.append(f"solver: {chosen_solver(problem).kind}")
    return "; ".join(parts)


def _settings_of(block: str, keys: Collection[str]) -> set[str]:
    """What the keys `block.setting` name."""
    return {key.split(".")[1] for key in keys if key.startswith(f"{block}.")}


def _noise(noise: Noise, swept: Collection[str]) -> list[str]:
    names = [*(["kappa"] if noise.kappa != math.inf else []), *sorted(noise.peculiar, reverse=True)]
    parts = [f"{name} {_value(getattr(noise, name))}" for name in names if name not in swept]
    if not parts:
        return [] if swept else ["no noise"]
    return [f"noise: {', '.join(parts)}"]


def _block(part: Specification, swept: Collection[str] = ()) -> str:
    """The kind, every setting that is not the default, and V, on which the sign of all that happens depends."""
    fields = type(part).model_fields
    named = {name: getattr(part, name) for name in fields if name != "kind" and name not in swept}
    settings = {name: value for name, value in named.items() if _tells(part, name, value, fields[name].default)}
    kind = [str(part.kind)] if hasattr(part, "kind") else []
    return ", ".join([*kind, *(f"{name} {_value(value)}" for name, value in settings.items())])


def _tells(part: Specification, name: str, value: Any, default: Any) -> bool:
    if name == "V" and getattr(part, "beta", None) is None:
        return True
    return bool(value is not None and value != default)


def _value(value: Any) -> str:
    longest = _MAX_LIST_LETTERS
    if isinstance(value, Schedule):
        first, last = (_value(value.entries[place]) for place in (0, -1))
        return f"{first} to {last} (t = {value.times[0]:g} to {value.times[-1]:g})"
    if isinstance(value, Specification):
        text, longest = f"({_block(value)})", _MAX_NESTED_LETTERS
    elif isinstance(value, list | tuple):
        nested = any(isinstance(item, Specification) for item in value)
        longest = _MAX_NESTED_LETTERS if nested else _MAX_LIST_LETTERS
        text = " ".join(_value(item) for item in value) if nested else f"[{', '.join(_value(item) for item in value)}]"
    else:
        text = f"{value:g}" if isinstance(value, int | float) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
