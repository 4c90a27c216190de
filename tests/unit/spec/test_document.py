"""Texts that are no problem files, and texts that mean harm: one precise message, at once."""

import pytest

from mfpde.errors import ProblemError
from mfpde.spec import read_yaml

TEXTS = {
    "": "p.yaml: is empty; a problem needs at least a geometry",
    "# only a comment\n": "p.yaml: is empty; a problem needs at least a geometry",
    "- geometry\n": "p.yaml:1:1: a problem file is a block of keys (geometry: ..., attention: ...), this is a list",
    "circle": "p.yaml:1:1: a problem file is a block of keys (geometry: ..., attention: ...), this is a single value",
    "a: [1,": "p.yaml:1:7: the text ends in the middle of a value",
    "a: 1\n\tb: 2": "p.yaml:2:1: a tab cannot indent YAML; use spaces",
    "a: 'b": "p.yaml:1:6: the quotes are never closed",
    "a: 1\n---\nb: 2": "p.yaml:2:1: holds a second document (---); one file is one problem",
    "a: *b": "p.yaml:1:4: *b refers to an anchor that is not defined before it",
    "a: &b [1, *b]": "p.yaml:1:11: *b stands inside the value that it refers to",
    "a: \x07": "p.yaml:1:4: the character '\\x07' is not allowed in YAML",
    'a: "\\UFFFFFFFF"': "p.yaml: is not YAML: ",
    f"a: {'[' * 500}": "p.yaml:1:43: is nested more than 40 deep",
}


@pytest.mark.parametrize("text", TEXTS)
def test_unreadable_texts(text, complaints):
    (said,) = complaints(text)
    assert said.startswith(TEXTS[text])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3: 4", "p.yaml:1:1: a key must be a word, not 3"),
        ("[1, 2]: 4", "p.yaml:1:1: a key must be a word, not a block or list"),
        ("title: !!python/object/apply:os.system ['true']", "p.yaml:1:8: has the tag "),
        ("title: !!str 3", "p.yaml:1:8: has the tag "),
        ("title: !secret x", "p.yaml:1:8: has the tag !secret; a problem file has no tags"),
    ],
)
def test_faults_that_leave_the_rest_readable(text, expected, complaints):
    said = complaints(f"{text}\ngeometry: {{kind: circel}}\n")
    assert said[0].startswith(expected)
    assert "no geometry is called 'circel'" in said[-1]


def test_a_laughing_billion_is_stopped_at_once(complaints, calls):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    said = []
    assert calls(lambda: said.extend(complaints("\n".join(lines)))) < 100_000
    assert "has more than 100,000 values" in said[0]
    assert len(said) == 1


def test_anchors_that_stay_small_are_welcome(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("geometry: {kind: circle}\nattention: {kind: softmax, Q: &m [[1, 2], [3, 4]], K: *m}\n")
    attention = read_yaml(path).attention
    assert attention.Q == attention.K == ((1.0, 2.0), (3.0, 4.0))


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "run.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "latin.yaml").write_bytes("title: a\ntitle: Größe\n".encode("latin-1"))
    (tmp_path / "long.yaml").write_text("# " + "x" * 1_000_001)
    expected = {
        "missing.yaml": "missing.yaml: cannot be read: no such file or directory",
        "folder": "folder: is a folder; a problem is a YAML file",
        "run.h5": "run.h5: is an HDF5 file, not a problem file; `mfpde info` tells",
        "binary": "binary: is a binary file; a problem is a YAML text",
        "latin.yaml": "latin.yaml:2:10: is not UTF-8: the byte 0xf6",
        "long.yaml": "long.yaml: has more than 1,000,000 bytes",
        "x" * 300: f"{'x' * 300}: cannot be read: file name too long",
    }
    for name, message in expected.items():
        with pytest.raises(ProblemError) as caught:
            read_yaml(name)
        assert str(caught.value).startswith(message)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_bytes(b"\xef\xbb\xbfgeometry: {kind: circle}\n")
    assert read_yaml(path).geometry.kind == "circle"


def test_reading_takes_as_long_for_each_value_of_a_large_list_as_of_a_small_one(tmp_path, calls):
    path, made = tmp_path / "p.yaml", []
    for count in (300, 3000):
        values = ", ".join(f"{index / 1000}" for index in range(count))
        path.write_text(f"geometry: {{kind: circle}}\ninitial: {{kind: points, values: [{values}]}}\n")
        assert len(read_yaml(path).initial.values) == count
        made.append(calls(lambda: read_yaml(path)))
    assert made[1] < 11 * made[0]
    assert made[1] < 1000 * 3000
