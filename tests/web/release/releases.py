"""Releases on the page of `discreet explore`: a survey, a ledger, and what is typed and pressed."""

import re
from dataclasses import dataclass
from pathlib import Path

import discreet as dc
from tests.web.server import Server

SECRET = "xylograph-4711"  # noqa: S105
"""Stands in the records wherever a text can, and must stand in no answer."""
COUNTS = {"low": 8317, "high": 2749, "other": 1193}
"""Of the answers; none of these numbers may be said before a release."""


@dataclass(frozen=True)
class Survey:
    """A file of records, a ledger with two datasets, and where the page keeps releases."""

    folder: Path
    epsilon: int = 10

    def __post_init__(self) -> None:
        written = {"low": "low", "high": "high", "other": SECRET}
        rows = [f"{SECRET}{i},{written[answer]},north" for i, answer in enumerate(a for a, n in COUNTS.items() for _ in range(n))]
        self.file.write_text("\n".join(["who,risk,region", *rows]) + "\n")
        ledger = dc.Ledger(self.ledger)
        ledger.create("survey", epsilon=self.epsilon, unit="person")
        ledger.create("hidden", epsilon=self.epsilon, unit="person", neighbours="add or remove one")

    @property
    def file(self) -> Path:
        return self.folder / "survey.csv"

    @property
    def ledger(self) -> str:
        return str(self.folder / "ledger.db")

    @property
    def home(self) -> str:
        return str(self.folder / "home")

    @property
    def kept(self) -> Path:
        return Path(self.home, "discreet", "releases")

    def fields(self, **changed: str) -> dict[str, str]:
        """What is typed into the form."""
        return {
            "file": str(self.file),
            "column": "risk",
            "privacy_id": "who",
            "categories": "low\nhigh\nother",
            "other": "other",
            "nulls": "other",
            "epsilon": "1/2",
            "ledger": self.ledger,
            "dataset": "survey",
        } | changed

    def spends(self, dataset: str = "survey") -> int:
        return len(dc.Ledger(self.ledger).history(dataset))


def look(server: Server, fields: dict[str, str]) -> tuple[str, str]:
    """The answer to a form, and the key in it, if there is one."""
    status, text = server.post("/release/look", **fields)
    assert status == 200, text
    found = re.search(r'name="key" value="([0-9a-f]+)"', text)
    return text, "" if found is None else found[1]


def drawn(server: Server, key: str) -> dc.Release:
    """Confirm a release, and fetch its record."""
    status, text = server.post("/release/draw", key=key)
    assert status == 200
    assert "Done." in text, text
    return dc.Release.from_json(server.post("/release/record", key=key)[1])
