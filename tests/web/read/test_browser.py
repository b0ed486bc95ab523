"""The screen on which a record is read, as a reader meets it: in headless Chromium, with the keyboard, at three widths, dark and light."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.present.contrasts import quantity_words
from discreet.present.exports import file_of, summary_table
from discreet.present.how_read import HowRead
from tests.browser_support import MARKS, SERIOUS, SIDEWAYS, WIDTHS, browser, until
from tests.present.test_page import HOSTILE, single, table
from tests.present.test_page_browser import OVERFLOWING
from tests.web.browser import CLIPBOARD, new_page, page_of, unlocked, until_held
from tests.web.server import Server

pytestmark = MARKS
DROPPED = """([name, text]) => {
    const held = new DataTransfer();
    held.items.add(new File([text], name));
    return held;
}"""
COMPUTING = ".waiting, [aria-busy]"


def smoking() -> dc.Release:
    """Noisy counts that are always the same."""
    prior = dc.Dirichlet.uniform(categories=["never", "former", "current"])
    mechanism = dc.LatticeGeometric(prior, 420, 1)
    return dc.Release(mechanism, mechanism.guarantee, (232, 111, 77), (232, 111, 77), dc.About(title="Smoking among adults"))


def regions() -> dc.Release:
    prior = dc.Dirichlet.uniform(categories=["never", "former", "current"])
    by = {"region": ["north", "east", "south", "west"], "age": ["18 to 34", "35 to 64", "65 and over"]}
    return dc.LatticeGeometric(prior, [60] * 12, 1, by=by).release(np.tile([30, 20, 10], (12, 1)))


@contextmanager
def opened(server: Server, **options: Any) -> Iterator[Any]:
    """The page, on the screen to read."""
    with page_of(server, **options) as page:
        page.get_by_role("button", name="Read", exact=True).press("Enter")
        yield page


def settled(page: Any) -> None:
    page.wait_for_selector("#read-opened")
    page.wait_for_selector(COMPUTING, state="detached")


def chosen(page: Any, path: Path) -> None:
    page.locator("#read-file").set_input_files(path)
    settled(page)


def text(page: Any, selector: str) -> str:
    return " ".join((page.locator(selector).text_content() or "").split())


def test_every_screen_and_every_open_record_has_an_address(server: Server, tmp_path: Path) -> None:
    """Back, Forward and a reload lead to what was shown there; a record that is not open any more is said to be gone."""
    (tmp_path / "smoking.json").write_text(smoking().to_json())
    (tmp_path / "regions.json").write_text(regions().to_json())

    def shows(name: str) -> None:
        page.wait_for_selector(f"#read-opened:visible .from:has-text('{name}')")
        settled(page)

    with opened(server) as page:
        empty = page.url
        assert empty.endswith("/#read")
        addresses = []
        for name in ("smoking.json", "regions.json"):
            chosen(page, tmp_path / name)
            addresses.append(page.url)
        assert len({empty, *addresses}) == 3
        page.get_by_role("button", name="Budget", exact=True).press("Enter")
        page.wait_for_selector("#budget-form:visible")
        assert page.url.endswith("/#budget")
        page.go_back()
        shows("regions.json")
        page.go_back()
        shows("smoking.json")
        assert page.url == addresses[0]
        page.reload()
        shows("smoking.json")
        page.go_forward()
        shows("regions.json")
        page.go_back()
        page.go_back()
        page.wait_for_selector("#read-record:empty", state="attached")
        page.go_back()
        page.wait_for_selector("#plan-form:visible")
        page.goto(f"{addresses[0]}x")
        page.wait_for_selector("#read-record .error:has-text('is not open any more')")


def test_a_record_is_read_with_the_keyboard(server: Server, tmp_path: Path) -> None:
    release = smoking()
    (tmp_path / "smoking.json").write_text(release.to_json())
    with opened(server, permissions=CLIPBOARD) as page:
        chosen(page, tmp_path / "smoking.json")
        assert page.evaluate("document.activeElement.id") == "read-opened"
        assert text(page, "h1:visible") == "Smoking among adults"
        assert f"{100 * release.noise_aware().mean()[0]:.1f} %" in text(page, "#read-answer table")
        page.locator("#read-slider").focus()
        for _ in range(5):
            page.keyboard.press("ArrowLeft")
        page.wait_for_selector("#read-answer th:text('94.5 % interval')")
        assert page.locator("#read-level").input_value() == "94.5"
        page.locator("#read-level").fill("80")
        page.keyboard.press("Enter")
        page.wait_for_selector("#read-answer th:text('80 % interval')")
        assert page.locator("#read-slider").input_value() == "80"
        page.wait_for_selector("#read-contrast th:text('80 % interval')")

        page.locator("#read-second").focus()
        page.keyboard.press("c")  # current
        compared = release.noise_aware().contrast("never", "current")
        page.wait_for_selector("#read-contrast .finding bdi:text('current')")
        settled(page)
        assert quantity_words(compared.difference, 0.8)[1] in text(page, "#read-contrast table")

        page.locator("#read-level").fill("12")
        page.keyboard.press("Enter")
        page.wait_for_selector("#read-level[aria-invalid='true']")
        assert "from 50 to 99.9" in text(page, "#read-level-error")
        assert "80 % interval" in text(page, "#read-answer table")
        page.locator("#read-level").fill("90")
        page.keyboard.press("Enter")
        page.wait_for_selector("#read-answer th:text('90 % interval')")
        page.wait_for_selector("#read-level[aria-invalid='false']")
        settled(page)

        page.locator("#read-threshold").fill("500")
        page.keyboard.press("Tab")
        page.wait_for_selector("#read-threshold[aria-invalid='true']")
        page.locator("#read-threshold").fill("20")
        page.keyboard.press("Tab")
        page.wait_for_selector("#read-threshold[aria-invalid='false']")
        settled(page)

        page.locator("#read-prior").fill("60,20,20")
        page.keyboard.press("Enter")
        page.wait_for_selector("#read-answer .whose strong:text-is('yours')")
        settled(page)
        page.locator("details.same:has([data-copy='read-answer-command']) > summary").click()
        page.locator("[data-copy='read-answer-command']").click()
        page.wait_for_selector("[data-copy='read-answer-command']:text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == "discreet show smoking.json --mass 0.9 --prior 60,20,20"
        assert "The promise holds." in text(page, "#read-verify")

        with page.expect_download() as started:
            page.get_by_role("button", name="Download the report").click()
        started.value.save_as(tmp_path / started.value.suggested_filename)
        assert started.value.suggested_filename == "smoking.html"
        chosen(page, tmp_path / "smoking.html")
        assert "From smoking.html" in text(page, "#read-opened")
        assert text(page, "h1:visible") == "Smoking among adults"


def test_the_table_is_downloaded_as_it_is_shown(server: Server, tmp_path: Path) -> None:
    release = regions()
    (tmp_path / "regions.json").write_text(release.to_json())
    with opened(server) as page:
        chosen(page, tmp_path / "regions.json")
        page.locator("#read-level").fill("80")
        page.keyboard.press("Enter")
        page.wait_for_selector("#read-answer th:text('80 % interval') >> nth=0")
        page.locator("#read-layout").select_option("cross")
        page.locator("#read-only").select_option(label="former")
        page.wait_for_selector("#read-table-command:text('--only former')", state="attached")
        settled(page)
        table = summary_table(release, HowRead(0.8), "cross", "former")
        for label, ending in (("CSV", ".csv"), ("Parquet", ".parquet"), ("Excel", ".xlsx")):
            with page.expect_download() as started:
                page.get_by_role("button", name=label, exact=True).click()
            assert started.value.suggested_filename == f"regions{ending}"
            file = Path(started.value.path()).read_bytes()
            assert file[:4] == b"PK\x03\x04" if ending == ".xlsx" else file == file_of(table, ending)


def test_why_a_table_is_not_downloaded_is_said_once(server: Server, tmp_path: Path) -> None:
    (tmp_path / "smoking.json").write_text(smoking().to_json())
    with browser() as found:
        page, wrong = new_page(found, server)
        unlocked(page, server)
        page.get_by_role("button", name="Read", exact=True).press("Enter")
        chosen(page, tmp_path / "smoking.json")
        for level in ("12", "13"):
            page.locator("#read-level").fill(level)
            page.get_by_role("button", name="CSV", exact=True).click()
            page.wait_for_selector(f"#read .downloads .error:has-text('{level}')")
        assert page.locator("#read .downloads .error").count() == 1  # the last alone
        assert all("422" in one for one in wrong), wrong  # Chromium lists every answer that is not 2xx


def test_a_record_is_dropped_or_pasted(server: Server) -> None:
    with opened(server) as page:
        held = page.evaluate_handle(DROPPED, ["dropped.json", smoking().to_json()])
        page.dispatch_event("#read", "drop", {"dataTransfer": held})
        settled(page)
        assert "From dropped.json" in text(page, "#read-opened")
        page.get_by_text("Paste a record instead").click()
        page.get_by_label("The text of a record").fill(regions().to_json())
        page.get_by_role("button", name="Open what was pasted").click()
        page.wait_for_selector("#read-group")
        settled(page)
        assert page.locator("#read-answer .bar").count() == 36
        page.locator("#read-group").select_option(label="south · 65 and over")
        until(page, "document.querySelectorAll('#read-answer .bar').length === 3")
        assert page.locator("#read-answer .bar").count() == 3
        page.get_by_label("The text of a record").fill("{}")
        page.get_by_role("button", name="Open what was pasted").click()
        page.wait_for_selector("#read-file-error:not(:empty)")
        assert page.locator("#read-answer .bar").count() == 3  # what was open stays


def test_two_records_and_margins_are_compared_and_twelve_groups_fit_a_screen(server: Server, tmp_path: Path) -> None:
    asked = dc.LatticeGeometric(dc.Beta(1, 1, categories=["yes", "no"]), [60] * 12, 1, by=regions().by)
    (tmp_path / "first.json").write_text(asked.release(np.tile([40, 20], (12, 1))).to_json())
    (tmp_path / "second.json").write_text(asked.release(np.tile([20, 40], (12, 1))).to_json())
    with opened(server) as page:
        for name in ("first", "second"):
            chosen(page, tmp_path / f"{name}.json")
        bottom = "document.querySelector('#read-answer .pictured').getBoundingClientRect().bottom"
        assert page.evaluate(bottom) <= 900, "twelve groups of two categories, with their axis"
        assert page.locator("#read-answer .pictured").count() == 1
        page.locator("#read-about").select_option("records")
        page.wait_for_selector("#read-answer th:has-text('noise alone')")
        highest = "Math.max(...[...document.querySelectorAll('#read-answer tbody tr')].map(row => row.offsetHeight))"
        assert page.evaluate(highest) < 40, "no label takes two lines beside the second interval of a register"
        page.locator("#read-about").select_option("population")
        page.wait_for_selector("#read-answer :not(:has(th:has-text('noise alone'))) > .pictured")
        page.locator("#read-against").select_option(label="first.json")
        page.locator(".part-other button[type=submit]").click()
        page.wait_for_selector("#read-other .finding:has-text('of first.json')")
        page.locator("#read-first").select_option(label="All of north")
        page.locator("#read-second").select_option(label="All of south")
        page.wait_for_selector("#read-contrast .finding:has-text('all of south')")
        settled(page)


def test_a_record_that_is_dropped_before_the_screen_has_come_is_opened(server: Server) -> None:
    with browser() as found:
        page, wrong = new_page(found, server)
        held: list[Any] = []
        page.route("**/read", lambda route: held.append(route))
        unlocked(page, server)
        page.get_by_role("button", name="Read", exact=True).press("Enter")
        dropped = page.evaluate_handle(DROPPED, ["dropped.json", smoking().to_json()])
        page.dispatch_event("#read", "drop", {"dataTransfer": dropped})
        until_held(page, held)
        assert page.locator("#read-open").count() == 0
        held[0].continue_()
        settled(page)
        assert "From dropped.json" in text(page, "#read-opened")
        assert wrong == []


def hostile(folder: Path) -> list[Path]:
    """Records whose every text wants to be more than text, and what is none."""
    found = {
        "single": single(n=60).to_json(),
        "table": table().to_json(),
        "junk": f"<!doctype html>{HOSTILE}",
        "list": json.dumps([HOSTILE]),
    }
    for name, content in found.items():
        (folder / f"{name}<img src=x onerror=alert(1)>.json").write_text(content)
    return sorted(folder.iterdir())


def test_hostile_records_are_text(server: Server, tmp_path: Path) -> None:
    with opened(server) as page:
        for path in hostile(tmp_path):
            page.locator("#read-file").set_input_files(path)
            if path.name.startswith(("junk", "list")):
                page.wait_for_selector("#read-file-error:not(:empty)")
                continue
            page.wait_for_selector(f"#read-opened .from bdi:text('{path.name[:5]}')")
            settled(page)
            assert HOSTILE in text(page, "h1:visible")
            assert page.locator("#read img, #read script, #read b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_width_and_is_accessible(server: Server, tmp_path: Path, scheme: str) -> None:
    (tmp_path / "regions.json").write_text(regions().to_json())
    (tmp_path / "hostile.json").write_text(table().to_json())
    with opened(server, color_scheme=scheme, reduced_motion="reduce") as page:
        assert page.evaluate(SERIOUS) == []
        for name in ("regions", "hostile"):
            chosen(page, tmp_path / f"{name}.json")
            page.get_by_role("button", name="Compute", exact=True).click()
            page.wait_for_selector("#read-margins .pictured")
            settled(page)
            assert page.evaluate(SERIOUS) == []
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert not page.evaluate(SIDEWAYS), (name, width)
                assert [found for found in page.evaluate(OVERFLOWING) if not re.match("<(pre|code|span|option)", found)] == [], (
                    name,
                    width,
                )
        chosen(page, tmp_path / "regions.json")
        page.locator("#read-about").select_option("records")  # those of a register
        page.wait_for_selector("#read-answer th:has-text('noise alone') >> nth=0")
        settled(page)
        assert page.evaluate(SERIOUS) == []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert not page.evaluate(SIDEWAYS), width
