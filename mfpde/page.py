"""One page of HTML that holds all it shows: nothing is fetched, only references link elsewhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from html import escape

from mfpde.bibliography import reference

__all__ = ["document", "picture", "references"]

# no style of the browser is overruled where that depends on light and dark; paper gets what the screen has
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{border-bottom:1px solid #8888;padding:.2em .6em;text-align:left;vertical-align:top;font-weight:normal}"
    "td.number{font-family:monospace;text-align:right}tr.failed{background:#fdd;color:#000}"
    "img{max-width:100%;background:#fff}img,tr{break-inside:avoid}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
)
#: what a browser may do with the page, should text of a file get past `escape`: fetch nothing, send nothing
_ALLOWED = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
_PLACES = {"doi": "https://doi.org/", "arXiv": "https://arxiv.org/abs/"}


def document(title: str, body: str, style: str = "") -> str:
    """The page; `title` is text, `body` is HTML."""
    head = (
        f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_ALLOWED}">'
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style>"
    )
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head><body>\n{body}\n</body></html>\n"


def picture(png: bytes, words: str, attributes: str = "") -> str:
    """A PNG file's content, and the words for who does not see it.

    >>> picture(b"PNG", "a <curve>")
    "<img alt='a &lt;curve&gt;' src='data:image/png;base64,UE5H'>"
    """
    data = base64.b64encode(png).decode()
    return f"<img alt='{escape(words)}' {attributes}{' ' if attributes else ''}src='data:image/png;base64,{data}'>"


def references(keys: Iterable[str]) -> str:
    """The list of these sources with links to them; nothing where there are none.

    >>> references(["rigollet2025"]).partition("2025, ")[2]
    "<a href='https://arxiv.org/abs/2512.01868'>arXiv:2512.01868</a></li></ul>"
    """
    rows = "\n".join(f"<li>[{key}] {_linked(escape(reference(key)))}</li>" for key in keys)
    return f"<h2>References</h2><ul>{rows}</ul>" if rows else ""


def _linked(line: str) -> str:
    """Its doi or arXiv number as a link."""
    link = r"<a href='{}\2'>\1:\2</a>"
    for kind, place in _PLACES.items():
        line = re.sub(rf"\b({kind}):(\S+)$", link.format(place), line)
    return line
