"""Who is answered by `discreet explore`: its own page with its token, and nobody else. The server is real."""

import asyncio
import hmac
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.web.access import TOKEN_HEADER, Guard, Keys
from tests.web.server import CODE, Server, explore

_Found = TypeVar("_Found")

OPEN = tuple(f"/{name}" for name in ("", "page.js", "access.js", "htmx.min.js", "report.css", "style.css")) + tuple(
    f"/{screen}.{kind}" for screen in ("plan", "release", "budget", "read") for kind in ("css", "js")
)
CLOSED = ("/plan", "/release", "/budget", "/read")


@pytest.mark.parametrize("path", OPEN)
def test_the_page_and_its_files_are_the_same_for_everyone(server: Server, path: str) -> None:
    status, headers, text = server.ask("GET", path, {"Host": server.host})
    assert status == 200
    assert server.token not in text
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", CLOSED)
def test_the_page_is_answered(server: Server, path: str) -> None:
    assert server.ask("GET", path)[0] == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Discreet-Token": None},
        {"X-Discreet-Token": ""},
        {"X-Discreet-Token": "x" * 43},
        {"Host": "localhost:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "evil.example:{port}"},
        {"Host": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", CLOSED)
def test_nobody_else_is_answered(server: Server, changed: dict[str, str | None], path: str) -> None:
    headers = {name: value.format(port=server.port) for name, value in (server.headers() | changed).items() if value is not None}
    status, sent, text = server.ask("GET", path, headers)
    assert status in (400, 403)
    assert len(text) < 200
    if status == 403:
        assert sent["content-security-policy"].startswith("default-src 'none'")


def test_a_post_says_where_it_comes_from(server: Server) -> None:
    headers = server.headers()
    del headers["Origin"]
    assert server.ask("POST", "/plan", headers)[0] == 403


def test_a_foreign_host_does_not_see_the_page_either(server: Server) -> None:
    """A name of somebody else's that leads to this machine would let their page read ours."""
    assert server.ask("GET", "/", {"Host": f"evil.example:{server.port}"})[0] == 403


@pytest.mark.parametrize(
    "path", ["/static/index.html", "/../pyproject.toml", "/%2e%2e/%2e%2e/limits.py", "/page.py", "//etc/passwd", "/plan/../x"]
)
def test_no_other_file_is_served(server: Server, path: str) -> None:
    assert server.ask("GET", path, {"Host": server.host})[0] in (403, 404)
    assert server.ask("GET", path)[0] == 404


def test_nothing_of_the_page_is_kept_framed_or_guessed(server: Server) -> None:
    headers = server.ask("GET", "/")[1]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "server" not in headers


def test_other_addresses_of_the_machine_are_not_listened_on(server: Server) -> None:
    for address in ("127.0.0.2", "127.1.2.3"):
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((address, server.port), timeout=5)


def test_a_body_of_any_length_is_not_taken(server: Server) -> None:
    """The connection is closed, or the answer is that it was too long: in any case the server goes on."""
    headers = server.headers() | {"Transfer-Encoding": "chunked"}
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"POST /read/open HTTP/1.1\r\n{lines}\r\n".encode())
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(160):
                connection.sendall(chunk)
            answered = connection.recv(100)
        except OSError:
            answered = b""
    assert answered == b"" or answered.startswith(b"HTTP/1.1 413")
    assert server.ask("GET", "/plan")[0] == 200


# --- codes, and the token they are redeemed for -----------------------------------------------------------------------


def redeemed(server: Server, code: str) -> int:
    return server.ask("POST", "/access/redeem", body=code.encode())[0]


def test_a_code_is_redeemed_once(server: Server) -> None:
    code = server.ask("POST", "/access/code")[2]
    assert redeemed(server, "x" * 43) == 403
    assert server.ask("POST", "/access/redeem", body=code.encode())[::2] == (200, server.token)
    assert redeemed(server, code) == 403
    assert redeemed(server, server.code) == 403  # of the address that was printed, which the test has redeemed


def test_a_page_that_renews_its_code_revokes_the_one_before(server: Server) -> None:
    first = server.ask("POST", "/access/code")[2]
    second = server.ask("POST", "/access/code", body=first.encode())[2]
    assert [redeemed(server, first), redeemed(server, second)] == [403, 200]


@pytest.mark.parametrize(
    "changed", [{"X-Discreet-Token": None}, {"X-Discreet-Token": "x" * 43}, {"Origin": None}, {"Origin": "http://127.0.0.1:1"}]
)
def test_only_a_page_with_the_token_gets_a_code(server: Server, changed: dict[str, str | None]) -> None:
    headers = {name: value for name, value in (server.headers() | changed).items() if value is not None}
    assert server.ask("POST", "/access/code", headers)[0] == 403


@pytest.mark.parametrize("path", ["/access/redeem", "/access/proof"])
def test_a_page_of_another_origin_neither_redeems_nor_challenges(server: Server, path: str) -> None:
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null"):
        assert server.ask("POST", path, {"Host": server.host, "Origin": origin}, b"x")[0] == 403
    assert server.ask("POST", path, {"Host": server.host}, b"x")[0] == 403
    assert [server.ask("POST", path, body=b"x" * length)[0] == 413 for length in (200, 201)] == [False, True]
    assert server.ask("GET", path)[0] == 405


def test_the_server_proves_that_it_has_the_token(server: Server) -> None:
    """Anyone may ask; the answer is the keyed hash of the page's address and the challenge, as the page's script computes it."""
    headers = {"Host": server.host, "Origin": f"http://{server.host}"}
    given = server.ask("POST", "/access/proof", headers, b"some challenge")[2]
    assert given == hmac.new(server.token.encode(), f"{server.host} some challenge".encode(), sha256).hexdigest()
    assert given != server.ask("POST", "/access/proof", headers, b"another one")[2]


def test_a_code_ends_with_its_time() -> None:
    """A page renews its code for a reload while it is open, so half a minute is the longest that one lasts once the page was left."""
    now = [1000.0]
    keys = Keys("127.0.0.1:1", clock=lambda: now[0])
    codes = [keys.code(30) for _ in range(2)]
    now[0] += 29.9
    assert keys.redeem(codes[0])
    now[0] += 0.2
    assert not keys.redeem(codes[1])


def test_codes_without_end_take_no_memory_without_end() -> None:
    keys = Keys("127.0.0.1:1")
    codes = [keys.code(30) for _ in range(1001)]
    assert [keys.redeem(codes[0]), keys.redeem(codes[1]), keys.redeem(codes[-1])] == [False, True, True]


# --- how the browser is opened ----------------------------------------------------------------------------------------

BROWSER = """#!{python}
import os, pathlib, sys, urllib.parse
path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path))
seen = [sys.argv[1], oct(path.stat().st_mode & 0o777), oct(path.parent.stat().st_mode & 0o777), path.read_text()]
pathlib.Path({seen!r} + ".new").write_text("\\n".join(seen))
os.rename({seen!r} + ".new", {seen!r})
"""


def waited_for(found: Callable[[], _Found]) -> _Found:
    """What is found in the end."""
    for _ in range(6000):
        if value := found():
            return value
        time.sleep(0.01)
    raise AssertionError


def test_the_browser_is_led_through_a_file_of_its_owner(tmp_path: Path) -> None:
    """What is started in the browser's place writes down what it was given."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER.format(python=sys.executable, seen=str(seen)))
    browser.chmod(0o700)
    with explore(BROWSER=str(browser)) as server:
        waited_for(seen.exists)
        given, mode, folder, text = seen.read_text().split("\n", 3)
        assert given.startswith("file:///")
        assert server.code not in given
        assert (mode, folder) == ("0o600", "0o700")
        assert f"http://{server.host}/#{server.code}" in text
        assert server.token not in text
        process = Path(f"/proc/{server.process}/cmdline")
        assert not process.exists() or server.code not in process.read_text()
        path = Path(given.removeprefix("file://"))
        assert stat.S_ISREG(path.stat().st_mode)
    assert not path.parent.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_the_file_of_a_killed_server_opens_nothing_and_goes_with_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "browser").write_text("#!/bin/sh\n")
    (tmp_path / "browser").chmod(0o700)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with explore(BROWSER=str(tmp_path / "browser"), TMPDIR=str(temporary)) as server:
        (file,) = waited_for(lambda: list(temporary.rglob("explore.html")))
        assert server.code in file.read_text()
        assert redeemed(server, server.code) == 403
        os.kill(server.process, signal.SIGKILL)
    assert file.exists()
    with explore(TMPDIR=str(temporary)):
        assert not list(temporary.rglob("explore.html"))


def test_enter_prints_another_address() -> None:
    """At a terminal: the tab that had the first one may be closed."""
    pty = pytest.importorskip("pty")
    outer, inner = pty.openpty()
    command = [sys.executable, "-c", CODE, "explore", "--no-browser"]
    with subprocess.Popen(command, stdin=inner, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            codes = [process.stdout.readline().strip().rpartition("#")[2]]
            assert "Press Enter" in process.stdout.readline()
            assert "Ctrl+C" in process.stdout.readline()
            os.write(outer, b"\n")
            address, _, code = process.stdout.readline().strip().rpartition("#")
            codes.append(code)
            server = Server(int(address.rstrip("/").rpartition(":")[2]), "", "", process.pid)
            assert [redeemed(server, code) for code in codes] == [200, 200]
        finally:
            process.terminate()
            os.close(outer)
            os.close(inner)


def test_it_ends_when_it_is_interrupted() -> None:
    before = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", before + CODE, "explore", "--no-browser"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        address = process.stdout.readline().strip().rpartition("/#")[0]
        server = Server(int(address.rpartition(":")[2]), "", "", process.pid)
        assert process.stdout.readline() == "Press Ctrl+C to end it.\n"
        assert server.ask("GET", "/")[0] == 200
        os.kill(process.pid, signal.SIGINT)
        said, wrong = process.communicate(timeout=60)
    assert (process.returncode, said, wrong) == (0, "\nended\n", "")


def test_what_is_not_http_is_refused_by_the_guard_itself() -> None:
    """A server that is told to speak nothing else never asks; another one would."""
    reached, sent = list[str](), list[Any]()

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        reached.append(scope["type"])

    async def received() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    keys = Keys("127.0.0.1:1")
    guard = Guard(application, keys=keys, open_paths=frozenset({"/"}))
    headers = [(b"host", b"127.0.0.1:1"), (TOKEN_HEADER.encode(), keys.token.encode())]
    for kind in ("websocket", "lifespan"):
        asyncio.run(guard({"type": kind, "path": "/", "headers": headers}, received, send))
    assert reached == ["lifespan"]
    assert sent[0]["status"] == 403


def test_ports(server: Server) -> None:
    for port, said in ((80, "from 1024 to 65535"), (70000, "from 1024 to 65535"), (server.port, "cannot be used")):
        done = CliRunner().invoke(app, ["explore", "--no-browser", "--port", str(port)])
        assert done.exit_code == 2
        assert said in done.stderr
        assert done.stdout == ""
