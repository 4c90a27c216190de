"""What the pages show runs, and what they refer to exists."""

import re
from pathlib import Path

import pytest
from generate.bibliography import cited, entries, with_citations
from generate.execution import PageError, blocks, execute, rendered

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUNNING = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"))]
TARGET = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
#: kinds, commands and cases have targets that are generated
GENERATED = re.compile(r"(kind|command|case)-")


def name(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


@pytest.mark.slow
@pytest.mark.parametrize(  # the tutorial takes long; `make docs` runs it, too
    "page",
    [pytest.param(page, marks=pytest.mark.long if name(page) == "tutorial" else ()) for page in RUNNING],
    ids=name,
)
def test_the_code_of_a_page_runs(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    outputs = execute(page, tmp_path)
    assert len(outputs) == len(blocks(text))
    figures = [block.options["figure"].split("|")[0].strip() for block in blocks(text) if "figure" in block.options]
    assert [figure for figure in figures if not (tmp_path / figure).stat().st_size] == []


def test_the_tutorial_runs_code():
    assert {"index", "tutorial", "extending"} <= {name(page) for page in RUNNING}


def test_a_page_that_fails_says_where(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```{run} python\nfine = 1\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(PageError, match=r"page\.md\", line 5[\s\S]*ZeroDivisionError"):
        execute(page, tmp_path / "run")


def test_a_command_must_leave_with_the_code_the_page_says(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{run} console\n:exit: 2\ntrue\n```\n", encoding="utf-8")
    with pytest.raises(PageError, match="left with 0, not 2"):
        execute(page, tmp_path / "run")


def test_output_and_figure_follow_the_code():
    text = "```{run} python\n:figure: a.png | a curve\nprint(1)\n```\nbetween\n```{run} console\n:hide:\nls\n```\n"
    shown = rendered(text, ["1\n", "hidden\n"], "there")
    assert shown.index("print(1)") < shown.index("class: output") < shown.index("![a curve](there/a.png)")
    assert "between" in shown
    assert "hidden" not in shown


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_citations_exist(page):
    assert [key for key in cited(page.read_text(encoding="utf-8")) if key not in entries()] == []


def test_citations_become_links():
    assert with_citations("{cite}`bertini2010`") == "[[Bertini et al. 2010](#bertini2010)]"
    with pytest.raises(KeyError):
        with_citations("{cite}`nobody1900`")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    everywhere = {target for other in PAGES for target in TARGET.findall(other.read_text(encoding="utf-8"))}
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("#"):
            assert link[1:] in everywhere or GENERATED.match(link[1:]), link
        elif "://" not in link:
            assert (page.parent / link).is_file(), link


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [name(page) for page in PAGES if page.stem != "index" and f"\n{name(page)}\n" not in index] == []


def test_nothing_is_fetched_from_elsewhere():
    """Neither when the pages are built nor when they are read: links in the text are all there is."""
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    styles = (DOCS / "static" / "mfpde.css").read_text(encoding="utf-8")
    assert "://" not in settings + styles
    assert "intersphinx" not in settings
