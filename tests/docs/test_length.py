"""The pages stay short: their words are counted, and may not exceed a limit."""

import re
from pathlib import Path

from tests.docs.test_blocks import FENCE
from tests.places import DOCS, PAGES, ROOT

LIMIT = 33_000
"""The most words of all pages together, beside code."""
CHANGES = 2_000
"""The most words of the changelog, which lists each topic of a version once."""
MADE = ("proofs/checked.md", "reference/commands.md", "reference/reference.md")
"""Pages that are made from proofs, commands and docstrings."""
MEASURED = "research/benchmarks.md"
"""The page whose tables are measurements; its text counts."""


def words(text: str) -> int:
    """Count what has a letter or a digit. A formula is one word; code that the tests run, marks and made tables are none."""
    text = FENCE.sub("", text)
    for pattern in (r"<!-- table: .*?-->.*?<!-- end -->", r"<!--.*?-->"):
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    for pattern in (r"\$\$.*?\$\$", r"(?<![\\$`])\$[^$\n]+\$"):
        text = re.sub(pattern, "x", text, flags=re.DOTALL)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def counted(path: Path) -> int:
    """The words of a page by this measure."""
    name = path.relative_to(DOCS).as_posix()
    text = path.read_text()
    return 0 if name in MADE else words(re.sub(r"^ *\|.*$", "", text, flags=re.MULTILINE) if name == MEASURED else text)


def test_all_pages_together_stay_below_the_limit() -> None:
    total = sum(map(counted, PAGES))
    assert total <= LIMIT, f"{total:,} words: cut what another page says, and link to it"
    assert total > LIMIT / 2


def test_the_changelog_stays_short() -> None:
    total = words((ROOT / "CHANGELOG.md").read_text())
    assert total <= CHANGES, f"{total:,} words: add to the line of the topic, and do not list changes in the order of their making"


def test_what_is_a_word_is_counted_and_what_readers_do_not_see_is_not() -> None:
    assert words("# One *two*\n\n| three | 4 |\n|---|---|\n- five, `six = 7`.\n") == 7
    assert words("It is 63 %<!-- bench: a: b, c --> of $x + y$.\n\n$$\na + b\n$$ (eq-a)\n") == 7
    assert words("Run it:\n\n```sh\ndiscreet check study.toml\n```\n\nDone.\n") == 3
    assert words("a\n<!-- table: a -->\n| b | c |\n<!-- end -->\nd\n") == 2
