"""Pages that strangers begin with: a term leads to the glossary where it is first used, and code fits the width of a page."""

import re
from pathlib import Path

import pytest

from tests.test_docs import FENCE

DOCS = Path(__file__).parent.parent / "docs"
BEGINNINGS = (
    *("five_minutes", "tutorial", "choosing", "planning", "promise", "faq"),
    *("howto", "data", "release", "reading", "pymc", "extending"),
)
PAGES = [DOCS / f"{name}.md" for name in BEGINNINGS]
WIDTH = 88
"""Characters of code that a page shows without scrolling on a usual screen."""

TERMS = {
    "budget": "budgets?",
    "category": "category|categories",
    "concentration": "concentrations?",
    "delta": "δ",
    "dirichlet-distribution": "Dirichlet",
    "epsilon": "ε",
    "exponential-mechanism": "exponential mechanisms?",
    "group": "groups?",
    "hellinger-distance": "Hellinger distance",
    "ledger": "ledgers?",
    "mechanism": "mechanisms?",
    "noise-aware": "noise-aware",
    "posterior": "posteriors?",
    "prior": "priors?",
    "privacy-loss": "privacy loss",
    "private-n": "private n|n is private",
    "record": "records?",
    "release": "releases?",
    "sensitivity": "sensitivity|sensitivities",
    "unit-of-privacy": "unit of privacy",
}
"""How the words of the glossary are written. Those that are also everyday words, such as filter, are left out."""

LINK = re.compile(r"\[[^]]*(?:\[[^]]*\][^]]*)*\]\([^)]*\)")
NO_PROSE = (
    FENCE,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^[#|].*$", re.MULTILINE),  # headings and tables
    re.compile(r"(?<=\n\n)(?: {4}.*\n)+"),
    re.compile(r"`[^`]*`"),
    re.compile(r"!\[[^]]*\]\([^)]*\)"),
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
)


def unexplained(text: str) -> set[str]:
    """Terms whose first use in prose is no link, neither to the glossary nor to a page about it."""
    for pattern in NO_PROSE:
        text = pattern.sub("", text)
    links = [found.span() for found in LINK.finditer(text)]
    first = {term: re.search(rf"(?<![\w-])(?:{words})(?![\w-])", text, re.IGNORECASE) for term, words in TERMS.items()}
    return {term for term, use in first.items() if use and not any(start <= use.start() < end for start, end in links)}


def too_wide(text: str) -> list[str]:
    """Lines of code, fenced or indented, that would be cut off."""
    blocks = [found[0] for found in FENCE.finditer(text)]
    blocks += re.findall(r"(?<=\n\n)(?: {4}.*\n)+", FENCE.sub("", text))
    return [line for block in blocks for line in block.splitlines() if len(line) > WIDTH]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_term_is_linked_where_a_page_first_uses_it(page: Path) -> None:
    assert not unexplained(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_fits_the_page(page: Path) -> None:
    assert not too_wide(page.read_text())


def test_a_term_that_is_not_linked_at_first_is_noticed() -> None:
    assert unexplained("# A budget\n\nA ledger keeps `ε`.\n") == {"ledger"}
    assert unexplained("The ledger. A [ledger](glossary.md#ledger) of [budgets](glossary.md#budget).\n") == {"ledger"}


def test_code_that_is_too_wide_is_noticed() -> None:
    wide = "x" * (WIDTH + 1)
    assert too_wide(f"```sh\n{wide}\n```\n\n{wide}\n\n    {wide}\n\nend\n") == [wide, f"    {wide}"]
