"""The page's secrets in real Chromium: what the disk keeps is worth nothing, and a page whose server is gone is locked."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.browser_support import CHROMIUM, FLAGS, MARKS, PATIENCE, browser, playwright, until
from tests.web.browser import new_page, unlocked, until_held
from tests.web.release.releases import SECRET, Survey
from tests.web.release.test_browser import look, opened, type_in, unkept
from tests.web.server import Server, explore

pytestmark = [*MARKS, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")]


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    return Survey(tmp_path)


def kept(profile: Path) -> set[str]:
    """All that looks like a code or a token in the files of a profile, in both ways in which Chromium writes text."""
    found: set[str] = set()
    for path in profile.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            for text in (content, content.replace(b"\x00", b"")):
                for run in re.findall(rb"[A-Za-z0-9_-]{43,}", text):
                    found |= {run[i : i + 43].decode() for i in range(len(run) - 42)} if len(run) < 200 else set()
    return found


def working(server: Server, texts: set[str]) -> list[str]:
    """Those which open the page, as a token or as a code, each of which is tried once."""
    with_token = [text for text in texts if server.ask("GET", "/plan", server.headers() | {"X-Discreet-Token": text})[0] == 200]
    return with_token + [text for text in texts if server.ask("POST", "/access/redeem", body=text.encode())[0] == 200]


def test_what_the_browser_keeps_on_the_disk_opens_nothing(survey: Survey, tmp_path: Path) -> None:
    """But for half a minute after the page was left, one code for a reload, once."""
    profile = tmp_path / "profile"
    with explore("--ledger", survey.ledger, XDG_DATA_HOME=survey.home) as server, playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(str(profile), executable_path=CHROMIUM, args=list(FLAGS), headless=True)
        page = context.new_page()
        address = server.address
        page.goto(address)
        for _ in range(2):
            page.wait_for_selector("#plan-form", timeout=PATIENCE)
            page.reload()
        page.wait_for_selector("#plan-form", timeout=PATIENCE)
        assert page.url == f"http://{server.host}/"
        assert not page.evaluate("JSON.stringify([sessionStorage, localStorage, document.cookie])").count("discreet-code")
        while_open = kept(profile)
        assert server.token not in while_open
        assert working(server, while_open) == []
        context.close()
        left = kept(profile)
        assert address.rpartition("#")[2] in left  # the history of the browser has it, and it was used
        assert server.token not in left
        assert len(working(server, left)) <= 1
        assert working(server, left) == []


def test_an_address_opens_one_page(survey: Survey) -> None:
    with explore(XDG_DATA_HOME=survey.home) as server, browser() as found:
        address = server.address
        for is_first in (True, False):
            page = found.new_page()
            page.goto(address)
            page.wait_for_selector("#plan-form" if is_first else "#locked", timeout=PATIENCE)
            assert page.is_visible("#locked") is not is_first


def test_a_page_that_is_reloaded_while_it_renews_its_code_opens(survey: Survey) -> None:
    """The server has given a new code, which the page has not heard of: the one that it stores is still worth something."""
    with explore(XDG_DATA_HOME=survey.home) as server, browser() as found:
        page, wrong = new_page(found, server)
        unlocked(page, server)
        held: list[Any] = []
        page.route("**/access/code", lambda route: held.append(route.fetch()))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        until_held(page, held)
        page.unroute("**/access/code")
        page.reload()
        page.wait_for_selector("#plan-form")
        assert not page.is_visible("#locked")
        assert wrong == []


class Impostor(ThreadingHTTPServer):
    """A program that listens where the page's server did, answers whatever it is asked, and keeps all that it is sent."""

    allow_reuse_address = True

    def __init__(self, port: int, answer: bytes) -> None:
        self.answer = answer
        self.seen: list[tuple[str, str, bytes]] = []
        super().__init__(("127.0.0.1", port), Eager)


class Eager(BaseHTTPRequestHandler):
    server: Impostor

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.path, str(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def impostor(port: int, answer: bytes) -> Iterator[Impostor]:
    with Impostor(port, answer) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def killed(server: Server) -> None:
    """Kill the server, and wait until its port is free."""
    os.kill(server.process, signal.SIGKILL)
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", server.port)):
                return


def is_locked(page: Any) -> None:
    """The page says so, and no part of it can be used."""
    page.wait_for_selector("#locked")
    assert "discreet explore has ended" in page.inner_text("#locked")
    assert not page.locator(".confirm").count()
    assert page.evaluate("[...document.querySelectorAll('main, .top nav')].every(part => part.inert)")


ANSWERS = [b"0" * 64, b"", b"<p>Done.</p>"]
OF_ITSELF = ["**/access/code", "**/typed/*", "**/release/list"]
"""What a page sends when nobody presses anything. If its server gave a proof and was killed before the page sends it, it is sent."""
PRESSED = ["look", "charge", "send a file", "open a record"]


@pytest.mark.parametrize(
    ("pressed", "answer"), [*((pressed, ANSWERS[0]) for pressed in PRESSED), *(("look", answer) for answer in ANSWERS[1:])]
)
def test_whoever_takes_the_port_gets_nothing_private(survey: Survey, pressed: str, answer: bytes) -> None:
    with explore("--ledger", survey.ledger, XDG_DATA_HOME=survey.home) as server, browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey, title="Entre nous"))
        look(page)
        for path in OF_ITSELF:
            page.route(path, lambda route: route.abort())
        killed(server)
        with impostor(server.port, answer) as other:
            if pressed == "look":
                page.evaluate("document.querySelector('#release-form .act .primary').click()")
            elif pressed == "charge":
                page.evaluate("document.querySelector('.confirm .primary')?.click()")
            elif pressed == "send a file":
                page.set_input_files("#release-pick", str(survey.file))
            else:
                page.set_input_files("#read-file", str(survey.file))
            is_locked(page)
            for path in OF_ITSELF:
                page.unroute(path)
            page.evaluate("for (const button of document.querySelectorAll('button')) button.click()")
            page.evaluate("document.getElementById('release-form').requestSubmit()")
            until(page, "!document.querySelector('.checking')")
            seen = list(other.seen)
        assert {path for path, _, _ in seen} <= {"/access/proof"}  # none, if the page found its server gone before the port was taken
        sent = "".join(f"{headers}{body.decode()}" for _, headers, body in seen)
        for private in (server.token, "X-Discreet-Token", "survey", "risk", "Entre nous", SECRET):
            assert private not in sent


def test_whoever_takes_the_port_would_see_what_a_page_sends_without_the_check(survey: Survey) -> None:
    with explore("--ledger", survey.ledger, XDG_DATA_HOME=survey.home) as server, browser() as found:
        page = opened(found, server)
        page.evaluate("() => { isChecked = async () => true; lock = () => {}; }")
        killed(server)
        with impostor(server.port, ANSWERS[0]) as other:
            page.evaluate("ask('/release/look', 'Entre nous')")
            assert ("/release/look", b"Entre nous") in {(path, body) for path, _, body in other.seen}
            assert server.token in "".join(headers for _, headers, _ in other.seen)


def test_a_page_whose_server_is_gone_locks_itself(survey: Survey) -> None:
    """Nobody presses anything: the button that would charge does not stay."""
    with explore("--ledger", survey.ledger, XDG_DATA_HOME=survey.home) as server, browser() as found:
        page = opened(found, server)
        type_in(page, unkept(survey))
        look(page)
        killed(server)
        is_locked(page)


def test_a_page_that_is_locked_stays_so_where_another_page_is_served(survey: Survey) -> None:
    """A second discreet explore on the same port is another program, too."""
    with browser() as found:
        with explore("--ledger", survey.ledger, XDG_DATA_HOME=survey.home) as server:
            page = opened(found, server)
            killed(server)
        with explore("--ledger", survey.ledger, "--port", str(server.port), XDG_DATA_HOME=survey.home):
            page.evaluate("document.querySelector('#release-form .act .primary').click()")
            is_locked(page)
