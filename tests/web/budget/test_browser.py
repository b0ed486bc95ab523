"""The screen for budgets as a steward meets it: headless Chromium, real SQLite and PostgreSQL ledgers, and a page of another origin."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import discreet as dc
from tests.browser_support import MARKS, SERIOUS, SIDEWAYS, WIDTHS, browser, playwright, until
from tests.ledger.test_faults import database  # noqa: F401 - an empty ledger on a PostgreSQL server
from tests.postgresql import postgresql  # noqa: F401
from tests.web.browser import page_of
from tests.web.server import Server

pytestmark = MARKS
HOSTILE = "<img src=x onerror=alert(1)>"
OVERFLOWING = """() => [...document.querySelectorAll('#budget *, .top *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && !element.closest('svg') && (box.right > window.innerWidth + 0.5 || box.left < -0.5);
}).map(element => element.outerHTML)"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    location = tmp_path_factory.mktemp("made") / "ledger.db"
    ledger = dc.Ledger(location)
    ledger.create("survey", 1)
    ledger.release("survey", dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon="0.1"), [10, 20], note="x" * 300)
    ledger.spend("survey", "0.000000000000000000000000000000000000001", note="</td><script>alert(1)</script>")
    ledger.create("panel", 3, "1e-6", planned_epsilon="0.1", unit="person")
    for _ in range(33):
        ledger.spend("panel", "0.1")
    ledger.create(HOSTILE, 2, "1e-5", neighbours="add or remove one")
    ledger.spend(HOSTILE, "1/3", "1e-6", note="'\"><b id=evil>")
    return location


@pytest.fixture
def where(made: Path, tmp_path: Path) -> str:
    return str(shutil.copy(made, tmp_path))


@contextmanager
def opened(server: Server, location: str | None, **options: Any) -> Iterator[Any]:
    """The screen with a ledger. A password in an address is an error."""
    with page_of(server, "sesame", **options) as page:
        page.click("[data-screen=budget]")
        if location is not None:
            page.fill("#budget-ledger", location)
            page.keyboard.press("Enter")
            page.wait_for_selector(".budget-list")
        yield page


def choose(page: Any, name: str) -> None:
    """Choose a dataset, and wait for the answer itself: the dataset may be shown already, and the next choice would abort the request."""
    with page.expect_response("**/budget/dataset"):
        page.click(f".budget-list button:has-text({name!r})")
    until(page, "() => !document.querySelector('#budget-one[aria-busy]')")
    assert name in page.inner_text(".budget-card h3")


def test_looking_at_a_ledger(server: Server, where: str) -> None:
    with opened(server, where) as page:
        assert "3 datasets" in page.inner_text("#budget-answer h2")
        choose(page, "panel")
        assert page.get_attribute(".budget-list [aria-current]", "aria-current") == "true"
        assert "panel" in page.inner_text(".budget-list [aria-current]")
        assert page.locator("#budget-screen-filter-hatch").count() == 1
        assert "33 spends" in page.get_attribute(".spends-bar svg >> nth=0", "aria-label")
        assert page.locator(".budget-spends tbody tr").count() == 33
        dc.Ledger(where).spend("panel", "0.1", note="meanwhile, elsewhere")
        page.click("[data-screen=plan]")
        page.click("[data-screen=budget]")
        page.wait_for_selector(".budget-spends td:has-text('meanwhile, elsewhere')")
        assert "panel" in page.inner_text(".budget-list [aria-current]")


def test_a_budget_fills_in_the_form_of_a_release(server: Server, where: str) -> None:
    """Also the second time, when the form is there already."""
    with opened(server, where) as page:
        for name, public in ((HOSTILE, "nothing"), ("survey", "total")):
            with page.expect_response("**/budget/open"):
                page.click("[data-screen=budget]")  # reads the ledger again
            until(page, "() => !document.querySelector('#budget-answer[aria-busy]')")
            choose(page, name)
            page.click("text=Release something from this budget")
            page.wait_for_selector("#release-form")
            until(page, "name => document.getElementById('release-dataset').value === name", name)
            assert (page.input_value("#release-ledger"), page.input_value("#release-public")) == (where, public)
            assert page.is_visible("#release-form")


def test_hostile_names_and_notes_do_nothing(server: Server, where: str) -> None:
    with opened(server, where) as page:
        choose(page, "onerror")
        page.wait_for_selector(".budget-spends bdi:text('id=evil')")
        choose(page, "survey")
        page.wait_for_selector(".budget-spends bdi:text('alert(1)')")
        assert page.locator("#budget img, #budget script, #evil").count() == 0


def test_creating_by_keyboard_and_with_two_clicks(server: Server, tmp_path: Path) -> None:
    location = str(tmp_path / "new.db")
    with opened(server, None) as page:
        page.fill("#budget-ledger", location)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=The first dataset")
        page.evaluate("scrollTo(0, 0)")
        assert page.evaluate("document.querySelector('#budget-create .primary').getBoundingClientRect().bottom") <= 900
        page.fill("#budget-dataset", "school")
        page.keyboard.press("Enter")
        until(page, "document.getElementById('budget-epsilon').getAttribute('aria-invalid') === 'true'")
        assert "how much ε" in page.inner_text("#budget-epsilon-error")
        assert page.input_value("#budget-dataset") == "school"
        page.fill("#budget-epsilon", "3")
        page.evaluate("document.getElementById('budget-planned').value = '0.1'")
        page.keyboard.press("Enter")
        page.wait_for_selector("#budget-planned-error:not(:empty)", state="visible")
        page.fill("#budget-delta", "1e-6")
        assert page.is_hidden("#budget-by")
        page.select_option("#budget-public", "sizes")
        page.fill("#budget-by", "region, sex")
        page.dblclick("text=Create the dataset")
        page.wait_for_selector(".budget-news:has-text('school was created')")
        until(page, "document.activeElement.className === 'budget-news'")
        (budget,) = dc.Ledger(location).datasets()
        assert (budget.dataset, str(budget.total), budget.neighbours.within) == ("school", "ε = 3, δ = 0.000001", ("region", "sex"))
        assert budget.filter is not None
        page.click("text=Add a dataset")
        page.fill("#budget-dataset", "school")
        page.fill("#budget-epsilon", "5")
        page.click("text=Create the dataset")
        page.wait_for_selector("#budget-create-error:has-text('already in the ledger; its budget cannot be changed')")
        assert page.locator(".error:not(:empty)").count() == 1


def test_a_wrong_ledger_takes_the_place_of_none(server: Server, where: str, tmp_path: Path) -> None:
    with opened(server, where) as page:
        page.fill("#budget-ledger", str(tmp_path / "missing" / "ledger.db"))
        page.click("#budget-form button")
        page.wait_for_selector("#budget-ledger-error:has-text('does not exist')")
        assert page.locator(".budget-list").count() == 0


AT_ONCE = """wanted => new Promise(done => {
    new MutationObserver(() => {
        const button = document.querySelector(wanted);
        if (button && !window.pressed) { window.pressed = true; button.click(); done(); }
    }).observe(document, { childList: true, subtree: true });
    document.querySelector('[data-screen=budget]').click();
})"""


def test_a_form_is_ready_when_it_is_there(server: Server) -> None:
    """A form that htmx does not know yet would be sent by the browser, with what was typed in the address."""
    with page_of(server) as page, page.expect_response("**/budget/open"):
        page.evaluate(AT_ONCE, "#budget-form button")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_and_everyone(server: Server, where: str, scheme: str) -> None:
    """No sideways scroll, and nothing serious that axe finds, for every kind of dataset and with all that can be open open."""
    with opened(server, where, color_scheme=scheme, reduced_motion="reduce") as page:
        for name in ("survey", "panel", "onerror"):
            choose(page, name)
            page.evaluate("document.querySelectorAll('#budget details').forEach(part => { part.open = true; })")
            page.select_option("#budget-public", "sizes")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate(OVERFLOWING) == []
                assert not page.evaluate(SIDEWAYS)
            assert page.evaluate(SERIOUS) == []


# --- a server -----------------------------------------------------------------------------------------------------------


def test_a_server_that_asks_for_a_password(server: Server, database: str) -> None:  # noqa: F811
    """The password that is typed is used, and then it is nowhere on the page, in its storage or in an answer."""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP OWNED BY steward" if _has_role(connection) else "SELECT 1")
        connection.execute("DROP ROLE IF EXISTS steward")
        connection.execute("CREATE ROLE steward LOGIN PASSWORD 'open-sesame'")
        connection.execute("GRANT CREATE ON SCHEMA public TO steward")
        (rules,) = connection.execute("SHOW hba_file").fetchone() or ("",)
        Path(rules).write_text(f"local all steward scram-sha-256\n{Path(rules).read_text()}")
        connection.execute("SELECT pg_reload_conf()")
    right = database.replace("curator@", "steward:open-sesame@")
    with opened(server, None) as page:
        answers: list[Any] = []
        page.on("response", lambda answer: answers.append(answer))
        page.fill("#budget-ledger", database.replace("curator@", "steward:other-sesame@"))
        page.keyboard.press("Enter")
        page.wait_for_selector("#budget-ledger-error:has-text('password authentication failed')")
        assert "sesame" not in page.inner_text("#budget")
        page.fill("#budget-ledger", right)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=The first dataset")
        until(page, "document.getElementById('budget-ledger').value.includes('steward:***@')")
        page.fill("#budget-dataset", "school")
        page.fill("#budget-epsilon", "2")
        page.click("text=Create the dataset")
        page.wait_for_selector(".budget-news:has-text('school was created')")
        dc.Ledger(right).spend("school", "0.5", note="by someone else")
        page.click("#budget-form button")
        page.wait_for_selector(".budget-spends td:has-text('by someone else')")
        assert "stands for the password" in page.inner_html("#budget-answer")
        stored = page.evaluate("JSON.stringify([sessionStorage, localStorage, document.cookie, location.href])")
        texts = list(bodies(answers))
        assert "sesame" not in page.content() + stored + "".join(texts)
        assert len(texts) >= 4
    assert str(dc.Ledger(right).remaining("school")) == "ε = 1.5"


def bodies(answers: Sequence[Any]) -> Iterator[str]:
    """What was answered, as far as the browser still has it."""
    for answer in answers:
        with suppress(playwright.Error, UnicodeDecodeError):
            yield answer.text()


def _has_role(connection: Any) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'steward'").fetchone() is not None


# --- strangers ----------------------------------------------------------------------------------------------------------


def test_a_page_of_another_origin_neither_creates_nor_reads(server: Server, where: str, tmp_path: Path) -> None:
    """A real second server on another port; its page tries a form, a plain request and one with a made-up token."""
    target = tmp_path / "stolen.db"

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>stranger</title>")

        def log_message(self, *_: Any) -> None:
            pass

    attempt = """async ([host, ledger, place, target]) => {
        const said = [];
        const fields = {dataset: 'survey', epsilon: '1', unit: 'record', public: 'total'};
        const body = new URLSearchParams({ledger: place === 'create' ? target : ledger, ...fields});
        for (const options of [{mode: 'no-cors'}, {}, {headers: {'X-Discreet-Token': 'x'.repeat(43)}}]) {
            try {
                const answer = await fetch(`http://${host}/budget/${place}`, {method: 'POST', body, ...options});
                said.push(await answer.text());
            } catch (error) { said.push(''); }
        }
        return said.join('');
    }"""
    posted = """([host, ledger, place, target]) => {
        const action = `http://${host}/budget/${place}`;
        const form = Object.assign(document.createElement('form'), {method: 'post', action, target: '_blank'});
        const fields = {ledger: place === 'create' ? target : ledger, dataset: 'survey', epsilon: '1', unit: 'record', public: 'total'};
        for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), {name, value}));
        document.body.append(form);
        form.submit();
    }"""
    stranger = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    Thread(target=stranger.serve_forever, daemon=True).start()
    try:
        with browser() as found:
            context = found.new_context()
            own = context.new_page()
            own.goto(server.address)  # the steward's own page is open beside it
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{stranger.server_port}/")
            seen = []
            for place in ("create", "open", "dataset"):
                given = [server.host, where, place, str(target)]
                seen.append(page.evaluate(attempt, given))
                with page.expect_popup() as popup:
                    page.evaluate(posted, given)
                popup.value.wait_for_selector("text=answers to its own page alone")
    finally:
        stranger.shutdown()
        stranger.server_close()
    assert seen == ["", "", ""]
    assert not target.exists()
    status, text = server.post("/budget/open", ledger=where)
    assert status == 200, "the same request from the page's own origin is answered"
    assert "survey" in text
