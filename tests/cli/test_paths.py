"""Names of files: long ones, loops of links, folders, bytes that are no text, files that are protected."""

import json
import os
import stat
from pathlib import Path

import pytest

from mfpde.store.atomic_file import companion, temporary
from mfpde.watching.status import status_path


def told(result, *words):
    """Bad input, one sentence that says so, no internal error."""
    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.stderr


def name_of(length, ending, letter="b"):
    """So many bytes."""
    return letter * ((length - len(ending)) // len(letter.encode())) + ending


def files():
    return [path.name for path in Path().iterdir()]


def beside(before):
    return sorted(set(files()) - set(before))


@pytest.mark.parametrize("letter", ["b", "é", "語", "🙂"])
@pytest.mark.parametrize("length", [240, 244, 248, 252, 255])
def test_a_name_that_fits_has_names_beside_it_that_fit(tmp_path, letter, length):
    target = tmp_path / name_of(length, ".h5", letter)
    for path in (temporary(target), status_path(target), temporary(status_path(target)), companion(target, ".x" * 40)):
        path.write_text("")  # the file system takes it
        assert path.parent == target.parent
        assert path.name != target.name


def test_two_long_names_have_two_companions(tmp_path):
    one, two = (tmp_path / (name_of(251, letter) + ".h5") for letter in ("x", "y"))
    assert status_path(one) != status_path(two)
    assert status_path(tmp_path / "run.h5") == tmp_path / "run.status.json"


@pytest.mark.parametrize("letter", ["b", "語"])
def test_the_longest_name_is_written_resumed_and_drawn(mfpde, letter):
    before = files()
    output, figure = name_of(255, ".h5", letter), name_of(255, ".svg", letter)
    for arguments in (
        ("solve", "small.yaml", "-o", output, "--quiet"),
        ("solve", "small.yaml", "-o", output, "--resume", "--quiet", "--set", "time.until=1.5"),
        ("info", output),
        ("plot", output, "-o", figure),
        ("examples", "noisy-kuramoto", "-o", name_of(255, ".yaml", letter)),
    ):
        result = mfpde(*arguments)
        assert result.exit_code == 0, result.output
    assert beside(before) == sorted([output, figure, name_of(255, ".yaml", letter)])


@pytest.mark.parametrize("length", [256, 300, 5000])
def test_a_name_that_is_too_long_is_told(mfpde, length):
    before = files()
    told(mfpde("solve", "small.yaml", "-o", name_of(length, ".h5")), "cannot write", "File name too long")
    told(mfpde("solve", "small.yaml", "-o", name_of(length, ".h5"), "--resume"), "cannot resume")
    told(mfpde("examples", "noisy-kuramoto", "-o", name_of(length, ".yaml")), "File name too long")
    told(mfpde("validate", "--quick", "small.yaml", "--report", name_of(length, "")), "File name too long")
    for verb in ("solve", "check", "info", "plot", "report", "cite"):
        result = mfpde(verb, name_of(length, ".yaml"))
        told(result, "ile name too long")
        assert len(result.stderr) < 1500 or verb == "check"
    assert beside(before) == []


def test_a_link_that_leads_to_itself_is_told(mfpde, solved):
    for name in ("loop.h5", "loop.png", "one.h5"):
        Path(name).symlink_to({"one.h5": "two.h5"}.get(name, name))
    Path("two.h5").symlink_to("one.h5")
    before = files()
    for output in ("loop.h5", "one.h5"):
        for force in ((), ("--force",)):
            told(mfpde("solve", "small.yaml", "-o", output, *force), "leads back to itself")
    told(mfpde("solve", "small.yaml", "-o", "loop.h5/x.h5"), "there is no folder")
    told(mfpde("solve", "small.yaml", "-o", "loop.h5", "--resume"), "there is no loop.h5 to resume")
    told(mfpde("plot", "small.h5", "-o", "loop.png"), "leads back to itself")
    told(mfpde("examples", "noisy-kuramoto", "-o", "loop.h5", "--force"), "leads back to itself")
    told(mfpde("validate", "--quick", "small.yaml", "--report", "loop.h5"), "cannot write to loop.h5")
    for verb in ("solve", "check", "info", "plot", "report", "cite"):
        told(mfpde(verb, "loop.h5"), "symbolic links")
    assert beside(before) == []
    assert Path("loop.h5").is_symlink()


@pytest.mark.parametrize("base", ['"\\uD800"', '"a\\0b"', "loop.yaml", "a" * 300, '""', "base.yaml", "."])
def test_a_base_that_no_file_can_be(mfpde, base):
    Path("loop.yaml").symlink_to("loop.yaml")
    Path("base.yaml").write_text(f"base: {base}\n")
    told(mfpde("check", "base.yaml"), "base.yaml:1:7: base: ")
    told(mfpde("solve", "base.yaml"), "base.yaml:1:7: base: ")


@pytest.mark.parametrize("kind", ["points", "snapshot"])
@pytest.mark.parametrize("file", ['"\\uD800"', '"a\\0b"', "loop.h5", "a" * 300, '""', "."])
def test_a_file_of_points_that_cannot_be(mfpde, kind, file):
    Path("loop.h5").symlink_to("loop.h5")
    text = Path("small.yaml").read_text().splitlines()
    text[4] = f"initial: {{kind: {kind}, file: {file}}}"
    Path("cloud.yaml").write_text("\n".join(text))
    told(mfpde("check", "cloud.yaml"), "cloud.yaml:5:")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", b"\x1f\x8b\x08\x00xx", b"\xff\xfe", b"a b\n"])
@pytest.mark.parametrize("ending", [".npy", ".txt", ".gz", ".bz2", ".xz"])
def test_a_file_that_holds_no_points(mfpde, content, ending):
    Path(f"points{ending}").write_bytes(content)
    text = Path("small.yaml").read_text().splitlines()
    text[4] = f"initial: {{kind: points, file: points{ending}}}"
    Path("cloud.yaml").write_text("\n".join(text))
    told(mfpde("check", "cloud.yaml"), "cloud.yaml:5:", "initial.file")


@pytest.mark.parametrize("ending", ["/", "//", "/.", "/.."])
def test_what_ends_like_a_folder_is_one(mfpde, solved, ending):
    before = files()
    told(mfpde("solve", "small.yaml", "-o", f"results{ending}", "--quiet"), "results")
    told(mfpde("examples", "noisy-kuramoto", "-o", f"results{ending}"), "results")
    told(mfpde("plot", "small.h5", "-o", f"results.png{ending}"), "results.png")
    assert beside(before) == []
    Path("results").mkdir()
    if ending != "/..":
        told(mfpde("solve", "small.yaml", "-o", f"results{ending}"), "is a folder; name a file in it")
    assert mfpde("examples", "noisy-kuramoto", "-o", f"results{ending}").exit_code == 0


def test_names_may_be_any_bytes(command, mfpde):
    """Processes of their own: what one was called with goes into the file, and what it says on its stream."""
    names = [os.fsdecode(b"\xff" + ending) for ending in (b".yaml", b".h5", b".svg", b"-report", b".html")]
    problem, output, figure, report, page = names
    os.rename("small.yaml", problem)  # noqa: PTH104
    for arguments in (
        ("solve", problem, "--quiet"),
        ("info", output),
    ):
        _, errors = (process := command(*arguments)).communicate()
        assert process.returncode == 0, errors
    assert mfpde("plot", output, "-o", figure).exit_code == 0
    assert mfpde("report", output, "-o", page).exit_code == 0
    assert mfpde("validate", "--quick", "--no-limit", problem, "--report", report).exit_code == 0
    assert json.loads(Path(report, "report.json").read_text())["passed"]


@pytest.fixture
def protected(mfpde, solved):
    """Files that nobody may write to."""
    names = ["small.h5", "small.png", "small.html", "noisy-kuramoto.yaml", "report/index.html", "report/report.json"]
    Path("report").mkdir()
    for name in names:
        Path(name).touch()
        Path(name).chmod(0o444)
    return {name: Path(name).read_bytes() for name in names}


def test_what_is_read_only_is_not_replaced(mfpde, protected):
    words = "read-only"
    told(mfpde("solve", "small.yaml", "--force", "--quiet"), "small.h5", words)
    told(mfpde("solve", "small.yaml", "--resume", "--set", "time.until=2"), "small.h5", words)
    told(mfpde("plot", "small.h5"), "small.png", words)
    told(mfpde("report", "small.h5", "--force"), "small.html", words)
    told(mfpde("examples", "noisy-kuramoto", "-o", "noisy-kuramoto.yaml", "--force"), "noisy-kuramoto.yaml", words)
    told(mfpde("validate", "--quick", "small.yaml", "--report", "report", "--force"), "index.html", words)
    Path("report/index.html").chmod(0o644)
    told(mfpde("validate", "--quick", "small.yaml", "--report", "report", "--force"), "report.json", words)
    for name, content in protected.items():
        assert Path(name).read_bytes() == content
    assert stat.S_IMODE(Path("small.h5").stat().st_mode) == 0o444
    assert mfpde("solve", "small.yaml", "--resume", "--quiet").exit_code == 0  # nothing is left to do
