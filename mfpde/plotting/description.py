"""A run in one line, in the words of its problem file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mfpde.coefficients import Schedule
from mfpde.specification import Specification

if TYPE_CHECKING:
    from mfpde.equation import Noise
    from mfpde.problem import Problem

__all__ = ["describe"]

#: of a list of numbers, of a nested value
_MAX_LIST_LETTERS, _MAX_NESTED_LETTERS = 48, 160


def describe(problem: Problem) -> str:
    """`attention: unnormalized, beta 0; noise: kappa 4; solver: spectral`."""
    parts = []
    if problem.attention is not None:
        parts.append(f"attention: {_block(problem.attention)}")
    if problem.interaction is not None:
        parts.append(f"interaction: {_block(problem.interaction)}")
    if problem.drift is not None:
        parts.append(f"drift: {_block(problem.drift)}")
    if problem.normalization is not None:
        parts.append(f"normalization: {_block(problem.normalization)}")
    if problem.bifurcation is not None and problem.of_states:
        low, high = problem.bifurcation.range
        parts.append(f"stationary states for {problem.bifurcation.parameter} from {low:g} to {high:g}")
    if not problem.of_states or problem.noise.kappa != math.inf:
        parts.append(_noise(problem.noise))
    if problem.solver is not None:
        parts.append(f"solver: {getattr(problem.solver, 'kind', type(problem.solver).__name__)}")
    return "; ".join(parts)


def _noise(noise: Noise) -> str:
    parts = [f"kappa {_value(noise.kappa)}"] if noise.kappa != math.inf else []
    parts += [f"{name} {_value(getattr(noise, name))}" for name in sorted(noise.peculiar, reverse=True)]
    return f"noise: {', '.join(parts)}" if parts else "no noise"


def _block(part: Specification) -> str:
    """The kind, every setting that is not the default, and V, on which the sign of all that happens depends."""
    fields = type(part).model_fields
    named = {name: getattr(part, name) for name in fields if name != "kind"}
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
