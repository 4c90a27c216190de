"""`mfpde doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from mfpde.cli.exit_codes import CHECK_FAILED
from mfpde.cli.options import as_json, print_json

__all__ = ["doctor"]

PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "h5py", "matplotlib", "pydantic", "ruamel.yaml", "click", "rich",
    "threadpoolctl", "xarray", "h5netcdf",
)  # fmt: skip
ALLOWED = 1e-6  # of the self-test, relative to the largest density: what the default tolerance promises


@click.command(short_help="Show versions and backends, run a self-test.")
@as_json
def doctor(as_json: bool) -> int:
    """Show versions, threads, FFT and BLAS backends, and solve a small problem against its exact solution."""
    from mfpde.cli.compiling import told_of_compiling
    from mfpde.cli.tables import columns, number

    sections: dict[str, dict[str, Any]] = {
        "versions": _versions(),
        "threads": _threads(),
        "backends": _backends(),
        "surroundings": _surroundings(),
    }
    if not as_json:
        for name, rows in sections.items():
            shown = [[key, number(value)] for key, value in rows.items()]
            click.echo(f"{name}\n{columns(shown, indent='  ')}")
        click.echo("self-test ...", err=True)
    with told_of_compiling(quiet=as_json):
        test = _self_test()
    if as_json:
        print_json({**sections, "self-test": test})
    else:
        click.echo(f"self-test\n{columns([[key, number(value)] for key, value in test.items()], indent='  ')}")
    return 0 if test["passed"] else CHECK_FAILED


def _versions() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    from mfpde._version import __version__

    found: dict[str, Any] = {"mfpde": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _threads() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {"processors": os.cpu_count(), "usable": usable, **{name: os.environ.get(name, "not set") for name in names}}


def _backends() -> dict[str, Any]:
    import h5py
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    found: dict[str, Any] = {"HDF5": h5py.version.hdf5_version, "FFT": "compiled, mfpde's own"}
    scipy.linalg.blas.ddot(np.ones(2), np.ones(2))  # loads scipy's BLAS, which may be another one than numpy's
    for index, library in enumerate(item for item in threadpool_info() if item.get("user_api") == "blas"):
        name = f"{library.get('internal_api')} {library.get('version')}, {library.get('num_threads')} threads"
        owner = next((owner for owner in ("numpy", "scipy") if f"/{owner}" in str(library.get("filepath"))), index + 1)
        found[f"BLAS of {owner}" if isinstance(owner, str) else f"BLAS {owner}"] = name
    return found


def _surroundings() -> dict[str, Any]:
    return {
        "kernel cache": _kernel_cache(),
        "temporary files": _temporary_files(),
        "ffmpeg": shutil.which("ffmpeg") or "not found: movies as .gif only",
        "python": sys.executable,
    }


def _kernel_cache() -> str:
    from mfpde.cli.compiling import kept_elsewhere
    from mfpde.compilation import cache_folder

    return kept_elsewhere() or f"{cache_folder()} (writable)"


def _temporary_files() -> str:
    try:
        folder = Path(tempfile.gettempdir())
    except FileNotFoundError:
        return "none: no folder for temporary files can be written"
    return f"{folder} ({_writable(folder)})"


def _writable(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return "writable"
    except OSError as error:
        return f"not writable: {error.strerror}"


def _self_test() -> dict[str, Any]:
    """Kuramoto's model without noise, held against its closed form."""
    from mfpde.problem import Problem
    from mfpde.run_loop import solve

    problem = Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": "unnormalized", "beta": 0},
            "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta - 1) + 0.3*sin(2*theta)"},
            "time": {"until": 2, "save_every": 0.5},
            "compare": {"kind": "moebius", "distance": "maximum", "tolerance": ALLOWED},
        }
    )
    start = time.perf_counter()
    run = solve(problem)
    assert run.agreement is not None  # noqa: S101 - the problem asks for it
    return {
        "claim": "noiseless Kuramoto moves densities by Moebius maps of the circle",
        "expected": 0.0,
        "measured": run.agreement.worst,
        "difference": run.agreement.worst,
        "seconds": time.perf_counter() - start,
        "passed": run.outcome.complete and run.agreement.passed,
    }
