"""What is generated is complete, and every public name and key says what it is."""

import doctest
import inspect
import re

import pytest
from generate.bibliography import entries
from generate.command_line import commands
from generate.docstrings import as_restructured_text
from generate.problem_file import BLOCKS, block, fields_of, top

import mfpde
from mfpde.cli import main
from mfpde.equation import Noise
from mfpde.problem import Problem, Time
from mfpde.registry import lookup, members

NAMES = [name for name in mfpde.__all__ if not name.startswith("__")]
KINDS = [
    (family, kind)
    for family in ("geometry", "attention", "drift", "initial", "solver", "observable")
    for kind in members(family)
]
#: first lines of docstrings that stand for a formula have one of these
EXAMPLE = doctest.DocTestParser()


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring_with_an_example(name):
    thing = getattr(mfpde, name)
    words = thing.__doc__ or ""
    assert len(words.split()) > 5
    assert EXAMPLE.get_examples(inspect.cleandoc(words)), f"{name} has no running example"


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_a_kind_has_a_docstring_with_an_example(family, kind):
    part = lookup(family, kind)
    assert part.__doc__ is not None
    assert part.__doc__ != part.__mro__[1].__doc__
    if family != "solver":  # what a solver does is the example of `solve`
        assert EXAMPLE.get_examples(inspect.cleandoc(part.__doc__)), f"{kind} has no running example"


@pytest.mark.parametrize("part", [Problem, Noise, Time, *(lookup(*kind) for kind in KINDS)], ids=lambda p: p.__name__)
def test_every_key_says_what_it_means(part):
    assert [name for name, field in fields_of(part).items() if not field.description] == []


def test_every_public_name_is_in_the_reference(root):
    page = (root / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto(?:class|function|exception):: mfpde\.(\w+)(?:\(\))?$", page, re.MULTILINE)
    assert [name for name in NAMES if name not in shown] == []


def test_every_block_of_a_problem_is_in_the_reference(root):
    page = (root / "docs" / "reference" / "problem_file.md").read_text(encoding="utf-8")
    assert set(Problem.written_keys()) - {"title"} == set(BLOCKS)
    for name in BLOCKS:
        assert f"(block-{name})=" in page
        assert f"<!-- generate: block {name} -->" in page


def test_the_reference_of_problem_files_has_every_kind_and_key():
    for family, kind in KINDS:
        name = next(name for name, inside in BLOCKS.items() if inside == family)
        text = block(name)
        assert f"### {kind}\n" in text
        assert [key for key in fields_of(lookup(family, kind)) if f"| `{key}` |" not in text] == []
    assert [name for name in Problem.written_keys() if f"`{name}`" not in top()] == []


def test_the_reference_of_the_command_line_has_every_command_and_option():
    text = commands()
    for name, command in main.commands.items():
        assert f"## mfpde {name}\n" in text
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
        assert [option for option in options if option not in text] == []


def test_every_exit_code_is_told(root):
    page = (root / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == ["0", "1", "2", "3", "130", "70"]


def test_every_citation_of_the_package_is_in_the_bibliography():
    parts = [part for family in ("attention", "initial", "solver", "observable") for part in members(family).values()]
    keys = {key for part in parts for key in getattr(part, "citations", ())}
    keys |= {key for case in members("case").values() for key in case().card.citations}
    assert keys
    assert keys - set(entries()) == set()


def test_the_bibliography_is_readable():
    for entry in entries().values():
        line = entry.line()
        assert entry.fields["year"] in line
        assert not re.search(r"[{}\\]", line), line


def test_docstrings_are_made_safe_for_sphinx():
    safe = as_restructured_text("`|v|` and W*mu, c_ and [bertini2010] (physics section 3).\n\n>>> 2 * 3\n6")
    assert safe.startswith("``|v|`` and W\\*mu, c\\_ and [:ref:`Bertini et al. 2010 <bertini2010>`]")
    assert ":ref:`theory, section 3 <theory-3>`" in safe
    assert safe.endswith(">>> 2 * 3\n6")
