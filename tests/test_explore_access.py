"""Who is answered by `discreet explore`: its own page with its token, and nobody else. The server is real."""

import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from tests.explore_server import Server, explore

OPEN = tuple(f"/{name}" for name in ("", "page.js", "htmx.min.js", "report.css", "style.css")) + tuple(
    f"/{screen}.{kind}" for screen in ("plan", "release", "budget", "read") for kind in ("css", "js")
)
CLOSED = ("/plan", "/release", "/budget", "/read")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with explore() as found:
        yield found


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


# --- how the browser is opened ----------------------------------------------------------------------------------------

BROWSER = """#!{python}
import os, pathlib, sys, urllib.parse
path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path))
seen = [sys.argv[1], oct(path.stat().st_mode & 0o777), oct(path.parent.stat().st_mode & 0o777), path.read_text()]
pathlib.Path({seen!r} + ".new").write_text("\\n".join(seen))
os.rename({seen!r} + ".new", {seen!r})
"""


def test_the_browser_is_led_through_a_file_of_its_owner(tmp_path: Path) -> None:
    """What is started in the browser's place writes down what it was given."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER.format(python=sys.executable, seen=str(seen)))
    browser.chmod(0o700)
    with explore(BROWSER=str(browser)) as server:
        for _ in range(6000):
            if seen.exists():
                break
            time.sleep(0.01)
        given, mode, folder, text = seen.read_text().split("\n", 3)
        assert given.startswith("file:///")
        assert server.token not in given
        assert (mode, folder) == ("0o600", "0o700")
        assert f"http://{server.host}/#{server.token}" in text
        process = Path(f"/proc/{server.process}/cmdline")
        assert not process.exists() or server.token not in process.read_text()
        path = Path(given.removeprefix("file://"))
        assert stat.S_ISREG(path.stat().st_mode)
    assert not path.parent.exists()


def test_ports(server: Server) -> None:
    for port, said in ((80, "from 1024 to 65535"), (70000, "from 1024 to 65535"), (server.port, "cannot be used")):
        done = CliRunner().invoke(app, ["explore", "--no-browser", "--port", str(port)])
        assert done.exit_code == 2
        assert said in done.stderr
        assert done.stdout == ""
