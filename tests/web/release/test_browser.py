"""Releasing as a steward does it: real Chromium and ledgers, double clicks, reloads, many browsers at once, a page of another origin."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import discreet as dc
from tests.browser_support import MARKS, SERIOUS, SIDEWAYS, WIDTHS, browser, playwright, until
from tests.web.browser import new_page, unlocked
from tests.web.release.releases import SECRET, Survey
from tests.web.server import Server

pytestmark = MARKS


@pytest.fixture(scope="module")
def options(survey: Survey) -> tuple[str, ...]:
    return ("--ledger", survey.ledger)


def opened(found: Any, server: Server, **options: Any) -> Any:
    """The screen in a browser. What goes wrong on it, and all that it is answered, is kept in `wrong` and `bodies`."""
    page, wrong = new_page(found, server, accept_downloads=True, **options)
    page.wrong, page.bodies = wrong, []
    page.on("response", lambda answer: page.bodies.append(answer))
    page.route("**/plan/*", lambda route: route.fulfill(status=204))  # another screen's numbers
    unlocked(page, server)
    page.click("[data-screen=release]")
    page.wait_for_selector("#release-form")
    return page


def type_in(page: Any, fields: dict[str, str]) -> None:
    for details in page.locator("#release-form details").all():
        details.evaluate("element => { element.open = true; }")
    for name, text in fields.items():
        if name == "public":
            page.select_option("#release-public", text)
        else:
            page.fill(f"#release-{name}", text)


def look(page: Any) -> None:
    page.click("#release-form .act .primary")
    page.wait_for_selector(".confirm .primary")


def unkept(survey: Survey, **changed: str) -> dict[str, str]:
    """What is typed, but for the ledger, which the page was started with."""
    fields = survey.fields(**changed)
    del fields["ledger"]
    return fields


def test_a_release_by_double_click_and_reload(server: Server, survey: Survey) -> None:
    before = survey.spends()
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="0.2", column=""))
        page.click("text=List its columns")
        page.click("[data-column=risk]")
        assert page.input_value("#release-column") == "risk"
        page.evaluate("document.getElementById('release-columns').replaceChildren()")
        look(page)
        until(page, "document.activeElement.id === 'release-looked'")
        assert survey.spends() == before
        page.dblclick(".confirm .primary")
        while survey.spends() == before:
            page.wait_for_timeout(20)
        page.reload()  # while it is drawn
        page.click("[data-screen=release]")
        page.wait_for_selector(".asked >> text=Show it")
        page.click(".asked >> text=Show it")
        page.wait_for_selector("#release-done")
        page.wait_for_selector("#release-look :is(.pictured, .crossed)")
        assert survey.spends() == before + 1
        downloads = {}
        for label in ("The record", "The report", "A picture, PNG", "A picture, SVG"):
            with page.expect_download() as saved:
                page.click(f"#release-done >> text={label}")
            downloads[saved.value.suggested_filename.rpartition(".")[2]] = Path(saved.value.path()).read_bytes()
        assert dc.Release.from_json(downloads["json"]).n == 12_259
        assert downloads["html"].startswith(b"<!doctype html>")
        assert downloads["png"].startswith(b"\x89PNG")
        assert downloads["svg"].startswith(b"<?xml")
        page.click("#release-done >> text=Read it here")
        page.wait_for_selector("#read-answer .pictured")
        assert page.is_visible("#read-record")
        assert survey.spends() == before + 1
        assert SECRET not in "".join(bodies(page))
        assert page.wrong == []


def bodies(page: Any) -> list[str]:
    """All that the page was answered, as far as the browser still has it."""
    found = []
    for answer in page.bodies:
        try:
            found.append(answer.text())
        except (playwright.Error, UnicodeDecodeError):
            continue
    assert len(found) > 5
    return found


def test_a_table_from_a_file_that_was_sent(server: Server, survey: Survey) -> None:
    before = survey.spends("hidden")
    with browser() as found:
        page = opened(found, server, color_scheme="dark")
        fields = {"by": "region=north,south,elsewhere", "other_groups": "region=elsewhere", "public": "nothing", "dataset": "hidden"}
        type_in(page, unkept(survey, **fields, file=""))
        page.set_input_files("#release-pick", str(survey.file))
        page.wait_for_selector("#release-sent input[name=upload]", state="attached")
        look(page)
        assert "survey.csv" in page.inner_text("#release-sent")
        page.click(".confirm .primary")
        page.wait_for_selector("#release-look :is(.pictured, .crossed)")
        assert "elsewhere" in page.inner_text("#release-look")
        assert survey.spends("hidden") == before + 1
        assert SECRET not in "".join(bodies(page))
        assert page.wrong == []


def test_whoever_waits_sees_it_and_may_stop(server: Server, survey: Survey) -> None:
    before, held = survey.spends(), []
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="0.23"))
        page.route("**/release/look", lambda route: held.append(route))
        page.click("#release-form .act .primary")
        page.wait_for_selector("#release-look >> text=/Counting 12,259 rows… [1-9]+ s/")
        page.click("text=Stop waiting")
        until(page, "document.getElementById('release-look').innerText === ''")
        assert page.is_enabled("#release-form .act .primary")
        page.unroute("**/release/look")
        look(page)
        assert survey.spends() == before
        assert [one for one in page.wrong if not one.startswith("htmx:")] == []  # htmx says on the console that it was stopped


def test_an_overspend_and_a_wrong_file(server: Server, survey: Survey) -> None:
    before = survey.spends()
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="1000"))
        page.click("#release-form .act .primary")
        page.wait_for_selector("#release-dataset-error:not(:empty)")
        assert "the release needs ε = 1000" in page.inner_text("#release-dataset-error")
        until(page, "document.activeElement.id === 'release-dataset'")
        (survey.folder / "x.csv").write_text(f"{SECRET}\n{SECRET}\n")
        type_in(page, {"epsilon": "1", "file": str(survey.folder / "x.csv")})
        page.click("#release-form .act .primary")
        page.wait_for_selector("#release-column-error:not(:empty)")
        page.fill("#release-file", "")
        (survey.folder / "x.docx").write_text(SECRET)
        page.set_input_files("#release-pick", str(survey.folder / "x.docx"))
        page.wait_for_selector("#release-sent .error")
        assert SECRET not in page.content()
        assert SECRET not in "".join(bodies(page))
        assert not page.locator(".confirm").count()
        assert page.wrong == []
    assert survey.spends() == before


def test_it_fits_and_can_be_read(server: Server, survey: Survey) -> None:
    """Before and after a release, at three widths, light and dark, with all open that can be."""
    with browser() as found:
        page = opened(found, server)
        label = "<img src=x onerror=alert(1)> " + "w" * 90
        type_in(page, unkept(survey, categories=f"low\n{label}\nother", epsilon="0.01"))
        look(page)
        fits_and_can_be_read(page)
        page.click(".confirm .primary")
        page.wait_for_selector("#release-look :is(.pictured, .crossed)")
        fits_and_can_be_read(page)
        assert label in page.inner_text("#release-look")
        assert page.wrong == []


def test_what_was_looked_at_is_not_released_once_the_form_says_something_else(server: Server, survey: Survey) -> None:
    before = survey.spends()
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="0.21"))
        look(page)
        page.fill("#release-title", "Something else")
        page.wait_for_selector(".confirm .warn")
        assert not page.locator(".confirm .primary").count()
        look(page)
        page.click(".confirm .primary")
        page.fill("#release-title", "Yet something else")  # too late to say that nothing was charged
        assert not page.locator(".confirm .warn").count()
        page.wait_for_selector("#release-done")
        assert "Something else" in page.inner_text("#release-look")
        assert survey.spends() == before + 1
        assert page.wrong == []


def fits_and_can_be_read(page: Any) -> None:
    until(page, "!document.querySelector('[aria-busy=true], .waiting')")
    for details in page.locator("#release details").all():
        details.evaluate("element => { element.open = true; }")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert not page.evaluate(SIDEWAYS)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(SERIOUS) == []


BROWSERS, QUESTIONS = 50, 25


def test_many_browsers_at_once(server: Server, survey: Survey) -> None:
    """Two browsers for each question, which all press their buttons at the same time: as many charges as questions."""
    before = survey.spends()
    with browser() as found:
        pages = []
        for number in range(BROWSERS):
            page = opened(found, server)
            type_in(page, unkept(survey, epsilon=f"0.01{number % QUESTIONS:02d}1"))
            page.click("#release-form .act .primary")
            pages.append(page)
        for page in pages:
            page.wait_for_selector(".confirm .primary")
        assert survey.spends() == before
        for page in pages:
            page.evaluate("() => { setTimeout(() => document.querySelector('.confirm .primary').click(), 10); }")
        keys = []
        for page in pages:
            page.wait_for_selector("#release-done")
            keys.append(page.get_attribute("#release-done input[name=key]", "value"))
            assert page.wrong == []
    lines = dc.Ledger(survey.ledger).history("survey")[before:]
    assert len(lines) == len(set(keys)) == QUESTIONS
    assert {line.request for line in lines} == set(keys)


def test_a_page_of_another_origin_cannot_spend(server: Server, survey: Survey) -> None:
    """A real page on another port, in the same browser, that knows the key and the token."""
    with browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, epsilon="0.777"))
        look(page)
        key = page.get_attribute(".confirm input[name=key]", "value")
        before = survey.spends()
        foreign = page.context.new_page()
        with another_server() as address:
            foreign.goto(address)
            results = foreign.evaluate(
                """async ([place, key, token]) => {
                    const tried = [];
                    for (const options of [
                        {mode: 'cors', headers: {'X-Discreet-Token': token}}, {mode: 'no-cors'}, {mode: 'cors'},
                        {mode: 'no-cors', credentials: 'include', keepalive: true},
                    ]) {
                        try {
                            const body = new URLSearchParams({key});
                            const answer = await fetch(`${place}/release/draw`, {method: 'POST', body, ...options});
                            tried.push(answer.type === 'opaque' ? 'opaque' : await answer.text());
                        } catch (error) { tried.push('refused'); }
                    }
                    navigator.sendBeacon(`${place}/release/draw`, new URLSearchParams({key}));
                    const frame = document.createElement('iframe');
                    frame.name = 'hidden';
                    document.body.append(frame);
                    const form = document.createElement('form');
                    Object.assign(form, {method: 'post', action: `${place}/release/draw`, target: 'hidden'});
                    form.innerHTML = `<input name="key" value="${key}"><input name="X-Discreet-Token" value="${token}">`;
                    document.body.append(form);
                    form.submit();
                    await new Promise(done => setTimeout(done, 1500));
                    return tried;
                }""",
                [f"http://{server.host}", key, server.token],
            )
        assert set(results) <= {"refused", "opaque"}
        assert survey.spends() == before
        page.click(".confirm .primary")  # the page itself can
        page.wait_for_selector("#release-done")
        assert survey.spends() == before + 1


@contextmanager
def another_server() -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>another</title><body></body>")

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}/"
        found.shutdown()
