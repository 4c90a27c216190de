"""What made a run: versions, machine, seed, command line."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde._version import __version__
from mfpde.arguments import in_unicode

if TYPE_CHECKING:
    from mfpde.problem import Problem

__all__ = ["history_line", "provenance_of", "read_provenance", "write_numbers", "write_provenance"]

_PACKAGES = ("numpy", "scipy", "numba", "h5py")


def provenance_of(problem: Problem, statistics: Mapping[str, float], seconds: float = 0.0) -> dict[str, Any]:
    """Texts, the seed, and groups of texts and numbers."""
    return {
        "versions": dict(_versions()),
        "platform": _platform(),
        "cpu": _cpu(),
        "seed": int(getattr(problem.solver, "seed", None) or 0),
        "command": _command(*sys.argv),
        "timings": {"seconds": seconds},
        "statistics": {name: float(value) for name, value in statistics.items()},
    }


def history_line() -> str:
    """When and by which command, as the attribute `history` of a file says it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{now} {_command(*sys.argv)}"


# what every run of a process says alike is found out once


@cache
def _command(*words: str) -> str:
    return in_unicode(shlex.join(words))


@cache
def _platform() -> str:
    return platform.platform()


@cache
def _versions() -> dict[str, str]:
    found = {"mfpde": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


@cache
def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write_provenance(group: Any, provenance: dict[str, Any]) -> None:
    """As attributes of an HDF5 group and of its subgroups."""
    import h5py

    for name, value in provenance.items():
        if isinstance(value, dict):
            write_provenance(group.create_group(name), value)
        else:
            group.attrs[name] = value
    if "hdf5" not in group.attrs and group.name.endswith("versions"):
        group.attrs["hdf5"] = h5py.version.hdf5_version


def write_numbers(group: Any, numbers: dict[str, float]) -> None:
    """Numbers that change while a run goes on: overwritten where they stand."""
    for name, value in numbers.items():
        if name in group.attrs:
            group.attrs.modify(name, float(value))
        else:
            group.attrs.create(name, float(value))


def read_provenance(group: Any) -> dict[str, Any]:
    """What `write_provenance` wrote, in plain Python."""
    found: dict[str, Any] = {name: _plain(value) for name, value in group.attrs.items()}
    for name, item in group.items():
        if hasattr(item, "keys"):
            found[name] = read_provenance(item)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if hasattr(value, "item") else value
