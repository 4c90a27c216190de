"""setup.cfg lists packages and requirements by hand; here the lists are held against the folders."""

import importlib
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version


def test_package_list_is_what_the_folders_hold(house):
    found = {".".join(house.installed_as(path).parent.parts) for path in house.files("__init__.py")}
    assert sorted(house.packages) == sorted(found), "add the package to `packages` in setup.cfg, or it is not installed"


def test_every_module_is_in_a_listed_package(house):
    folders = {house.folder(package) for package in house.packages}
    lost = [str(path.relative_to(house.root)) for path in house.files("*.py") if path.parent not in folders]
    assert not lost, "these folders have no __init__.py or are not in setup.cfg's `packages`"


def test_links_lead_where_the_mapping_leads(house):
    if not (house.root / ".git").exists():
        pytest.skip("an unpacked sdist has no links: each file is in it once")
    for package, folder in house.mapping.items():
        link = house.root.joinpath(*package.split("."))
        if link != house.root / folder:
            assert link.readlink().as_posix() == f"../{folder}", f"{link} is committed as a link to ../{folder}"


def test_the_description_is_in_setup_cfg_alone(house):
    tables = tomllib.loads((house.root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "project" not in tables, "a [project] table makes setuptools ignore setup.cfg"


def _pins(house, name: str) -> dict[str, str]:
    lines = (house.root / ".ci" / name).read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(str(pin.specifier).startswith("==") for pin in pins)
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}


def _requirements(house, extras) -> list[Requirement]:
    options = house.description
    blocks = [options["options"]["install_requires"], *(options["options.extras_require"][name] for name in extras)]
    found = [Requirement(line) for block in blocks for line in block.split("\n") if line]
    return [requirement for requirement in found if requirement.name != "mfpde"]  # an extra that includes another


def test_every_requirement_is_pinned(house):
    pinned = _pins(house, "constraints.txt")
    for requirement in _requirements(house, house.description["options.extras_require"]):
        version = pinned.get(canonicalize_name(requirement.name), "")
        assert version, f".ci/constraints.txt does not pin {requirement.name}"
        assert requirement.specifier.contains(version), f"{requirement} excludes the pinned {version}"


def test_lower_bounds_are_the_oldest_versions_that_are_tested(house):
    tested = _pins(house, "oldest.txt")
    for requirement in _requirements(house, ["analysis", "mpi", "sweep"]):
        (bound,) = requirement.specifier
        version = tested[canonicalize_name(requirement.name)]
        assert bound.operator == ">=", f"setup.cfg admits any {requirement.name}"
        assert Version(bound.version) == Version(version), f"`make oldest` tests {requirement.name} {version}"


def test_entry_points_lead_somewhere(house):
    """xarray finds the engine `mfpde` by one of them."""
    found = house.description["options.entry_points"]
    assert set(found) == {"console_scripts", "xarray.backends"}
    for lines in found.values():
        for line in filter(None, lines.split("\n")):
            module, _, name = line.partition("=")[2].strip().partition(":")
            assert callable(getattr(importlib.import_module(module), name))


def test_no_family_needs_what_is_optional():
    """`make demo` installs none of the extras."""
    program = (
        "import sys\n"
        "for name in ('xarray', 'h5netcdf', 'distributed', 'mpi4py'): sys.modules[name] = None\n"
        "from mfpde.registry import FAMILIES, members\n"
        "for family in FAMILIES: members(family)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
