"""The checkout as these tests see it: setup.cfg's packages, their folders and their modules."""

import configparser
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class House:
    """The repository: `root`, the listed `packages` and the `mapping` from package to top-level folder."""

    root: Path
    description: configparser.ConfigParser
    packages: tuple[str, ...]
    mapping: dict[str, str]

    def folder(self, package: str) -> Path:
        """Where a package's files are, following the longest entry of package_dir."""
        owner = max((name for name in self.mapping if f"{package}.".startswith(f"{name}.")), key=len)
        below = package.removeprefix(owner).strip(".")
        return self.root.joinpath(self.mapping[owner], *below.split(".")) if below else self.root / self.mapping[owner]

    def files(self, pattern: str, *, tests: bool = False) -> list[Path]:
        """All files of a kind below the packages' folders (and the tests), each once: links are not followed."""
        folders = [*self.mapping.values(), *(["tests"] if tests else [])]
        return sorted(path for folder in folders for path in (self.root / folder).rglob(pattern))

    def installed_as(self, file: Path) -> Path:
        """The place of a file of the checkout in an installation: solvers/x.py is mfpde/solvers/x.py."""
        relative = file.relative_to(self.root)
        owner = next(name for name, folder in self.mapping.items() if folder == relative.parts[0])
        return Path(*owner.split("."), *relative.parts[1:])

    def modules(self) -> dict[str, Path]:
        """Every module by the name it is imported under."""
        return {module_name(self.installed_as(path)): path for path in self.files("*.py")}


def module_name(installed: Path) -> str:
    """`mfpde/solvers/__init__.py` is `mfpde.solvers`."""
    parts = installed.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module", autouse=True)
def no_collections() -> Iterator[None]:
    """Syntax trees are a million objects without cycles: garbage collections would take two thirds of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def house() -> House:
    root = Path(__file__).resolve().parents[2]
    description = configparser.ConfigParser()
    description.read(root / "setup.cfg", encoding="utf-8")
    options = description["options"]
    mapping = dict(line.split(" = ") for line in options["package_dir"].split("\n") if line)
    return House(root, description, tuple(options["packages"].split()), mapping)
