"""A study on the page in real Chromium: put together, saved, opened, planned, released once and read, at three widths."""

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from tests.browser_support import MARKS, SERIOUS, SIDEWAYS, WIDTHS, browser, until
from tests.web.release.releases import Survey
from tests.web.release.test_browser import look, opened, type_in, unkept
from tests.web.server import Server

pytestmark = MARKS
SETTLED = "!document.querySelector('[aria-busy=true], .waiting')"
DROPPED = """([name, text]) => {
    const held = new DataTransfer();
    held.items.add(new File([text], name));
    return held;
}"""


@pytest.fixture(scope="module")
def options(survey: Survey) -> tuple[str, ...]:
    return ("--ledger", survey.ledger)


def test_a_study_from_its_first_table_to_its_page(server: Server, survey: Survey, tmp_path: Path) -> None:
    before = survey.spends()
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="0,5"))
        page.click("text=Add to a study")
        page.wait_for_selector("#study-plan td >> nth=0")
        assert page.is_visible(".kinds [data-screen=study][aria-current]")
        address = page.url
        assert "#study/" in address
        page.click(".kinds [data-screen=release]")
        page.wait_for_selector("#release-file:visible")
        page.go_back()
        page.wait_for_selector("#study-text:visible")
        page.click(".kinds [data-screen=release]")
        type_in(page, {"by": "region=north,south,elsewhere", "other_groups": "region=elsewhere"})
        page.click("text=Add to a study")
        page.wait_for_selector("#study-plan bdi:text('risk-2')")
        assert page.url == address
        with page.expect_download() as saved:
            page.click("text=Save it as a file")
        saved.value.save_as(tmp_path / "study.toml")
        study = dc.Study.load(tmp_path / "study.toml")
        assert [table.name for table in study.tables] == ["risk", "risk-2"]
        fits_and_can_be_read(page)
        page.goto("about:blank")
        page.goto(f"{server.address}")
        page.wait_for_selector(".top nav:not([inert])")
        page.goto(address)  # a bookmark
        page.wait_for_selector("#study-plan bdi:text('risk-2')")
        page.reload()
        page.wait_for_selector("#study-plan bdi:text('risk-2')")
        page.click("#study-form .primary")
        page.wait_for_selector(".confirm .primary")
        fits_and_can_be_read(page)
        page.fill("#study-text", page.input_value("#study-text") + "\n# changed")
        page.wait_for_selector(".confirm .warn")
        page.click("#study-form .primary")
        page.wait_for_selector(".confirm .primary")
        page.dblclick(".confirm .primary")
        page.wait_for_selector("#release-look .pictured")
        fits_and_can_be_read(page)
        assert survey.spends() == before + 1
        page.click("#release-done >> text=Read it here")
        page.wait_for_selector("#read-study .pictured")
        page.click("#read-study >> text=Read this table alone >> nth=1")
        page.wait_for_selector("#read-answer table")
        until(page, SETTLED)
        page.go_back()
        page.wait_for_selector("#read-study .pictured")
        until(page, SETTLED)
        assert page.wrong == []


def fits_and_can_be_read(page: Any) -> None:
    until(page, SETTLED)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert not page.evaluate(SIDEWAYS), width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(SERIOUS) == []


def test_whatever_is_dropped_is_opened_where_it_belongs(server: Server, survey: Survey) -> None:
    with browser() as found:
        page = opened(found, server)
        page.click(".top [data-screen=budget]")
        text = f'[study]\nsource = "{survey.file}"\nepsilon = 1\n[tables.x]\ncolumn = "risk"\ncategories = ["low", "high"]'
        for name, content, there in (
            ("mine.toml", text, "#study-plan td >> nth=0"),
            ("risk.csv", "risk\nlow\n", "#release-sent >> text=risk.csv"),
            ("none.json", "{}", "#read-file-error:not(:empty)"),
        ):
            held = page.evaluate_handle(DROPPED, [name, content])
            page.dispatch_event("body", "drop", {"dataTransfer": held})
            page.wait_for_selector(f"{there}")
        assert page.input_value("#study-text") == text
        assert page.wrong == []


def test_the_form_at_1280_by_900_needs_no_scrolling_of_the_page(server: Server, survey: Survey) -> None:
    """The buttons of both forms are in sight however far their columns are scrolled, and so is the confirmation."""
    with browser() as found:
        page = opened(found, server)
        visible = (
            "place => { const box = document.querySelector(place).getBoundingClientRect(); return box.top >= 0 && box.bottom <= 900; }"
        )
        assert page.evaluate(visible, "#release-form .primary")
        type_in(page, unkept(survey, epsilon="0.024"))
        look(page)
        until(page, visible, ".confirm .primary")
        page.click(".kinds [data-screen=study]")
        until(page, visible, "#study-form .primary")
        assert page.is_hidden("#release-looked"), "a table that was looked at is not shown beside a study"
        page.click(".kinds [data-screen=release]")
        until(page, visible, ".confirm .primary")
        assert page.wrong == []
