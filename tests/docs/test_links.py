"""Links between the Markdown files of the repository, as GitHub resolves them, and the check of the built pages' links."""

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.docs.links import broken_in_html, broken_in_markdown
from tests.places import DOCS, EXAMPLES, PAGES, ROOT

MADE_BY_THE_BUILD = ("commands.md", "reference.md")
"""Pages whose headings and names are put in while the pages are built; tests/docs/test_browser.py looks at their anchors."""
OLD = [
    "accuracy",
    "benchmarks",
    "choosing",
    "coming_from",
    "commands",
    "data",
    "exactness",
    "explore",
    "extending",
    "faq",
    "five_minutes",
    "gallery",
    "glossary",
    "howto",
    "inference",
    "inference_proofs",
    "ledger",
    "ledger_proofs",
    "mathematics",
    "mechanisms",
    "numerics",
    "planning",
    "privacy",
    "promise",
    "pymc",
    "reading",
    "reference",
    "release",
    "reproduction",
    "sensitivity",
    "tables",
    "tables_proofs",
    "tutorial",
]
"""Pages of version 0.2, which lay in one folder."""


def test_every_link_of_a_markdown_file_leads_somewhere_on_github() -> None:
    pages = [*ROOT.glob("*.md"), ROOT / "papers" / "README.md", *PAGES]
    assert len(pages) > 25
    assert broken_in_markdown(pages, MADE_BY_THE_BUILD) == []


@pytest.mark.parametrize("name", ["tour.ipynb", "reading.ipynb"])
def test_every_link_of_a_notebook_leads_somewhere_on_github(name: str, tmp_path: Path) -> None:
    cells = [cell for cell in json.loads((EXAMPLES / name).read_text("utf-8"))["cells"] if cell["cell_type"] == "markdown"]
    (tmp_path / "examples").mkdir()
    (tmp_path / "docs").symlink_to(DOCS)
    (tour := tmp_path / "examples" / "tour.md").write_text("\n\n".join("".join(cell["source"]) for cell in cells), "utf-8")
    assert "](../docs/" in tour.read_text("utf-8")
    assert broken_in_markdown([tour], MADE_BY_THE_BUILD) == []


def test_a_broken_link_of_a_markdown_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other\n\n## What `ε` costs, and why\n\n## Twice\n\n## Twice\n")
    (page := tmp_path / "page.md").write_text(
        "# Page\n\nTo [a heading](other.md#what-ε-costs-and-why), [the second](other.md#twice-1), [here](#page), [site](https://example.org/a),\n"
        "`[code](nowhere.md)`, [![a picture](other.md)](other.md), [nothing](nowhere.md), [no heading](other.md#elsewhere) and\n"
        "[none](#other).\n\n"
        "```\n[fenced](nowhere.md)\n```\n"
    )
    assert broken_in_markdown([page]) == ["page.md: nowhere.md", "page.md: other.md#elsewhere", "page.md: #other"]
    assert broken_in_markdown([page], ["other.md"]) == ["page.md: nowhere.md", "page.md: #other"]


def test_a_broken_link_of_a_built_page_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<p id="there">')
    (tmp_path / "page.html").write_text(
        '<b id="one"></b><i id="one"></i><a href="other.html#there">a</a><a href="#one">b</a><a href="https://example.org/#x">c</a>'
        '<a href="other.html#nowhere">d</a><a href="missing.html">e</a><a href="#two">f</a><img src="missing.png">'
    )
    wrong = ["#one twice", "other.html#nowhere", "missing.html", "#two", "missing.png"]
    assert broken_in_html(tmp_path) == [f"page.html: {link}" for link in wrong]


def test_every_old_address_leads_to_a_page(tmp_path: Path) -> None:
    redirect = runpy.run_path(str(DOCS / "_extensions" / "redirects.py"))["redirect"]
    names = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES]
    built = SimpleNamespace(builder=SimpleNamespace(name="html"), env=SimpleNamespace(found_docs=names), outdir=tmp_path)
    redirect(built, None)
    written = {page.relative_to(tmp_path).with_suffix("").as_posix(): page for page in tmp_path.rglob("*.html")}
    leads = {name: re.findall(r'url=([^"]+)', page.read_text("utf-8")) for name, page in written.items()}
    assert set(OLD) <= leads.keys()
    assert all((DOCS / name).parent.joinpath(link).with_suffix(".md").is_file() for name, links in leads.items() for link in links)
    assert (leads["inference"], leads["inference_proofs"]) == (["howto/reading.html"], ["proofs/inference.html"])
    assert leads["howto/reading_tables"] == ["../howto/reading.html"]
    assert (leads["howto"], leads["howto/howto"]) == (["start/faq.html"], ["../start/faq.html"])
