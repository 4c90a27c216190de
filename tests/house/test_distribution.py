"""What is packed: each file once, the same from every source, and it runs where no checkout is."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NOT_PACKED = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", "*.egg-info", ".*cache")
EXAMPLE = "normalizations"  # few kernels, which are kept under the same names wherever the package is


@dataclass(frozen=True)
class Built:
    """An sdist, the wheel made from it, and the wheel made from the checkout."""

    sdist: Path
    wheel: Path
    wheel_from_checkout: Path


def build(kind: str, source: Path, target: Path) -> Path:
    """Call setuptools as a build front end does, in a process of its own and without fetching anything."""
    target.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (product,) = target.iterdir()
    return product


@pytest.fixture(scope="module")
def built(house, tmp_path_factory) -> Built:
    place = tmp_path_factory.mktemp("distribution")
    checkout = shutil.copytree(house.root, place / "checkout", symlinks=True, ignore=NOT_PACKED)
    wheel_from_checkout = build("wheel", checkout, place / "direct")
    sdist = build("sdist", checkout, place / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (unpacked,) = (place / "unpacked").iterdir()
    return Built(sdist, build("wheel", unpacked, place / "wheel"), wheel_from_checkout)


def wheel_files(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_sdist_has_every_file_once(house, built):
    with tarfile.open(built.sdist) as archive:
        packed = [name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()]
    assert len(packed) == len(set(packed))
    linked = tuple(f"{'/'.join(package.split('.'))}/" for package in house.mapping if "." in package)
    assert [name for name in packed if name.startswith(linked)] == []
    wanted = {str(path.relative_to(house.root)) for path in house.files("*.py", tests=True)}
    wanted |= {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "conftest.py"}
    wanted |= {".ci/constraints.txt", ".ci/run"}
    assert wanted <= set(packed)


def test_wheel_is_the_same_from_sdist_and_checkout(built):
    assert wheel_files(built.wheel) == wheel_files(built.wheel_from_checkout)


def test_wheel_holds_every_module_and_data_file(house, built):
    kinds = ("*.py", "*.yaml", "*.bib", "py.typed")
    wanted = {house.installed_as(path).as_posix() for kind in kinds for path in house.files(kind)}
    packed = {name for name in wheel_files(built.wheel) if ".dist-info/" not in name}
    assert packed == wanted


@pytest.fixture(scope="module")
def elsewhere(built, tmp_path_factory) -> Path:
    """An environment with the wheel in it, which borrows the dependencies of this one but not its editable mfpde."""
    environment = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, built.wheel], check=True, cwd=environment)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    purelib = subprocess.run(ask, check=True, capture_output=True, text=True)
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(purelib.stdout.strip(), "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n", encoding="utf-8")
    return environment


def test_installed_wheel_solves_an_example(elsewhere, tmp_path):
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(program: str, *arguments: str) -> str:
        command = [elsewhere / "bin" / program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("python", "-c", "import mfpde; print(mfpde.__file__)").startswith(str(elsewhere))
    run("mfpde", "examples", EXAMPLE, "-o", "problem.yaml")
    run("mfpde", "solve", "problem.yaml", "-o", "run.h5")
    assert (tmp_path / "run.h5").stat().st_size > 0
