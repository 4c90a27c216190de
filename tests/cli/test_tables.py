"""Tables that fit the terminal and lose nothing."""

import pytest

from mfpde.cli.tables import columns

WORDS = [
    "softmax",
    "attention",
    "gathers",
    "tokens",
    "in",
    "three",
    "clusters,",
    "of",
    "which",
    "noise",
    "merges",
    "two",
]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("indent", ["", "  "])
def test_no_line_is_longer_than_the_terminal(width, indent):
    rows = [["short", " ".join(WORDS), "1.5"], ["a-name-with-hyphens", " ".join(WORDS * 3), "1e-16"]]
    table = columns(rows, ["name", "claim", "measured"], indent, width)
    lines = table.splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.startswith(indent) for line in lines)
    words = table.split()
    for word in [*WORDS, "short", "a-name-with-hyphens", "1.5", "1e-16"]:
        assert words.count(word) == 4 * WORDS.count(word) + (word not in WORDS)
    # what goes on below stays in its column
    place = lines[0].index("claim")
    assert all(line[len(indent) : place].strip() in ("name", "short", "a-name-with-hyphens", "") for line in lines)


def test_without_a_terminal_every_row_is_one_line():
    rows = [["name", " ".join(WORDS * 5)]]
    assert columns(rows).count("\n") == 0


def test_columns_that_cannot_be_narrower_stay():
    assert columns([["x" * 20, "y" * 20]], width=10).splitlines() == [f"{'x' * 20}  {'y' * 20}"]
