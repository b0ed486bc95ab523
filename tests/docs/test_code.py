"""Code in pages fits the page: no line is longer than what is shown beside the sidebar of a screen of 1280 px."""

from pathlib import Path

import pytest

from tests.docs.test_blocks import FENCE
from tests.places import PAGES

LONGEST = 100
"""Characters; docs/_static/pages.css makes room for them."""


def long_lines(text: str) -> list[str]:
    """Lines of fenced blocks that are too long. What a directive takes is no code."""
    blocks = [match[2] for match in FENCE.finditer(text) if not match[0].startswith("```{")]
    return [line for block in blocks for line in block.splitlines() if len(line) > LONGEST]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_fits_the_page(page: Path) -> None:
    assert long_lines(page.read_text()) == []


def test_a_line_that_is_too_long_is_noticed() -> None:
    long, short = "x" * (LONGEST + 1), "y" * LONGEST
    assert long_lines(f"{long}\n\n```python\n{short}\n{long}\n```\n\n```{{figure}} {long}\n{long}\n```\n") == [long]
