"""`mfpde report`: what is on the page, and that it needs nothing else."""

import base64
from html.parser import HTMLParser
from pathlib import Path

import pytest

import mfpde as package

EMPTY = {"br", "img", "input", "meta"}  # elements that have no end


class Page(HTMLParser):
    """The elements of a page, with the texts of `title` and `h1`; fails where ends are missing."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(mfpde, solved) -> Page:
    result = mfpde("report", "small.h5")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "wrote small.html\n")
    return Page(Path("small.html"))


def test_the_slider_has_the_snapshots_of_the_run(page):
    (slider,) = page.all("input")
    figure, *frames = page.all("img")
    assert (slider["type"], slider["min"], slider["value"], slider["max"]) == ("range", "0", "0", "2")
    assert [frame["data-time"] for frame in frames] == ["t = 0", "t = 0.5", "t = 1"]
    assert ["hidden" in frame for frame in frames] == [False, True, True]
    assert len({frame["src"] for frame in frames}) == 3
    assert figure["alt"] == "figure of the run small: times 0 to 1, 3 snapshots"
    assert [frame["alt"] for frame in frames] == ["small at t = 0", "small at t = 0.5", "small at t = 1"]
    labels = {label["for"] for label in page.all("label")}
    assert labels == {slider["id"]}
    for image in (figure, *frames):
        kind, _, data = image["src"].partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")


def test_it_needs_no_network(page):
    assert {tag for tag, _ in page.elements}.isdisjoint({"link", "iframe", "object", "base", "form"})
    assert [attributes for attributes in page.all("script") if "src" in attributes] == []
    targets = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    assert "https://arxiv.org/abs/2512.01868" in targets  # rigollet2025
    assert all(target.startswith(("https://doi.org/", "https://arxiv.org/abs/")) for target in targets)
    text = Path("small.html").read_text(encoding="utf-8")
    assert text.count("://") == len(targets)
    assert "url(" not in text


def test_it_tells_what_info_tells(mfpde, page):
    told = mfpde("info", "small.h5").stdout
    order = package.load("small.h5")["order-parameter"][-1]
    assert f"{order:.6g}" in told
    assert f"{order:.6g}" in page.texts["td"]
    for words in ("small.h5", "finished at t = 1", "256 theta", package.__version__):
        assert words in page.texts["td"]
    assert "expression: 1 + 0.1*cos(theta)" in page.texts["pre"]


def test_text_of_a_file_is_text(mfpde, here):
    title = """</title><script>alert("a" & 'b')</script>"""
    Path("small.yaml").write_text(
        Path("small.yaml").read_text().replace("title: small", f"title: >-\n  {title}"), encoding="utf-8"
    )
    assert mfpde("solve", "small.yaml", "--quiet").exit_code == 0
    assert mfpde("report", "small.h5").exit_code == 0
    page = Page(Path("small.html"))
    assert (page.texts["title"], page.texts["h1"]) == (title, title)
    assert title in page.texts["pre"]
    assert len(page.all("script")) == 1
    assert "alert" not in page.texts["script"]
    assert page.all("img")[1]["alt"] == f"{title} at t = 0"


def test_the_same_run_makes_the_same_page_which_is_not_overwritten_unasked(mfpde, page):
    first = Path("small.html").read_bytes()
    Path("small.html").write_bytes(b"mine")
    again = mfpde("report", "small.h5")
    assert (again.exit_code, again.stderr) == (2, "small.html exists; --force overwrites it\n")
    assert Path("small.html").read_bytes() == b"mine"
    assert mfpde("report", "small.h5", "--force").exit_code == 0
    assert Path("small.html").read_bytes() == first


def test_what_cannot_be_read_or_written_is_a_sentence(mfpde, solved):
    Path("cut.h5").write_bytes(Path("small.h5").read_bytes()[:3000])
    for arguments, words in (
        (["cut.h5"], "cut.h5 is damaged or cut short"),
        (["small.h5", "-o", "no/such.html"], "cannot write no/such.html: there is no folder no"),
        (["small.h5", "-o", "small.h5"], "small.h5 must end in one of .html"),
    ):
        result = mfpde("report", *arguments)
        assert (result.exit_code, words in result.stderr) == (2, True), result.stderr
    assert list(Path().glob("*.html")) == []


def test_the_page_of_a_validation_is_the_one_that_is_there(mfpde, here):
    Path("out").mkdir()
    Path("out/report.json").write_text("{}")
    missing = mfpde("report", "out")
    assert (missing.exit_code, "out has not: No such file" in missing.stderr) == (2, True)
    Path("out/index.html").write_text("<!DOCTYPE html>")
    assert mfpde("report", "out").stderr == f"wrote {Path('out/report.html')}\n"
    assert mfpde("report", "out/report.json", "-o", "mine.html").exit_code == 0
    assert Path("out/report.html").read_text() == Path("mine.html").read_text() == "<!DOCTYPE html>"
