"""Which links of pages lead nowhere: on GitHub, which shows the Markdown files, and in the built pages."""

import re
from collections.abc import Iterable
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s)>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#* *$", re.MULTILINE)
EXPLICIT = re.compile(r"<a (?:id|name)=\"([^\"]+)\"|^\(([\w-]+)\)=$", re.MULTILINE)


def broken_in_markdown(pages: Iterable[Path], made_by_the_build: Iterable[str] = ()) -> list[str]:
    """Links of Markdown files to files that are not there, or to headings that are not; but for anchors of pages made by the build."""
    return [
        f"{page.name}: {link}"
        for page in pages
        for link in LINK.findall(CODE.sub("", FENCED.sub("", page.read_text("utf-8"))))
        if not _leads_somewhere(page, link, set(made_by_the_build))
    ]


def _leads_somewhere(page: Path, link: str, made: set[str]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return False
    return not parts.fragment or target.name in made or unquote(parts.fragment) in _anchors_of_markdown(target)


@cache
def _anchors_of_markdown(page: Path) -> set[str]:
    """As GitHub makes them: a heading's words in lower case, without punctuation, joined by hyphens, and numbered if repeated."""
    text = FENCED.sub("", page.read_text("utf-8"))
    found: set[str] = {name for pair in EXPLICIT.findall(text) for name in pair if name}
    for heading in HEADING.findall(text):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number, name = 0, slug
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found


class _Page(HTMLParser):
    """The links and anchors of a built page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.append(value)
            if name in ("href", "src") and value and tag in ("a", "img", "link", "script"):
                self.links.append(unescape(value))


def broken_in_html(folder: Path) -> list[str]:
    """Links of built pages to files or anchors that are not there, and anchors that a page has twice."""
    pages = {path: _Page(path) for path in folder.rglob("*.html")}
    twice = [f"{path.name}: #{name} twice" for path, page in pages.items() for name in {*page.anchors} if page.anchors.count(name) > 1]
    return twice + [f"{path.name}: {link}" for path, page in pages.items() for link in page.links if not _is_built(path, link, pages)]


def _is_built(path: Path, link: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
