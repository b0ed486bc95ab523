"""A record on the page of `discreet explore`: what its parts answer, taken apart, and records to open."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Counts
from discreet.record.release import is_table
from tests.web.server import Server

CATEGORIES = ["never", "former", "current"]
PRIOR = dc.Dirichlet.uniform(categories=CATEGORIES)
BY = {"region": ["north", "south"], "sex": ["f", "m"]}
COUNTS = np.array([[30, 12, 9], [25, 20, 6], [18, 7, 22], [40, 3, 8]])
PUBLIC = {"sizes": COUNTS.sum(axis=1).tolist(), "total": int(COUNTS.sum()), "nothing": None}
VOID = {"input", "br"}
CROSSED = re.compile(r"([0-9.]+) % ([0-9.]+) to ([0-9.]+) %")
"""A cell of a cross table: a share and its interval."""


class Fragment(HTMLParser):
    """A part of the page: the cells of its tables, the texts that have an id, and all its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.is_picture = False
        self.by_id: dict[str, str] = {}
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("id") is not None:
            self.by_id[str(found["id"])] = ""
        if tag not in VOID:
            self.open.append((tag, found.get("id")))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.is_picture = dict(attrs).get("class") == "picture"
            self.rows[-1] += [] if self.is_picture else [""]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        for _, key in self.open:
            if key is not None:
                self.by_id[key] += data
        if {"td", "th"} & {tag for tag, _ in self.open} and not self.is_picture:
            self.rows[-1][-1] += data.replace("\u00a0", " ")

    def shares(self) -> list[tuple[str, float, float, float]]:
        """Label, mean and interval of every share, as they are shown; of a cross table one column after the other."""
        found, crossed = [], [(row[0], [CROSSED.fullmatch(cell) for cell in row[1:]]) for row in self.rows]
        wide = [(label, cells) for label, cells in crossed if cells and all(cells)]
        for place in range(len(wide[0][1]) if wide else 0):
            for label, cells in wide:
                numbers = cells[place]
                assert numbers is not None
                found.append((label, float(numbers[1]) / 100, float(numbers[2]) / 100, float(numbers[3]) / 100))
        for row in self.rows:
            ends = re.fullmatch(r"([0-9.]+) to ([0-9.]+) %", row[3]) if len(row) in (4, 5) else None
            if ends is not None:
                found.append((row[0], float(row[2].removesuffix(" %")) / 100, float(ends[1]) / 100, float(ends[2]) / 100))
        return found


@dataclass(frozen=True)
class Reader:
    """A record that is open on a page."""

    server: Server
    key: str
    view: Fragment

    def ask(self, part: str, **fields: str) -> Fragment:
        status, text = self.server.post(f"/read/{part}", record=self.key, **fields)
        assert status == 200
        return Fragment(text)


def sent(server: Server, content: bytes, name: str = "record.json") -> Fragment:
    headers = {**server.headers(), "X-Discreet-Name": quote(name)}
    status, _, text = server.ask("POST", "/read/open", headers, content)
    assert status == 200, text
    return Fragment(text)


def opened(server: Server, content: bytes | dc.Release, name: str = "record.json") -> Reader:
    view = sent(server, content.to_json().encode() if isinstance(content, dc.Release) else content, name)
    assert view.by_id["read-file-error"] == ""
    keys = {found["value"] for tag, found in view.tags if tag == "input" and found.get("name") == "record"}
    assert len(keys) == 1
    return Reader(server, str(keys.pop()), view)


def released(public: str) -> dc.Release[Counts]:
    found = dc.LatticeGeometric(PRIOR, PUBLIC[public], "0.5", by=BY).release(COUNTS)
    assert is_table(found)
    return found


SINGLE: dict[str, Callable[[], dc.Release]] = {
    "public n": lambda: dc.LatticeGeometric(PRIOR, 420, 1).release([231, 112, 77]),
    "private n": lambda: dc.LatticeGeometric(PRIOR, None, 1).release([231, 112, 77]),
    "two categories": lambda: dc.LatticeGeometric(dc.Beta(1, 2, categories=["yes", "no"]), 90, "1/2").release([60, 30]),
    "Hellinger": lambda: dc.HellingerSmooth(PRIOR, 40, 1).release([20, 12, 8]),
}


def assert_shown(shown: list[tuple[str, float, float, float]], expected: dict[str, tuple[float, float, float]]) -> None:
    """The numbers that are shown are these, rounded to the tenth of a per cent or finer."""
    assert {label for label, *_ in shown} == set(expected)
    for label, *numbers in shown:
        assert numbers == pytest.approx(expected[label], abs=0.000501)


def expected_of(posterior: Any, mass: float) -> dict[str, tuple[float, float, float]]:
    rows = zip(posterior.categories, posterior.mean(), posterior.interval(mass), strict=True)
    return {str(category): (float(mean), float(low), float(high)) for category, mean, (low, high) in rows}
