"""Who is answered by `discreet explore`: its own page with its token, and nobody else. The server is real."""

import socket
from collections.abc import Iterator

import pytest

from tests.explore_server import Server, explore

OPEN = ("/", "/report.css", "/style.css", "/read.css", "/page.js", "/read.js", "/htmx.min.js")
CLOSED = ("/plan", "/read")


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
