"""The page of a result: what it is, its figure, its snapshots behind a slider, its problem, its references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from mfpde._version import __version__
from mfpde.contracts import Result
from mfpde.page import document, picture, references

__all__ = ["page"]

_MAX_FRAMES = 41  # 40 steps of the slider; some 70 kB each: the page stays small enough for a mail

_STYLE = (
    "h2::first-letter{text-transform:uppercase}tr>th{width:14em}"
    "#frames img{display:block}#frames [hidden]{display:none}"
    "#time{width:100%}output{font-family:monospace}@media print{#time{display:none}}"
)
_SCRIPT = """
const slider = document.getElementById("time"), clock = document.getElementById("clock");
const frames = document.querySelectorAll("#frames img");
function show() {
  frames.forEach((frame, place) => { frame.hidden = place !== slider.valueAsNumber; });
  clock.value = frames[slider.valueAsNumber].dataset.time;
  slider.setAttribute("aria-valuetext", clock.value);
}
slider.addEventListener("input", show);
show();
"""
# without scripts all frames stand below each other
_WITHOUT_SCRIPT = "<noscript><style>#frames [hidden]{display:block}#time{display:none}</style></noscript>"


def page(result: Result, facts: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """HTML that holds everything; `facts` are tables by their headings, the first has none."""
    title = result.problem.title or Path(result.path or type(result).__name__).name
    kind = type(result).__name__.lower()
    extent = "; ".join(f"{name} {value}" for name, value in result.summary().extent.items())
    tables = "\n".join(_table(heading, rows) for heading, rows in facts.items())
    parts = [
        f"<h1>{escape(title)}</h1>\n<p>{kind}, {escape(str(result.outcome))}</p>",
        f"<p>{picture(_figure(result), f'figure of the {kind} {title}: {extent}')}</p>",
        _slider(title, result.frames(_MAX_FRAMES)),
        tables,
        f"<h2>problem</h2>\n<pre>{escape(result.problem.to_yaml())}</pre>",
        references(result.citations()),
        f"<footer><p>page made by mfpde {__version__}</p></footer>",
    ]
    return document(title, "\n".join(filter(None, parts)), _STYLE)


def _figure(result: Result) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        result.plot(path)
        return path.read_bytes()


def _slider(title: str, frames: Sequence[tuple[float, bytes]]) -> str:
    """The first of the frames, and a slider that shows the others; a single one is in the figure, too."""
    if len(frames) < 2:
        return ""
    clocks = [f"t = {time:.6g}" for time, _ in frames]
    shown = "\n".join(
        picture(png, f"{title} at {clock}", f"data-time='{clock}'{' hidden' if place else ''}")
        for place, (clock, (_, png)) in enumerate(zip(clocks, frames, strict=True))
    )
    return (
        f"<h2>through time</h2>\n<p><label for='time'>{len(frames)} of its snapshots; arrow keys move from one to the "
        f"next:</label> <output id='clock' for='time'>{clocks[0]}</output><br>\n"
        f"<input type='range' id='time' min='0' max='{len(frames) - 1}' value='0' aria-valuetext='{clocks[0]}'></p>\n"
        f"<div id='frames'>\n{shown}\n</div>\n{_WITHOUT_SCRIPT}\n<script>{_SCRIPT}</script>"
    )


def _table(heading: str, rows: Iterable[tuple[str, str]]) -> str:
    """Names and values; nothing where there are none."""
    shown = "\n".join(f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    above = f"<h2>{escape(heading)}</h2>\n" if heading else ""
    return f"{above}<table>\n{shown}\n</table>" if shown else ""
