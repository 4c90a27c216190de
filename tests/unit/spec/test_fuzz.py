"""Whatever stands in a file: a Problem, or a ProblemError that says where. Nothing else, and never slow."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mfpde.errors import Fault, ProblemError
from mfpde.prepare import faults
from mfpde.spec import read_dict, read_document

sys.path.insert(0, str(Path(__file__).parent))
from problems import PIECES, damaged_texts, problem_dicts

RELAXED = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
#: of functions; 3.3 million are the most that were seen, imports among them, and 0.3 million without
CALLS = 10_000_000

#: words of pydantic's that mean nothing to a user
JARGON = re.compile(
    r"Input should|valid (tuple|dict|bool|int|string|num)|Field required|Extra inputs|discriminator|"
    r"Value error|Assertion|function-before|pydantic|instance of|<class|tuple\[|expected tags|Unable to|after valid|"
    r"is not valid here"
)


def faults_of(path: Path) -> list[Fault]:
    try:
        document = read_document(path)
    except ProblemError as error:
        return list(error.faults)
    return [document.locate(fault) for fault in faults(document.problem)]


def read_whatever(text: str, path: Path, calls) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    found: list[Fault] = []
    assert calls(lambda: found.extend(faults_of(path))) < CALLS
    assert all(fault.source for fault in found)
    assert [fault.message for fault in found if JARGON.search(fault.message)] == []
    assert max((len(str(fault)) for fault in found), default=0) < 2000


@given(text=st.text(max_size=200))
@RELAXED
def test_any_text(text, tmp_path, calls):
    read_whatever(text, tmp_path / "p.yaml", calls)


@given(
    pieces=st.lists(PIECES | st.sampled_from(["geometry", "circle", "noise", "kappa", "time", "initial"]), max_size=30)
)
@RELAXED
def test_text_that_looks_like_yaml(pieces, tmp_path, calls):
    read_whatever("".join(pieces), tmp_path / "p.yaml", calls)


@given(text=damaged_texts())
@RELAXED
@example(text="geometry: {kind: circle}\ninitial: {kind: density, expression: 1or 2}")
@example(text="geometry: {kind: circle}\ninitial: {kind: density, expression: exp(1000*theta)}\ntime: {until: 1}")
@example(text="geometry: {kind: circle}\ninitial: {kind: density, expression: 1e300*cosh(10)}\ntime: {until: 1}")
@example(text="geometry: {kind: circle}\ninitial: {kind: uniform, box: [[0]]}\ntime: {until: 1}")
@example(text="geometry: {kind: circle}\ninitial: {kind: von-mises, concentration: 1, direction: [0, 0, 1]}")
@example(text="geometry: {kind: circle}\nattention: {kind: unnormalized, beta: 1e300}")
@example(text="geometry: {kind: circle}\nattention: {kind: softmax, beta: 1e300}")
@example(text="geometry: {kind: circle}\nattention: {kind: softmax, beta: 1e-320}")
@example(text="geometry: {kind: circle}\nattention: {kind: softmax, A: -1e5}")
@example(text="geometry: {kind: circle}\nattention: {kind: softmax, Q: [], K: [[]]}\ntime: {until: 1}")
@example(text="geometry: {kind: circle}\ninteraction: {coefficients: [1e308, 1e308]}")
@example(text="geometry: {kind: circle}\ntime: {until: 1e308, save_every: 1e-308}")
def test_damaged_problems(text, tmp_path, calls):
    read_whatever(text, tmp_path / "p.yaml", calls)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["softmax", "circle"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def odd_dicts(draw):
    """A valid problem in which something, somewhere, is replaced by anything or added."""
    data = draw(problem_dicts)
    for _ in range(draw(st.integers(1, 3))):
        place = data
        while True:
            key = draw(st.sampled_from(sorted(place)) if isinstance(place, dict) and place else st.just("more"))
            if isinstance(place.get(key), dict) and draw(st.booleans()):
                place = place[key] = dict(place[key])
            else:
                place[key] = draw(ANYTHING)
                break
    return data


@given(data=odd_dicts())
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
def test_no_words_of_pydantic_leak(data):
    try:
        read_dict(data)
    except ProblemError as error:
        for fault in error.faults:
            assert not JARGON.search(fault.message.replace(repr(data), "")), fault.message


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 5000, "a: &a [*a, *a]", "? " * 3000, "!" * 5000])
def test_deep_texts_are_answered_at_once(text, tmp_path, calls):
    read_whatever(text, tmp_path / "p.yaml", calls)
