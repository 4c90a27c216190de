"""The sources that mfpde cites: the entries of `references.bib`, and each of them in a line of text."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

__all__ = ["bibliography", "keys_in", "reference"]

_KEY = re.compile(r"\b[a-z]+(?:19|20)\d\d[a-z]*\b")
_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303"}  # combining characters
_LETTERS = {r"\o": "ø", r"\ss": "ß", r"\l": "ł"}


@lru_cache(maxsize=1)
def bibliography() -> dict[str, str]:
    """The entries of references.bib by key."""
    text = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    entries = re.finditer(r"^@\w+\{(?P<key>[^,]+),.*?^\}", text, re.MULTILINE | re.DOTALL)
    return {entry["key"]: entry[0] for entry in entries}


def keys_in(text: str) -> list[str]:
    """Those that a text names, `[castin2025]`, in its order and each once."""
    return [key for key in dict.fromkeys(_KEY.findall(text)) if key in bibliography()]


def reference(key: str) -> str:
    """Authors, title, where and when.

    >>> reference("rigollet2025")
    'Rigollet: The mean-field dynamics of Transformers, 2025, arXiv:2512.01868'
    """
    entry = re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", bibliography()[key], re.MULTILINE)
    fields = {name: _unicode(text) for name, text in entry}
    authors = ", ".join(name.split(",")[0] for name in fields["author"].split(" and ")).replace(", others", " et al.")
    place = [fields[each] for each in ("journal", "booktitle", "publisher") if each in fields][:1]
    number = [each + fields[name] for name, each in (("doi", "doi:"), ("eprint", "arXiv:")) if name in fields][:1]
    return ", ".join([f"{authors}: {fields['title']}", *place, fields["year"], *number])


def _unicode(text: str) -> str:
    r"""Of LaTeX: `Peyr{\'e}`."""
    for command, letter in _LETTERS.items():
        text = text.replace("{" + command + "}", letter)
    accented = re.sub(r"\{\\([\'`\"^~])(\w)\}", lambda found: found[2] + _ACCENTS[found[1]], text)
    return unicodedata.normalize("NFC", accented).replace("{", "").replace("}", "").replace("--", "\u2013")
