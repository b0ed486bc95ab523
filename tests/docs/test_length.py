"""The pages stay short: their words are counted, and may not exceed a limit."""

import re
from pathlib import Path

from tests.places import DOCS, PAGES, ROOT

LIMIT = 45_000
"""The most words of all pages together, as `wc -w` counts them: code, formulas and marks are words too."""
CHANGES = 2_000
"""The most words of the changelog, which lists each topic of a version once."""
MADE = ("proofs/checked.md", "reference/commands.md", "reference/reference.md")
"""Pages that are made from proofs, commands and docstrings."""
MEASURED = "research/benchmarks.md"
"""The page whose tables are measurements; its text counts."""


def counted(path: Path) -> int:
    """The words of a page."""
    name = path.relative_to(DOCS).as_posix()
    text = path.read_text()
    return 0 if name in MADE else words(text, tables=name != MEASURED)


def words(text: str, *, tables: bool = True) -> int:
    """Count what stands between spaces, with or without the rows of tables."""
    return len((text if tables else re.sub(r"^ *\|.*$", "", text, flags=re.MULTILINE)).split())


def test_all_pages_together_stay_below_the_limit() -> None:
    total = sum(map(counted, PAGES))
    assert total <= LIMIT, f"{total:,} words: cut what another page says, and link to it"
    assert total > LIMIT / 2


def test_the_changelog_stays_short() -> None:
    total = words((ROOT / "CHANGELOG.md").read_text())
    assert total <= CHANGES, f"{total:,} words: add to the line of the topic, and do not list changes in the order of their making"


def test_only_made_pages_and_measured_tables_are_left_out() -> None:
    text = "# One *two*\n\n| three | 4 |\n|---|---|\n- five, `six = 7`.\n"
    assert words(text) == 14
    assert words(text, tables=False) == 8
    assert [counted(DOCS / name) for name in MADE] == [0, 0, 0]
    assert 0 < counted(DOCS / MEASURED) < words((DOCS / MEASURED).read_text()) / 2
