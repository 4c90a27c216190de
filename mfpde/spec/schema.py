"""JSON Schema of problem files, for editors that complete and check while one writes."""

from __future__ import annotations

import math
import re
from typing import Any

from mfpde.problem import Problem

__all__ = ["problem_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def problem_schema() -> dict[str, Any]:
    """The schema (draft 2020-12). Descriptions are the first sentences of the docstrings; every `kind` is required."""
    schema: dict[str, Any] = _tidy(Problem.model_json_schema())
    parts = schema.pop("$defs")
    _flatten(schema, parts.pop("Equation"))
    observables = schema["properties"]["observe"]["items"]
    kinds = sorted(
        parts[choice["$ref"].split("/")[-1]]["properties"]["kind"]["const"] for choice in _choices(observables)
    )
    by_name = {"enum": kinds}
    schema["properties"]["observe"]["items"] = {"anyOf": [by_name, observables]}
    collect, collected = schema["properties"]["collect"], parts["Collected"]["properties"]
    collect["items"] = {"anyOf": [by_name, collect["items"]]}
    collected["observe"] = {"anyOf": [by_name, observables], "description": collected["observe"]["description"]}
    groups = parts["SweepBlock"]["properties"]["zip"]
    groups["anyOf"] = [{"type": groups.pop("type"), "items": groups["items"]}, groups.pop("items")]
    base = {"description": "Another problem file, relative to this one, which this one changes.", "type": "string"}
    properties = {"base": base, **schema.pop("properties")}
    # with a base nothing is required of this file alone
    required = {"if": {"not": {"required": ["base"]}}, "then": {"required": schema.pop("required")}}
    return {
        "$schema": _DIALECT,
        **schema,
        "title": "mfpde problem",
        "properties": properties,
        **required,
        "$defs": parts,
    }


def _flatten(schema: dict[str, Any], equation: dict[str, Any]) -> None:
    """The keys of the equation beside those of the problem."""
    properties = {**schema["properties"], **equation["properties"]}
    schema["properties"] = {name: properties[name] for name in Problem.written_keys()}
    schema["required"] = equation["required"]


def _choices(schema: dict[str, Any]) -> list[dict[str, Any]]:
    choices: list[dict[str, Any]] = schema.get("oneOf", [schema])
    return choices


def _tidy(value: Any, name: str | None = None) -> Any:
    """pydantic's schema without titles of keys, OpenAPI's discriminator, and numbers that JSON does not have."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    if not isinstance(value, dict):
        return value
    if name in ("properties", "$defs"):
        return {key: _tidy(item) for key, item in value.items()}
    kept = {key: _tidy(item, key) for key, item in value.items() if key not in ("discriminator", "title")}
    if kept.get("default", ...) is None:
        del kept["default"]
    if "description" in kept:
        kept["description"] = _first_sentences(kept["description"])
    kind = kept.get("properties", {}).get("kind", {})
    if "const" in kind:
        kept["required"] = sorted({"kind", *kept.get("required", [])})
    return kept


def _first_sentences(docstring: str) -> str:
    return re.sub(r"\s+", " ", docstring.split("\n\n", maxsplit=1)[0]).strip()
