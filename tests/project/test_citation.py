"""What one cites is what one has: the citation, the package and the changelog name the same version."""

import re
import tomllib
from datetime import date

import discreet
import discreet_papers
from tests.places import ROOT

CITATION = (ROOT / "CITATION.cff").read_text()


def field(name: str) -> str:
    """The value of a field of the citation that stands on a line of its own."""
    found = re.findall(rf"^{name}: (.+)$", CITATION, re.MULTILINE)
    assert len(found) == 1, f"{name} stands {len(found)} times in CITATION.cff"
    return str(found[0])


def test_the_citation_names_this_version() -> None:
    assert field("version") == discreet.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", discreet.__version__), "a version that is cited is no development version"


def test_the_package_of_the_papers_goes_with_this_version() -> None:
    project = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text())["project"]
    assert discreet_papers.__version__ == discreet.__version__
    assert f"discreet=={discreet.__version__}" in project["dependencies"]


def test_the_newest_dated_entry_of_the_changelog_is_this_version() -> None:
    """What is not released yet may stand before it."""
    entries = re.findall(r"^## (\S+) \((.+)\)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    dated = [version for version, day in entries if day != "unreleased"]
    assert dated[0] == discreet.__version__


def test_the_citation_has_a_date_and_the_licence() -> None:
    assert date.fromisoformat(field("date-released")) >= date(2026, 11, 16)
    assert (ROOT / "LICENSE").read_text().startswith(field("license"))


def test_every_reference_has_a_kind_a_title_and_authors() -> None:
    references = re.split(r"^  - (?=type: )", CITATION.partition("references:\n")[2], flags=re.MULTILINE)[1:]
    assert len(references) >= 5
    for reference in references:
        assert re.search(r"^    title: \S", reference, re.MULTILINE)
        assert re.search(r"^    authors:\n      - ", reference, re.MULTILINE)
