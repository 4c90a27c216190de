"""What happens to a page before it is parsed: its code is run, its generated parts and citations are put in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from generate.bibliography import bibliography, with_citations
from generate.cases import cases
from generate.command_line import commands
from generate.execution import blocks, execute, rendered
from generate.problem_file import block, kinds, top
from generate.steppers import steppers

__all__ = ["setup"]

_PLACE = re.compile(r"^<!-- generate: ([\w-]+)(?: ([\w-]+))? -->$", re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of sources."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _read(app: Any, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    folder = Path(app.outdir).parent / "pages" / docname
    seen = Path(os.path.relpath(folder, page.parent)).as_posix()
    text = source[0]
    if blocks(text):
        text = rendered(text, execute(page, folder), seen)
    text, count = _PLACE.subn(lambda match: _generated(match[1], match[2], folder, seen), text)
    if text != source[0] or count:
        app.env.note_reread()  # what is shown depends on the package, not on the page alone
    source[0] = with_citations(text)


def _generated(what: str, argument: str | None, folder: Path, seen: str) -> str:
    makers: dict[str, Callable[[], str]] = {
        "problem-keys": top,
        "block": lambda: block(str(argument)),
        "kinds": lambda: kinds(str(argument)),
        "commands": commands,
        "cases": lambda: cases(folder, seen),
        "bibliography": bibliography,
        "steppers": steppers,
    }
    return makers[what]()
