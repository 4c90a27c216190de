"""examples, list, schema, doctor, validate, help: what there is, in words and for machines."""

import errno
import json
import re
from pathlib import Path

import mfpde as package
from mfpde.bibliography import bibliography
from mfpde.registry import FAMILIES, members

EXAMPLES = sorted((Path(package.__file__).parent / "examples").glob("*.yaml"))


def test_help_names_every_command_in_the_order_of_use(mfpde):
    text = mfpde("--help").stdout
    commands = re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)
    assert commands == [
        "solve",
        "check",
        "validate",
        "bifurcate",
        "sweep",
        "plot",
        "report",
        "compare",
        "info",
        "examples",
        "schema",
        "list",
        "cite",
        "doctor",
    ]
    assert not any(
        line.endswith("...") for line in text.splitlines() if "solvers, ..." not in line and "[ARGS]" not in line
    )
    for command in commands:
        result = mfpde(command, "--help")
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) > 4


def test_version(mfpde):
    assert mfpde("--version").stdout == f"mfpde {package.__version__}\n"


def test_examples_are_listed_by_what_they_show(mfpde):
    lines = mfpde("examples").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [path.stem for path in EXAMPLES]
    assert "noisy Kuramoto on the circle above its transition at kappa = 2" in mfpde("examples").stdout


def test_examples_are_printed_and_copied(mfpde, here):
    text = EXAMPLES[0].read_text(encoding="utf-8")
    assert mfpde("examples", EXAMPLES[0].stem).stdout == text
    assert mfpde("examples", "noisy-kuramoto", "-o", "mine.yaml").exit_code == 0
    assert mfpde("check", "mine.yaml").exit_code == 0
    again = mfpde("examples", "noisy-kuramoto", "-o", "mine.yaml")
    assert again.exit_code == 2
    assert "mine.yaml exists; --force overwrites it" in again.stderr
    assert mfpde("examples", "noisy-kuramoto", "-o", "mine.yaml", "--force").exit_code == 0
    (here / "folder").mkdir()
    assert mfpde("examples", "nematic.yaml", "-o", "folder").exit_code == 0
    assert (here / "folder" / "nematic.yaml").exists()


def test_a_copy_may_have_a_long_name(mfpde, here):
    name = f"{'long' * 62}.yaml"
    assert mfpde("examples", "noisy-kuramoto", "-o", name).exit_code == 0
    assert [path.name for path in here.iterdir() if path.name.startswith("long")] == [name]


def test_an_example_with_a_base_brings_it_along(mfpde, here):
    assert mfpde("examples", "kuramoto-below", "-o", "below.yaml").exit_code == 0
    assert (here / "noisy-kuramoto.yaml").exists()
    assert mfpde("check", "below.yaml").exit_code == 0


def test_a_copy_that_does_not_fit_leaves_nothing(mfpde, here, monkeypatch):
    def fill(path, text, **_):
        path.write_bytes(text.encode()[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(here.iterdir())
    monkeypatch.setattr(Path, "write_text", fill)
    result = mfpde("examples", "blow-up", "-o", "up.yaml")
    assert (result.exit_code, result.stderr) == (2, "cannot write up.yaml: the disk is full\n")
    assert sorted(here.iterdir()) == before


def test_list_names_every_member_with_a_sentence(mfpde):
    everything = json.loads(mfpde("list", "--json").stdout)
    for family, parts in everything.items():
        assert [part["name"] for part in parts] == list(members(family))
        assert all(part["summary"] for part in parts)
        lines = mfpde("list", family).stdout.splitlines()
        assert [line.split()[0] for line in lines] == list(members(family))
        for part, line in zip(parts, lines, strict=True):
            assert line.endswith(f"keys: {', '.join(part['keys'])}" if part["keys"] else part["summary"])
    text = mfpde("list").stdout
    assert all(f"{family}:" in text for family in everything)


def test_schema_is_json(mfpde):
    assert json.loads(mfpde("schema").stdout)["title"] == "mfpde problem"


def test_every_citation_in_the_code_is_in_the_bibliography():
    known = bibliography()
    used = {key for family in FAMILIES for part in members(family).values() for key in getattr(part, "citations", ())}
    used |= {key for case in members("case").values() for key in case().card.citations}
    used |= set(package.Interaction.citations)
    assert used
    assert used <= known.keys()
    for key, entry in known.items():
        assert entry.count("{") == entry.count("}"), key
        assert re.search(r"^  author\s*= ", entry, re.MULTILINE), key
        assert re.search(r"^  title\s*= ", entry, re.MULTILINE), key
        assert re.search(r"^  year\s*= \{(19|20)\d\d\}", entry, re.MULTILINE), key


def test_doctor_knows_its_surroundings_and_passes(mfpde):
    result = mfpde("doctor", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["versions"]["mfpde"] == package.__version__
    assert "not installed" not in found["versions"].values()
    assert found["self-test"]["passed"] is True
    assert found["self-test"]["difference"] < 1e-6
    assert "self-test" in mfpde("doctor").stdout


def test_doctor_fails_when_the_solver_is_wrong(mfpde, monkeypatch):
    from mfpde.comparing import moebius

    image = moebius.moebius_image
    monkeypatch.setattr(moebius, "moebius_image", lambda theta, time, initial: image(theta, 1.001 * time, initial))
    assert mfpde("doctor").exit_code == 1


def test_validate_lists_runs_and_reports(mfpde, here):
    names = [line.split()[0] for line in mfpde("validate", "--list").stdout.splitlines()]
    assert names == list(members("case"))
    assert [case["name"] for case in json.loads(mfpde("validate", "--list", "--json").stdout)] == names
    result = mfpde("validate", "moebius", "--quick", "--report", "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("checks, all passed")
    assert (here / "out" / "report.json").exists()
    assert json.loads(mfpde("validate", "moebius", "--quick", "--json").stdout)["passed"] is True


def test_a_failed_check_is_exit_1(mfpde, monkeypatch):
    from mfpde.validation.report import Check, Report

    failed = Report("case", own=(Check.equal("one is two", "nowhere", expected=2, measured=1, tolerance=0.1),))
    monkeypatch.setattr("mfpde.validation.suite.validate", lambda *_, **__: failed)
    result = mfpde("validate", "moebius")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "1 check, 1 failed" in result.stdout
