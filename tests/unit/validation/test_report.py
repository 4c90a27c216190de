"""Checks, reports and what is written of them."""

import json
import math

import pytest

import mfpde
from mfpde.registry import members
from mfpde.validation import Card, Check, Report


def equal(measured: float, expected: float = 1.0, tolerance: float = 0.5) -> Check:
    return Check.equal("claim <1>", "source & page", expected=expected, measured=measured, tolerance=tolerance)


@pytest.mark.parametrize(
    ("measured", "passed"),
    [(1.0, True), (1.5, True), (0.5, True), (1.6, False), (0.4, False), (math.nan, False), (math.inf, False)],
)
def test_equal(measured, passed):
    assert equal(measured).passed is passed


def test_nothing_passes_against_nan():
    assert not equal(1.0, expected=math.nan).passed
    assert not equal(1.0, tolerance=math.nan).passed


@pytest.mark.parametrize(("measured", "below", "above"), [(1, True, True), (0, True, False), (2, False, True)])
def test_bounds(measured, below, above):
    bounds = {"bound": 1.0, "measured": measured}
    assert Check.at_most("c", "s", **bounds).passed is below
    assert Check.at_least("c", "s", **bounds).passed is above
    assert not Check.at_most("c", "s", bound=1.0, measured=math.nan).passed
    assert not Check.at_least("c", "s", bound=1.0, measured=math.nan).passed


def test_errors_are_distances_to_what_is_allowed():
    assert equal(1.25).error == 0.25
    assert Check.at_most("c", "s", bound=1.0, measured=0.5).error == 0
    assert Check.at_most("c", "s", bound=1.0, measured=1.5).error == 0.5
    assert Check.at_least("c", "s", bound=1.0, measured=0.5).error == 0.5


def test_a_report_passes_when_all_checks_do():
    good, bad = Report("good", own=(equal(1.0),)), Report("bad", own=(equal(1.0), equal(3.0)))
    assert good.passed
    assert not bad.passed
    assert len(bad.failed) == 1
    assert not Report("both", parts=(good, bad)).passed
    assert len(Report("both", parts=(good, bad)).checks) == 3
    assert not Report("nothing was checked").passed


def test_a_report_is_data_and_pages(tmp_path):
    def draw(figure) -> None:
        figure.subplots().plot([0, 1])

    parts = (Report("one", "first claim", (equal(1.0),), draw), Report("two", "second", (equal(math.nan),), draw))
    report = Report("validation", parts=parts)
    page = report.write(tmp_path / "deep" / "folder")
    text = page.read_text(encoding="utf-8")
    assert "claim &lt;1&gt;" in text
    assert "source &amp; page" in text
    assert "1 of 2 checks failed" in text
    assert text.count("data:image/png;base64,") == 2
    assert "://" not in text  # self-contained
    data = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert data == report.to_dict()
    assert data["passed"] is False
    assert data["parts"][1]["checks"][0]["measured"] == "nan"
    for name in ("one", "two"):
        assert (page.parent / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(report.figure().subfigs) == 2


def test_a_page_says_what_its_keys_stand_for():
    check = Check.equal("claim", "rates [fournier2015]", expected=0, measured=0, tolerance=1)
    page = Report("one", own=(check,), citations=("castin2025",)).to_html()
    assert "[castin2025] Castin, Ablin, Carrillo, Peyré: A unified perspective" in page
    assert "[fournier2015] Fournier, Guillin: On the rate of convergence" in page
    assert "References" not in Report("one", own=(equal(1.0),)).to_html()


def test_a_report_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(mfpde.OutputError, match=r"file: it is a file, and a folder is wanted$"):
        Report("one", own=(equal(1.0),)).write(tmp_path / "file")


@pytest.mark.parametrize("name", list(members("case")))
def test_every_case_has_a_card(name):
    case = members("case")[name]()
    assert case.name == name
    assert isinstance(case.card, Card)
    assert case.card.tolerance <= 1e-6
    assert len(case.card.claim) > 20
    assert case.card.full.keys() >= case.card.quick.keys()
    assert case.problem().geometry == (mfpde.Plane() if name == "gaussian-closed-form" else mfpde.Circle())
