"""Pages that strangers begin with: a term of the glossary leads there, or to a page about it, where it is first used."""

import re
from pathlib import Path

import pytest

from tests.docs.test_blocks import FENCE
from tests.places import DOCS

BEGINNINGS = (
    *("five_minutes", "tutorial", "choosing", "planning", "promise", "sign", "suppression", "faq"),
    *("data", "release", "explore", "reading", "pymc", "extending"),
)
PAGES = [next(DOCS.rglob(f"{name}.md")) for name in BEGINNINGS]

TERMS = {
    "budget": "budgets?",
    "category": "category|categories",
    "delta": "δ",
    "dirichlet-distribution": "Dirichlet",
    "epsilon": "ε",
    "group": "groups?",
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
"""How the words of the glossary are written. Those that are also everyday words are left out."""

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_term_is_linked_where_a_page_first_uses_it(page: Path) -> None:
    assert not unexplained(page.read_text())


def test_a_term_that_is_not_linked_at_first_is_noticed() -> None:
    assert unexplained("# A budget\n\nA ledger keeps `ε`.\n") == {"ledger"}
    assert unexplained("The ledger. A [ledger](glossary.md#ledger) of [budgets](glossary.md#budget).\n") == {"ledger"}
