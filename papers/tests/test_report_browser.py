"""The report as a reader meets it: a quick run, opened from disk in headless Chromium."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from tests.browser_support import CHROMIUM, FLAGS, MARKS, SIDEWAYS, playwright

from discreet_papers.catalogue import ITEMS
from discreet_papers.claims import claim_ids
from discreet_papers.figure import Figure
from discreet_papers.run import ReproductionPlan, reproduce_all

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

PHONE: "ViewportSize" = {"width": 390, "height": 844}
WIDE: "ViewportSize" = {"width": 1400, "height": 1000}

pytestmark = MARKS


@contextmanager
def _opened(report: Path, profile: Path, viewport: "ViewportSize", scheme: Literal["light", "dark"]) -> Iterator["Page"]:
    """The report in a fresh profile; whatever goes wrong on the page or is fetched from anywhere but the disk is an error."""
    wrong: list[str] = []
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=list(FLAGS), headless=True, viewport=viewport, color_scheme=scheme
        )
        try:
            page = context.new_page()
            page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(request.url))
            page.goto(report.as_uri())
            yield page
        finally:
            context.close()
    assert wrong == []


def _every_figure_is_visible(page: "Page") -> None:
    figures = [item for item in ITEMS.values() if isinstance(item, Figure)]
    for figure in figures:
        panels = page.locator(f'[id="{figure.id}"] .panel svg')
        assert panels.count() == len(figure.panels), figure.id
        assert page.locator(f'[id="{figure.id}"] .legend').count() == 1, figure.id
        for i in range(panels.count()):
            box = panels.nth(i).bounding_box()
            assert panels.nth(i).is_visible()
            assert box is not None
            assert box["width"] > 250
            assert box["height"] > 200
    for item in ITEMS.values():
        assert page.locator(f'[id="{item.id}"]').is_visible()


def _letters_are_equally_large(page: "Page") -> None:
    """A point of every panel, of however many a figure has, is a point of the page: 4/3 pixels."""
    scales = page.eval_on_selector_all(".panel svg", "all => all.map(one => one.getBoundingClientRect().width / one.viewBox.baseVal.width)")
    assert scales == pytest.approx([4 / 3] * len(scales), rel=1e-3)
    assert len(scales) > len(ITEMS)


def _ids(page: "Page") -> list[str]:
    found: list[str] = page.eval_on_selector_all("#claims > tbody > tr:not([hidden])", "rows => rows.map(row => row.cells[0].textContent)")
    return found


def _no_sideways_scrolling(page: "Page") -> None:
    assert not page.evaluate(SIDEWAYS)


def _the_table_sorts_and_filters(page: "Page") -> None:
    assert _ids(page) == claim_ids()
    head = page.get_by_role("button", name="id", exact=True)
    head.click()
    ascending = _ids(page)
    assert ascending != claim_ids()
    assert sorted(ascending) == sorted(claim_ids())
    head.click()
    assert _ids(page) == ascending[::-1]
    page.locator("#kind").select_option("does not hold")
    rejected = _ids(page)
    assert 0 < len(rejected) < len(claim_ids())
    assert "crossover-gamma" in rejected
    assert f"{len(rejected)} of {len(claim_ids())} claims" in (page.locator("#count").text_content() or "")
    page.locator("#kind").select_option("")
    page.locator("#search").fill("poster asymptotically")
    assert _ids(page) == ["poster-asymptotic"]
    page.locator("#search").fill("")
    assert len(_ids(page)) == len(claim_ids())


def _links_lead_somewhere(page: "Page") -> None:
    targets: list[str] = page.eval_on_selector_all("a[href^='#']", "links => links.map(link => link.getAttribute('href').slice(1))")
    assert targets
    assert page.evaluate("names => names.filter(name => !document.getElementById(name))", targets) == []


def test_the_report_in_a_browser(tmp_path: Path) -> None:
    report = reproduce_all(ReproductionPlan.of(tmp_path / "report", quick=True, jobs=2)).report
    with _opened(report, tmp_path / "wide", WIDE, "light") as page:
        _every_figure_is_visible(page)
        _letters_are_equally_large(page)
        _no_sideways_scrolling(page)
        _the_table_sorts_and_filters(page)
        _links_lead_somewhere(page)
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(media="print")
        assert not page.locator(".controls").is_visible()
        _every_figure_is_visible(page)
    with _opened(report, tmp_path / "phone", PHONE, "dark") as page:
        _every_figure_is_visible(page)
        _no_sideways_scrolling(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
        page.locator("#search").fill("crossover")
        assert 0 < len(_ids(page)) < len(claim_ids())
    for name, item in ITEMS.items():
        kinds = [f"data/{name}.csv", f"data/{name}.parquet"]
        kinds += [f"figures/{name}.svg", f"figures/{name}.png"] if isinstance(item, Figure) else []
        assert all((report.parent / kind).stat().st_size > 0 for kind in kinds)
