"""A run in one line, in the words of its problem file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mfpde.problem import Problem
    from mfpde.specification import Specification

__all__ = ["describe"]

_LONGEST = 48


def describe(problem: Problem) -> str:
    """`attention: unnormalized, beta 0; noise: kappa 4; solver: spectral`."""
    parts = []
    if problem.attention is not None:
        parts.append(f"attention: {_block(problem.attention)}")
    if problem.interaction is not None:
        parts.append(f"interaction: {_block(problem.interaction)}")
    if problem.drift is not None:
        parts.append(f"drift: {_block(problem.drift)}")
    parts.append(f"noise: kappa {_value(problem.noise.kappa)}")
    if problem.solver is not None:
        parts.append(f"solver: {getattr(problem.solver, 'kind', type(problem.solver).__name__)}")
    return "; ".join(parts)


def _block(part: Specification) -> str:
    """The kind, and every setting that is not the default."""
    settings = part.model_dump(exclude_defaults=True)
    settings.pop("kind", None)
    kind = [str(part.kind)] if hasattr(part, "kind") else []
    return ", ".join([*kind, *(f"{name} {_value(value)}" for name, value in settings.items())])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "..."))
    if isinstance(value, list | tuple):
        text = f"[{', '.join(_value(item) for item in value)}]"
    else:
        text = f"{value:g}" if isinstance(value, int | float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
