"""A real `discreet explore` in a process of its own, and requests to it."""

import html
import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

CODE = "from discreet.cli import app; app()"


@dataclass(frozen=True)
class Server:
    """Where it listens, the code in the address that it printed, which was redeemed, and the token it was redeemed for."""

    port: int
    code: str
    token: str
    process: int

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """What is opened in a browser: a new one each time, because its code is worth something once."""
        return f"http://{self.host}/#{self.ask('POST', '/access/code')[2]}"

    def headers(self) -> dict[str, str]:
        """Those with which the page's own requests are sent."""
        return {"Host": self.host, "Origin": f"http://{self.host}", "X-Discreet-Token": self.token, "X-Discreet-Tab": "test"}

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b"") -> tuple[int, dict[str, str], str]:
        """The status, the headers and the text of an answer to a request with these headers and no others."""
        status, found, content = self.fetch(method, path, headers, body)
        return status, found, content.decode()

    def fetch(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        """The same with the bytes of the answer, such as those of a file."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (self.headers() if headers is None else headers).items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """The answer to a form."""
        status, _, text = self.ask("POST", path, self.headers(), urlencode(fields).encode())
        return status, text


@contextmanager
def explore(*options: str, before: str = "", **environment: str) -> Iterator[Server]:
    """A server that answers until the block ends, with these variables as well; it opens the browser that BROWSER names, or none.

    It keeps releases in a folder that ends with the block, unless XDG_DATA_HOME names another. `before` is Python that it begins with.
    """
    quiet = () if "BROWSER" in environment else ("--no-browser",)
    command = [sys.executable, "-c", before + CODE, "explore", *quiet, *options]
    with TemporaryDirectory() as home:
        yield from _answering(command, os.environ | {"XDG_DATA_HOME": home} | environment)


def _answering(command: list[str], variables: dict[str, str]) -> Iterator[Server]:
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:([0-9]+)/#(\S+)", process.stdout.readline())
        if found is None:
            raise AssertionError(process.communicate(timeout=60))
        new = Server(int(found[1]), found[2], "", process.pid)
        status, _, token = new.ask("POST", "/access/redeem", body=found[2].encode())
        assert status == 200, token
        yield replace(new, token=token)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a server, also one that does not answer to a polite request, so that none is left and the test's own error is shown."""
    process.terminate()
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def copied(text: str, place: str) -> str:
    """What a copy button of this place of a page copies."""
    found = re.search(rf'<code id="{place}">(.*?)</code>', text, re.DOTALL)
    assert found is not None, text
    return html.unescape(found[1])
