"""Which number of a problem moves, and what the equation is at each of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mfpde.bifurcation.felt_degrees import felt_degrees
from mfpde.bifurcation.multipliers import Multipliers, exponential_multipliers, multipliers_of
from mfpde.bifurcation.states import Family, Model
from mfpde.equation import Equation, Noise
from mfpde.errors import ProblemError
from mfpde.problem import Problem

__all__ = ["blocks_of", "equation_at", "equation_of", "family_of"]

_KEPT_MODELS = 4096  # models that are not made again
_SAMPLES = 5  # values at which the number of degrees is looked at


def family_of(equation: Equation, parameter: str, low: float, high: float) -> Family:
    """The models of an equation between two values of `kappa`, `1/kappa`, `beta` or any number of the file."""
    make = lru_cache(maxsize=_KEPT_MODELS)(_maker(equation, parameter))
    values = [low + (high - low) * i / (_SAMPLES - 1) for i in range(_SAMPLES)]
    top = felt_degrees(make, values, max(make(value).multipliers.top for value in values))
    return Family(parameter, low, high, make, top)


def _maker(equation: Equation, parameter: str) -> Callable[[float], Model]:
    if parameter in ("kappa", "noise.kappa", "1/kappa"):
        known = multipliers_of(equation.law, equation.geometry)
        inverse = parameter == "1/kappa"
        return lambda value: _model(known, 1 / value if inverse else value)
    law_at = _law_maker(equation, parameter)
    kappa = equation.noise.kappa
    if not isinstance(kappa, float) or math.isinf(kappa):
        told = f"is missing: with the parameter {parameter} there is one kappa, e.g. noise: {{kappa: 4}}"
        raise ProblemError.at("noise", told)
    return lambda value: _model(law_at(value), kappa)


def equation_at(equation: Equation, parameter: str, value: float) -> Equation:
    """The equation at a value of its parameter."""
    if parameter in ("kappa", "noise.kappa", "1/kappa"):
        kappa = 1 / value if parameter == "1/kappa" else value
        return equation.model_copy(update={"noise": Noise(kappa=kappa)})
    block, _, path = (parameter if "." in parameter else f"attention.{parameter}").partition(".")
    law = getattr(equation, block)
    return equation.model_copy(update={block: type(law)(**_put(law.canonical(), path.split("."), value))})


def _law_maker(equation: Equation, parameter: str) -> Callable[[float], Multipliers]:
    """The multipliers at each value of a number of the law."""
    if parameter in ("beta", "attention.beta"):
        dimension = multipliers_of(equation.law, equation.geometry).dimension
        factor, normalised = _factor(equation), bool(getattr(equation.law, "normalised", False))
        return lambda value: exponential_multipliers(value, factor, dimension, normalised)
    block, _, path = parameter.partition(".")
    if block not in ("attention", "interaction") or not path:
        known = "kappa, 1/kappa, beta and e.g. interaction.coefficients.1 are"
        raise ProblemError.at("bifurcation.parameter", f"{parameter} is not a number of the equation; {known}")
    law = getattr(equation, block)
    if law is None:
        raise ProblemError.at("bifurcation.parameter", f"the problem has no block {block}")
    written, keys = law.canonical(), path.split(".")
    _get(written, keys, parameter)
    return lambda value: multipliers_of(type(law)(**_put(written, keys, value)), equation.geometry)


def equation_of(blocks: Mapping[str, Any]) -> Equation:
    """The equation of blocks as in a problem file, or of objects; None is a block that is not there."""
    written = {
        name: block if isinstance(block, Mapping) else block.canonical() for name, block in blocks.items() if block
    }
    return Problem.from_dict(written).equation


def blocks_of(geometry: Any, attention: Any) -> tuple[int, float, bool]:
    """Ambient dimension, V as a multiple of I, and whether attention is normalised."""
    equation = equation_of({"geometry": geometry, "attention": attention})
    dimension = multipliers_of(equation.law, equation.geometry).dimension
    return dimension, _factor(equation), bool(getattr(equation.law, "normalised", False))


def _factor(equation: Equation) -> float:
    found = getattr(equation.law, "multiples", lambda _: None)(equation.geometry.ambient_dimension)
    if found is None:
        raise ProblemError.at("bifurcation.parameter", "beta is a number of exponential attention, which is not there")
    return float(found[1])


def _model(multipliers: Multipliers, kappa: float) -> Model:
    return Model(multipliers, kappa * multipliers.scale)


def _get(written: Any, keys: Sequence[str], parameter: str) -> None:
    for key in keys:
        try:
            written = written[int(key)] if isinstance(written, list | tuple) else written[key]
        except (LookupError, ValueError, TypeError):
            raise ProblemError.at("bifurcation.parameter", f"the problem has no number {parameter}") from None
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise ProblemError.at("bifurcation.parameter", f"{parameter} is not a number")


def _put(written: Any, keys: Sequence[str], value: float) -> Any:
    if not keys:
        return value
    if isinstance(written, Mapping):
        return {**written, keys[0]: _put(written[keys[0]], keys[1:], value)}
    items = list(written)
    items[int(keys[0])] = _put(items[int(keys[0])], keys[1:], value)
    return items
