"""How many of the library's files an answer of the page goes through: whoever mends one has to know so many."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import discreet as dc
from discreet.web.access import Keys
from discreet.web.application import application
from tests.support import watched
from tests.web.read.reader import BY, COUNTS, PRIOR, SINGLE

READ = {"level": "90", "about": "population"}
LATER = {
    "answer": READ | {"level": "80"},
    "contrast": READ | {"first": "0", "second": "1", "category": "0"},
    "above": READ | {"of": "0", "within": "0", "threshold": "20"},
    "verify": READ,
    "table": READ,
}
"""What is asked once a record was read."""
MOST = 60
"""Files of an answer. How many there are depends on the noise that was drawn: from 44 to 52 were seen."""


class Page:
    """The page in this process, which is asked without a network."""

    def __init__(self, folder: Path) -> None:
        self.keys = Keys("127.0.0.1:1")
        self.app = application(self.keys, folder, None)

    def ask(self, path: str, body: bytes) -> str:
        """The text of the answer to what the page itself would send."""
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        host = self.keys.host
        headers = {"host": host, "origin": f"http://{host}", "x-discreet-token": self.keys.token, "x-discreet-tab": "test"}
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": ""}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()], "http_version": "1.1"}
        asyncio.run(self.app(scope, receive, send))  # type: ignore[arg-type]
        assert sent[0]["status"] == 200
        return b"".join(part.get("body", b"") for part in sent).decode()

    def opened(self, record: dc.Release) -> str:
        found = re.search(r'name="record" value="([^"]+)"', self.ask("/read/open", record.to_json().encode()))
        assert found is not None
        return found[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [SINGLE["public n"], lambda: dc.LatticeGeometric(PRIOR, COUNTS.sum(axis=1).tolist(), 1, by=BY).release(COUNTS)]
)
def test_an_answer_goes_through_few_files(tmp_path: Path, make: Callable[[], dc.Release]) -> None:
    """The first one computes the posterior, and goes through its engine too."""
    page, record = Page(tmp_path), make()
    for part in ("answer", *LATER):  # whatever is imported late
        page.ask(f"/read/{part}", urlencode({"record": page.opened(record)} | LATER.get(part, READ)).encode())
    key = page.opened(record)
    with watched() as first:
        page.ask("/read/answer", urlencode({"record": key} | READ).encode())
    assert 25 < len(first) <= MOST, sorted(first)
    for part, fields in LATER.items():
        with watched() as seen:
            page.ask(f"/read/{part}", urlencode({"record": key} | fields).encode())
        assert 5 < len(seen) <= MOST, (part, sorted(seen))
