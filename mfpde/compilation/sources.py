"""What the code of a kernel depends on: the sources of its module and of all that it imports, and the surroundings."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["imported_names", "module_file", "source_digest", "sources", "surroundings"]

_OWN = __name__.partition(".")[0]
_ROOT = Path(__file__).resolve().parents[1]
_BEGAN = time.time()
# reading a file's imports with `ast` takes 1 ms for each hundred lines, at every start; a test holds this against `ast`
_IMPORT = re.compile(
    r"""(?:^|[;:])[ \t]*(?:
        from[ \t]+(?P<origin>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|(?:\\\n|[^\n;])*)
        |import[ \t]+(?P<modules>(?:\\\n|[^\n;])*)
    )""",
    re.MULTILINE | re.VERBOSE,
)
#: settings of numba that say where code is kept or how many threads there are, not what the code is
_WITHOUT_EFFECT = ("CACHE_DIR", "NUM_THREADS", "DEBUG_CACHE")


def imported_names(source: str, module: str, *, is_package: bool) -> set[str]:
    """Whatever a source may import: `from a import b` is a and, in case b is a module, a.b; also within functions."""
    found: set[str] = set()
    for match in _IMPORT.finditer(source):
        if match["modules"] is not None:
            found.update(_first_words(match["modules"]))
            continue
        origin = match["origin"]
        level = len(origin) - len(origin.lstrip("."))
        if level:
            parents = module.split(".")[: len(module.split(".")) - level + is_package]
            origin = ".".join([*parents, *filter(None, [origin[level:]])])
        found.add(origin)
        found.update(f"{origin}.{name}" for name in _first_words(match["names"]))
    return found


def _first_words(listed: str) -> Iterator[str]:
    """`(a as b, c,  # d` names a and c."""
    for item in re.sub(r"#[^\n]*|[()\\]", " ", listed).split(","):
        words = item.split()
        if words:
            yield words[0]


def module_file(module: str) -> Path | None:
    """The file of a module of this package, or of one that is loaded; None for what is neither."""
    folder, _, name = module.rpartition(".")
    parent = _package_folder(folder)
    if parent is None:
        loaded = getattr(sys.modules.get(module), "__file__", None)
        return Path(loaded) if loaded else None
    for file in (f"{parent}/{name}.py", f"{parent}/{name}/__init__.py"):
        if os.path.isfile(file):  # noqa: PTH113  asked a thousand times at a start
            return Path(file)
    return None


@cache
def _package_folder(package: str) -> Path | None:
    """Where a package's modules are; packages that are not loaded are looked for in the folder of the one above."""
    if package == _OWN:
        return _ROOT
    loaded = getattr(sys.modules.get(package), "__path__", None)
    if loaded:
        return Path(next(iter(loaded)))
    above, _, name = package.rpartition(".")
    parent = _package_folder(above) if above else None
    return parent / name if parent is not None and (parent / name).is_dir() else None


class Source(NamedTuple):
    """A module's file and what it may import."""

    content: bytes
    imports: frozenset[str]
    edited: bool  # since this process began: what was imported may be something else


@cache
def _source(module: str) -> Source | None:
    """None for a name that is no module."""
    file = module_file(module)
    if file is None:
        return None
    content, changed = file.read_bytes(), file.stat().st_mtime
    text = content.decode("utf-8", errors="replace")
    names = imported_names(text, module, is_package=file.name == "__init__.py")
    return Source(content, frozenset(names), _BEGAN < changed <= time.time())


def sources(module: str) -> dict[str, Source]:
    """A module and every module that it imports from its own package or from this one, directly or not, by name."""
    own = {_OWN, module.partition(".")[0]}
    found: dict[str, Source] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        source = None if name in found or name.partition(".")[0] not in own else _source(name)
        if source is not None:
            found[name] = source
            ahead.extend(source.imports)
    return found


@cache
def source_digest(module: str) -> str | None:
    """Hash of `sources`; None where they cannot be read or were edited since, so that nothing must be kept."""
    try:
        found = sources(module)
    except OSError:
        return None
    if module not in found or any(source.edited for source in found.values()):
        return None
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f"{name} {len(found[name].content)}\n".encode())
        digest.update(found[name].content)
    return digest.hexdigest()


@cache
def surroundings() -> tuple[Any, ...]:
    """What else compiled code depends on: the versions of all that makes it, and how numba was set up."""
    import llvmlite
    import numba
    import numpy as np

    settings = vars(numba.config)
    return (
        sys.version,
        platform.machine(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        *(
            (name, settings[name])
            for name in sorted(settings)
            if name.isupper()
            and isinstance(settings[name], bool | int | float | str)
            and not any(word in name for word in _WITHOUT_EFFECT)
        ),
    )
