"""`base:`: merging, where faults are, and where files are looked for."""

from pathlib import Path

import pytest

from mfpde.errors import ProblemError
from mfpde.spec import read_yaml

BASE = """\
geometry:  {kind: circle}
attention: {kind: unnormalized, beta: 1}
noise:     {kappa: 4}
time:      {until: 40, save_every: 0.5}
observe:   [mass, entropy]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text(BASE)
    return tmp_path


def read(text: str, name: str = "p.yaml"):
    Path(name).write_text(text)
    return read_yaml(name)


def told(text: str, name: str = "p.yaml") -> list[str]:
    with pytest.raises(ProblemError) as caught:
        read(text, name)
    return [str(fault) for fault in caught.value.faults]


def test_blocks_merge_key_by_key_and_lists_replace(folder):
    problem = read("base: base.yaml\ntime: {until: 3}\nobserve: [mass]\nattention: {beta: 2}\n")
    assert (problem.time.until, problem.time.save_every) == (3, 0.5)
    assert [item.kind for item in problem.observe] == ["mass"]
    assert (problem.attention.kind, problem.attention.beta) == ("unnormalized", 2)
    assert problem.noise.kappa == 4


def test_a_block_of_another_kind_replaces(folder):
    problem = read("base: base.yaml\nattention: {kind: softmax, A: 2}\n")
    assert (problem.attention.kind, problem.attention.beta, problem.attention.A) == ("softmax", None, 2)


def test_naming_the_same_kind_merges(folder):
    assert read("base: base.yaml\nattention: {kind: unnormalized}\n").attention.beta == 1


def test_nothing_takes_a_block_away(folder):
    problem = read("base: base.yaml\nattention: null\ninteraction: {coefficients: [1]}\n")
    assert problem.attention is None
    assert problem.interaction is not None


def test_faults_are_in_the_file_that_wrote_them(folder):
    Path("base.yaml").write_text(BASE.replace("kappa: 4", "kappa: -4"))
    assert told("base: base.yaml\ntime: {until: x}\n") == [
        "base.yaml:3:20: noise.kappa: must be greater than 0, not -4",
        "p.yaml:2:15: time.until: must be a number, not 'x'",
    ]


def test_bases_of_bases_are_found_from_their_own_folder(folder):
    Path("below").mkdir()
    Path("below/middle.yaml").write_text("base: ../base.yaml\nnoise: {kappa: 7}\n")
    assert read("base: below/middle.yaml\n").noise.kappa == 7


def test_files_are_found_from_the_file_that_names_them(folder):
    Path("below").mkdir()
    Path("below/middle.yaml").write_text("geometry: {kind: circle}\ninitial: {kind: points, file: data/a.npy}\n")
    assert read("base: below/middle.yaml\n").initial.file == str(folder / "below/data/a.npy")
    assert read("geometry: {kind: circle}\ninitial: {kind: points, file: /a.npy}\n").initial.file == "/a.npy"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base: p.yaml", "p.yaml:1:7: base: p.yaml leads back to this file: p.yaml -> p.yaml"),
        ("base: ./../{here}/p.yaml", "p.yaml:1:7: base: ./../{here}/p.yaml leads back to this file"),
        ("base: nope.yaml", "p.yaml:1:7: base: nope.yaml cannot be read: no such file or directory"),
        ("base: .", "p.yaml:1:7: base: . is a folder"),
        ("base: [base.yaml]", "p.yaml:1:7: base: must be the name of another problem file, relative to this one"),
        ('base: "a\\0b"', "p.yaml:1:7: base: "),
    ],
)
def test_bases_that_cannot_be_had(folder, text, message):
    (said,) = told(text.format(here=folder.name))
    assert said.startswith(message.format(here=folder.name))


def test_a_circle_of_two_is_seen(folder):
    Path("other.yaml").write_text("base: p.yaml\n")
    (said,) = told("base: other.yaml\n")
    assert said == "other.yaml:1:7: base: p.yaml leads back to this file: p.yaml -> other.yaml -> p.yaml"


def test_bases_end(folder):
    for index in range(20):
        Path(f"{index}.yaml").write_text(f"base: {index + 1}.yaml\n")
    (said,) = told("base: 0.yaml\n")
    assert said.endswith("is the 11th base of a base; at most 10 are read")


def test_a_broken_base_is_told_where_it_is_broken(folder):
    Path("broken.yaml").write_text("geometry: [\n")
    (said,) = told("base: broken.yaml\n")
    assert said == "broken.yaml:2:1: the text ends in the middle of a value"
