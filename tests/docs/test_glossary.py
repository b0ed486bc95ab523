"""The glossary: its links lead somewhere, it is in alphabetical order, and every entry has an example and a page with more."""

import re
from pathlib import Path

import pytest

from tests.places import DOCS, PAGES, ROOT

GLOSSARY = DOCS / "reference" / "glossary.md"
ENTRY = re.compile(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"glossary\.md#([^)\s]+)\)")


def anchor(heading: str) -> str:
    """What GitHub and Sphinx both make of a heading of ASCII letters."""
    return heading.lower().replace(" ", "-")


def entries() -> dict[str, str]:
    return dict(ENTRY.findall(GLOSSARY.read_text()))


def broken(text: str, links: re.Pattern[str]) -> set[str]:
    """Anchors of the glossary that a text refers to and that are not there."""
    return set(links.findall(text)) - set(map(anchor, entries()))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_every_link_to_the_glossary_leads_to_an_entry(page: Path) -> None:
    assert not broken(page.read_text(), LINK)
    if page == GLOSSARY:
        assert not broken(page.read_text(), re.compile(r"\(#([^)]+)\)"))


def test_a_link_to_no_entry_is_noticed() -> None:
    assert broken("[ε](glossary.md#epsilon) and [δ](glossary.md#no-such-term)", LINK) == {"no-such-term"}


def test_the_entries_are_in_alphabetical_order_and_have_anchors_that_are_the_same_everywhere() -> None:
    terms = list(entries())
    assert len(terms) == 20
    assert terms == sorted(terms, key=str.lower)
    assert all(re.fullmatch("[A-Za-z -]+", term) for term in terms)


@pytest.mark.parametrize("term", entries())
def test_an_entry_has_an_example_and_a_page_with_more(term: str) -> None:
    text = entries()[term]
    assert "Example: " in text
    assert re.search(r"More: \[[^]]+\]\(([\w./]+)\.md", text)
