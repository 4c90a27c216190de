"""A home that cannot be written, as containers and services have it: everything works, and one line says what is
different."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mfpde.compilation import cache_folder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
#: root writes everywhere, unless it does without the right to
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]


@pytest.fixture
def home(here) -> Path:
    """A home with nothing in it, which is not to be written by the commands that `ordinary` runs."""
    home = here / "home"
    home.mkdir()
    home.chmod(0o555)
    yield home
    home.chmod(0o755)


@pytest.fixture
def ordinary(here, home) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command with this home, and with the folder `temporary` for temporary files."""
    (here / "temporary").mkdir()
    left_out = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"}
    surroundings = {name: value for name, value in os.environ.items() if name not in left_out}
    surroundings |= {"HOME": str(home), "TMPDIR": str(here / "temporary"), "PYTHONPATH": str(ROOT)}
    before = ORDINARY if os.geteuid() == 0 else []
    if before and shutil.which("setpriv") is None:
        pytest.skip("root without setpriv writes everywhere")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*before, sys.executable, "-m", "mfpde", *arguments]
        return subprocess.run(command, cwd=here, env=surroundings, capture_output=True, text=True, check=False)

    return run


def kernels(mfpde, target: Path) -> None:
    """What `small.yaml` needs, compiled already: compiling is not what is tested."""
    assert mfpde("solve", "small.yaml", "-o", "before.h5", "--quiet").exit_code == 0
    shutil.copytree(cache_folder(), target, ignore=shutil.ignore_patterns(".writing-*"))


def test_code_is_kept_in_a_temporary_folder_and_one_line_says_so(mfpde, here, home, ordinary, said):
    own = here / "temporary" / f"mfpde-{os.geteuid()}"
    own.mkdir(mode=0o700)
    kernels(mfpde, own / "kernels")
    place = (
        f"compiled code is kept in {own / 'kernels'} for the time being: {home / '.cache/mfpde/kernels'} cannot be "
        "written (permission denied)"
    )
    done = ordinary("solve", "small.yaml")
    assert (done.returncode, said(done.stderr)) == (0, [place])
    done = ordinary("plot", "small.h5")
    assert done.returncode == 0
    assert [line for line in said(done.stderr) if line != place] == ["wrote small.png"]
    done = ordinary("doctor", "--json")
    assert done.returncode == 0
    assert place in done.stdout
    assert list(home.iterdir()) == []


def test_code_that_a_read_only_home_holds_is_used(mfpde, here, home, ordinary, said):
    home.chmod(0o755)
    kernels(mfpde, home / ".cache" / "mfpde" / "kernels")
    home.joinpath(".cache", "mfpde", "kernels").chmod(0o555)
    home.chmod(0o555)
    done = ordinary("solve", "small.yaml")
    assert done.returncode == 0
    (line,) = said(done.stderr)
    assert line.startswith("compiled code is kept in ")
    assert list(here.glob("temporary/mfpde-*/kernels/*.nbc")) == [], "it was compiled again"
