"""Files that are either written completely or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde._version import __version__
from mfpde.arguments import file_path
from mfpde.errors import MfpdeError
from mfpde.plotting.style import look
from mfpde.store.atomic_file import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "extension_of", "save"]

FIGURES = (".png", ".pdf", ".svg")
_SOURCE = f"mfpde {__version__}"
# None removes what matplotlib would write by itself: the same figure makes the same bytes
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": _SOURCE},
    ".pdf": {"Creator": _SOURCE, "CreationDate": None},
    ".svg": {"Creator": _SOURCE, "Date": None},
}


def extension_of(path: str | Path, allowed: Sequence[str], what: str, otherwise: str = "") -> str:
    """The extension in small letters; one that is not allowed is an error that names those that are."""
    extension = file_path("path", path, f"run{allowed[0]}").suffix.lower()
    if extension not in allowed:
        wanted = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        given = repr(extension) if extension else "without an extension"
        raise MfpdeError(f"{path}: a {what} is written as {wanted}, not {given}{otherwise}")
    return extension


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as .png, .pdf or .svg: with the version, without the date, the same bytes every time."""
    extension = extension_of(path, FIGURES, "figure", " (movies are .mp4 or .gif)")
    with replacing(path) as part, look():
        # in vector graphics the dots per inch are those of the colour map alone
        dots = "figure" if extension == ".png" else 300
        figure.savefig(part, format=extension[1:], dpi=dots, metadata=_METADATA[extension])
    return Path(path)
