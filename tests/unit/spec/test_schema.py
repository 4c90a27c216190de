"""The JSON Schema of problem files."""

import json
from pathlib import Path

import jsonschema
import pytest

import mfpde
from mfpde.registry import members
from mfpde.spec import problem_schema

SCHEMA = problem_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EXAMPLES = sorted((Path(mfpde.__file__).parent / "examples").glob("*.yaml"))


def blocks(value):
    """Every schema of a block of keys."""
    if isinstance(value, dict):
        if value.get("type") == "object" and "properties" in value:
            yield value
        for item in value.values():
            yield from blocks(item)
    elif isinstance(value, list):
        for item in value:
            yield from blocks(item)


def test_it_is_json_of_the_agreed_dialect():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_block_is_closed_described_and_told_apart_by_its_kind():
    found = list(blocks(SCHEMA))
    assert len(found) > 15
    for block in found:
        swept = "timeout" in block["properties"]  # any other key of this block is one of the problem
        assert swept or block["additionalProperties"] is False
        assert block["description"]
        assert ">>>" not in block["description"]
        if "kind" in block["properties"]:
            assert "kind" in block["required"]


def test_every_member_of_every_family_is_in_it():
    kinds = {
        block["properties"]["kind"]["const"]
        for block in blocks(SCHEMA)
        if "const" in block["properties"].get("kind", {})
    }
    families = ("geometry", "attention", "drift", "initial", "solver", "observable", "comparison")
    assert kinds == {name for family in families for name in members(family)}


def test_references_lead_somewhere():
    text = json.dumps(SCHEMA)
    names = {piece.split('"')[0] for piece in text.split('"#/$defs/')[1:]}
    assert names <= SCHEMA["$defs"].keys()
    assert "discriminator" not in text


def test_a_file_with_a_base_needs_nothing_else():
    assert "required" not in SCHEMA
    assert SCHEMA["then"]["required"] == ["geometry"]
    assert "base" in SCHEMA["properties"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid(path):
    from mfpde.spec.document import parse

    root, _ = parse(path.read_text(encoding="utf-8"), path.name)
    VALIDATOR.validate(root.plain())
