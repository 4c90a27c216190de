"""The bibliography: mfpde/references.bib as a page, and `{cite}` as links to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mfpde

__all__ = ["Entry", "bibliography", "cited", "entries", "with_citations"]

_CITE = re.compile(r"\{cite\}`([^`]+)`")
_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.MULTILINE)
_ACCENTS = {r"{\'e}": "é", r"{\'a}": "á", r"{\o}": "ø", r"{\"o}": "ö", r"{\`e}": "è", r"{\"u}": "ü"}


@dataclass(frozen=True)
class Entry:
    """One source, its fields as plain text."""

    key: str
    fields: dict[str, str]

    @property
    def authors(self) -> list[tuple[str, str]]:
        """Family and given names."""
        pairs = (name.partition(", ") for name in self.fields["author"].split(" and "))
        return [(family, given) for family, _, given in pairs]

    @property
    def label(self) -> str:
        """`Castin et al. 2025`, as it stands in a text."""
        families = [family for family, _ in self.authors]
        who = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
        return f"{who} {self.fields['year']}"

    def line(self) -> str:
        """The entry of the list, in Markdown."""
        fields = self.fields
        who = ", ".join(f"{given} {family}".strip() for family, given in self.authors)
        where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher", "")
        volume = f"{fields['volume']}({fields['number']})" if "number" in fields else fields.get("volume", "")
        place = " ".join(part for part in (f"*{where}*" if where else "", volume) if part)
        parts = [who, f"**{fields['title']}**", place, fields.get("pages", "").replace("--", "–"), fields["year"]]
        links = []
        if "eprint" in fields:
            links.append(f"[arXiv:{fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})")
        if "doi" in fields:
            links.append(f"[doi](https://doi.org/{fields['doi']})")
        return ". ".join([", ".join(part for part in parts if part), *links])


@cache
def entries() -> dict[str, Entry]:
    """All sources by key."""
    text = (Path(mfpde.__file__).parent / "references.bib").read_text(encoding="utf-8")
    return {
        key: Entry(key, {name: _plain(value) for name, value in _FIELD.findall(body)})
        for _, key, body in _ENTRY.findall(text)
    }


def _plain(value: str) -> str:
    for written, letter in _ACCENTS.items():
        value = value.replace(written, letter)
    return re.sub(r"\s+", " ", value.replace("{", "").replace("}", "").replace("--", "–"))


def bibliography() -> str:
    """The list, by first author and year, each with its key as target."""
    ordered = sorted(entries().values(), key=lambda entry: (entry.authors[0][0].lower(), entry.fields["year"]))
    return "\n\n".join(f"({entry.key})=\n{entry.line()}. `{entry.key}`" for entry in ordered)


def cited(text: str) -> list[str]:
    """The keys a page cites."""
    return [key.strip() for keys in _CITE.findall(text) for key in keys.split(",")]


def with_citations(text: str) -> str:
    """Every `{cite}` as links to the bibliography."""
    known = entries()

    def links(match: re.Match[str]) -> str:
        keys = [key.strip() for key in match[1].split(",")]
        return "[" + "; ".join(f"[{known[key].label}](#{key})" for key in keys) + "]"

    return _CITE.sub(links, text)
