"""What only a process of its own can show: start-up time, signals, pipes, the streams."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LONG = ["--set", "time={until: 1e6, save_every: 1000}", "--set", "noise.kappa=2"]


def finished(process, seconds=300):  # of a busy machine, kernels to be compiled included
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def test_help_loads_little(here):
    """Modules are what starting takes its time for; without mfpde there are about 80, with click another 60."""
    line = [sys.executable, "-X", "importtime", "-m", "mfpde", "--help"]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=here, env=surroundings, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "mfpde.cli" in loaded
    assert loaded & {"numpy", "numba", "h5py", "matplotlib", "pydantic", "rich", "scipy"} == set()
    assert len(loaded) < 250


def test_ctrl_c_while_the_commands_are_loaded(here):
    """A signal then arrives inside some import, wherever that is."""
    interrupted = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'mfpde.cli.solve':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import mfpde.cli"
    )
    done = subprocess.run(
        [sys.executable, "-c", interrupted],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_run_from_the_shell(command, said):
    code, out, err = finished(command("solve", "small.yaml"))
    assert code == 0
    assert said(err) == [] or [line.partition(",")[0] for line in said(err)] == ["compiling"]
    assert "finished at t = 1" in out


def test_bad_input_from_the_shell(command):
    code, out, err = finished(command("solve", "small.yaml", "--set", "noise.kappa=-1"))
    assert (code, out) == (2, "")
    assert err == "--set noise.kappa=-1: noise.kappa: must be greater than 0, not -1\n"


@pytest.mark.parametrize(
    "refused",
    [
        *(pytest.param(each, marks=pytest.mark.long) for each in (["-o", "no/such/folder/run.h5"], ["--resume"])),
        ["--set", "solver.kind=gaussian"],
    ],
)
def test_nothing_is_said_of_compiling_before_a_refusal(refused, command, here):
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(here / "empty")}
    code, out, err = finished(command("solve", "small.yaml", *refused, env=surroundings))
    assert (code, out) == (2, "")
    assert "compiling, once" not in err


def test_an_interrupted_run_is_130_and_can_be_resumed(command, mfpde):
    process = command("solve", "small.yaml", "-o", "long.h5", *LONG)
    wait_for_steps(Path("long.status.json"))
    code, out, _ = finished(command("info", "long.h5"))
    assert (code, "running" in out) == (0, True)
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        code, out, err = finished(process)
        assert code == 130
        assert "interrupted" in out
        assert "Traceback" not in err
        if number == signal.SIGINT:
            process = command("solve", "small.yaml", "-o", "long.h5", "--resume", *LONG)
            wait_for_steps(Path("long.status.json"))
    assert mfpde("info", "long.h5").exit_code == 0


def wait_for_steps(status: Path, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not status.exists() or (told := json.loads(status.read_text()))["doing"] != "steps" or told["step"] == 0:
        assert time.monotonic() < end, f"no step was taken: {status.name}"
        time.sleep(0.05)


def test_a_reader_that_leaves_is_no_error(command):
    reading, writing = os.pipe()
    os.close(reading)
    process = command("list", stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 141
    assert err == ""


def test_a_terminal_without_unicode_is_no_error(command, here, monkeypatch):
    (here / "umlaut.yaml").write_text("geometry: {kind: circle}\nκappa: 3\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    process = command("check", "umlaut.yaml", env={**os.environ, "PYTHONPATH": str(ROOT)})
    code, _, err = finished(process)
    assert code == 2
    assert "\\u03baappa" in err
