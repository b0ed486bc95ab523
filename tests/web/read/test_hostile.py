"""Records from whoever wrote them, on the page of `discreet explore`: shown as text, or refused in one line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import discreet as dc
from discreet import limits
from tests.present.test_page import HOSTILE as MARKUP
from tests.present.test_page import single, table
from tests.record.table_support import released as sound
from tests.record.test_hostile_records import HOSTILE, OBEYED, mutated
from tests.record.test_hostile_tables import CHANGES, HEADERS, ROWS, changed, rewritten
from tests.support import mostly_slow
from tests.web.read.reader import opened, released, sent
from tests.web.server import Server


def assert_refused(server: Server, content: bytes, name: str = "record.json") -> None:
    view = sent(server, content, name)
    said = view.by_id.pop("read-file-error")
    assert said
    assert len(said.splitlines()) == 1
    assert len(said) < 2000
    assert view.by_id == {}
    assert not OBEYED.search(said), ascii(said)


BLOCK = b'<script type="application/json" id="discreet-release">'
JUNK = {
    "nothing": b"",
    "text": b"hello",
    "null": b"null",
    "list": b"[]",
    "not UTF-8": b"\xff\xfe\xfa",
    "deep": b"[" * 1_000_000,
    "page": b"<!doctype html><p>hello",
    "page with two records": b"<!doctype html>" + 2 * (BLOCK + b"{}</script>"),
    "page with no end": b"<!doctype html>" + BLOCK + b"{}",
    "page with a page": b"<!doctype html>" + BLOCK + b"<!doctype html></script>",
    "magic alone": b"PAR1PAR1",
    "magic and junk": b"PAR1" + bytes(1000),
    "a forged promise": single(n=60).to_json().replace('"epsilon": "0.5"', '"epsilon": "0.05"', 1).encode(),
    "60 MB of blocks": b"<!doctype html>" + BLOCK * 1_100_000,
}
SLOW_JUNK = {
    "60 MB of letters": b"x" * 60_000_000,
    "60 MB of zeros": b"[" + b"0," * 30_000_000 + b"0]",
    "a longer record than any": b" " * (limits.RECORD_CHARACTERS + 1),
}


@pytest.mark.parametrize("name", mostly_slow([*JUNK, *SLOW_JUNK], len(JUNK)))
def test_junk_is_refused_in_one_line(server: Server, name: str) -> None:
    assert_refused(server, {**JUNK, **SLOW_JUNK}[name], name)
    assert server.ask("GET", "/read")[0] == 200


@pytest.mark.parametrize("name", ["%ff%00" * 5000, "..%2F..%2Fetc%2Fpasswd", "%0D%0Ax", "C%3A%5Cx.json", "-", ""])
def test_any_name_of_a_file_is_taken(server: Server, name: str) -> None:
    status, _, text = server.ask("POST", "/read/open", {**server.headers(), "X-Discreet-Name": name}, single(n=60).to_json().encode())
    assert status == 200
    shown = re.search(r"<code><bdi>([^<]*)</bdi></code>", text)
    assert shown is not None
    assert shown[1] in ("record.json", "passwd", "x.json", "-")


def test_changed_tables_are_refused_in_one_line(server: Server, tmp_path: Path) -> None:
    for changes in CHANGES:
        assert_refused(server, changed(**changes).encode())
    released("sizes").to_parquet(tmp_path / "sound.parquet")
    opened(server, (tmp_path / "sound.parquet").read_bytes(), "sound.parquet")


@pytest.mark.slow
def test_changed_files_are_refused_in_one_line(server: Server, tmp_path: Path) -> None:
    sound().to_parquet(path := tmp_path / "table.parquet")
    for change in ROWS.values():
        assert_refused(server, rewritten(path, change).read_bytes(), "x.parquet")
    for header in HEADERS.values():
        assert_refused(server, rewritten(path, lambda rows: rows, header).read_bytes(), "x.parquet")


@pytest.mark.parametrize("kind", mostly_slow(["table", "one", "private", "long"], 1))
def test_no_label_is_obeyed(server: Server, kind: str) -> None:
    """Labels that a page would run or that turn the direction of writing are text, in every part of the page."""
    long = dc.Dirichlet.uniform(categories=["x" * 4000, *HOSTILE[:2]])
    made: dict[str, Callable[[], dc.Release]] = {
        "one": lambda: single(n=60),
        "table": table,
        "private": single,
        "long": lambda: dc.LatticeGeometric(long, 30, 1).release([10] * 3),
    }
    release = made[kind]()
    reader = opened(server, release, f"{MARKUP}.json")
    parts = [reader.view, reader.ask("answer"), reader.ask("contrast", first="0", second="1", category="0"), reader.ask("verify")]
    parts += [reader.ask("above", of="0", within="0", threshold="10"), reader.ask("margins", over=""), reader.ask("table", only="0")]
    for part in parts:
        assert {tag for tag, _ in part.tags}.isdisjoint({"script", "img", "b", "title", "iframe", "style"})
        assert not any(key.startswith("on") for _, found in part.tags for key in found)
        assert not OBEYED.search(part.words.replace("\n", "")), ascii(part.words)


@pytest.mark.slow
def test_mutated_records_are_shown_or_refused_in_one_line(server: Server) -> None:
    @settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None, derandomize=True)
    @given(mutated())
    def one(text: str) -> None:
        content = text.encode("utf-8", "surrogatepass")
        view = sent(server, content)
        if view.by_id["read-file-error"]:
            assert_refused(server, content)
            return
        reader = opened(server, content)
        for part in ("answer", "verify"):
            assert not OBEYED.search(reader.ask(part).words.replace("\n", ""))
        reader.ask("contrast", first="0", second="1")

    one()
