"""What one cites is what one has: the citation, the package and the changelog name the same version."""

import re
from datetime import date
from pathlib import Path

import discreet

ROOT = Path(__file__).parent.parent
CITATION = (ROOT / "CITATION.cff").read_text()


def field(name: str) -> str:
    """The value of a field of the citation that stands on a line of its own."""
    found = re.findall(rf"^{name}: (.+)$", CITATION, re.MULTILINE)
    assert len(found) == 1, f"{name} stands {len(found)} times in CITATION.cff"
    return str(found[0])


def test_the_citation_names_this_version() -> None:
    assert field("version") == discreet.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", discreet.__version__), "a version that is cited is no development version"


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == discreet.__version__


def test_the_citation_has_a_date_and_the_licence() -> None:
    assert date.fromisoformat(field("date-released")) >= date(2026, 11, 16)
    assert (ROOT / "LICENSE").read_text().startswith(field("license"))


def test_every_reference_has_a_kind_a_title_and_authors() -> None:
    references = re.split(r"^  - (?=type: )", CITATION.partition("references:\n")[2], flags=re.MULTILINE)[1:]
    assert len(references) >= 5
    for reference in references:
        assert re.search(r"^    title: \S", reference, re.MULTILINE)
        assert re.search(r"^    authors:\n      - ", reference, re.MULTILINE)
