"""The documentation as a reader meets it: built as `make docs` does, and every page opened from disk in headless Chromium."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet
from tests.browser_support import AXE, MARKS, launched, playwright
from tests.docs.build import build
from tests.docs.links import CODE, FENCED, broken_in_html
from tests.places import DOCS, PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("math_core", reason="the documentation's packages are not installed: pip install 'discreet[docs]'")

WIDTHS = (1280, 768, 390)
RULES = """{resultTypes: ["violations"], preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}"""
SERIOUS = f"""async () => (await axe.run(document, {RULES})).violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${{found.id}}: ${{found.nodes[0].html.slice(0, 200)}}`)"""
LOOKS = """async () => {
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const found = [];
    if (document.documentElement.scrollWidth > window.innerWidth) found.push("the page scrolls sideways");
    for (const box of document.querySelectorAll("article :is(pre, .table-wrapper, .formula)")) {
        if (box.scrollWidth <= box.clientWidth + 1) continue;
        const longest = box.innerText.split("\\n").sort((a, b) => b.length - a.length)[0];
        if (!["auto", "scroll"].includes(getComputedStyle(box).overflowX)) found.push(`does not scroll: ${longest}`);
        if (box.tabIndex !== 0) found.push(`not for the keyboard: ${longest}`);
        if (window.innerWidth >= 1280 && !box.matches(".formula")) found.push(`cut off: ${longest}`);
    }
    return found;
}"""
RAW_FORMULAS = """() => {
    const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const text = walker.currentNode;
        if (!text.parentElement.closest("pre, code, math, script") && /[$][$]|[$][^\\s\\d$][^$]*[$]/.test(text.data)) found.push(text.data);
    }
    return found.map(text => `a formula left as it is written: ${text}`);
}"""

pytestmark = MARKS


@contextmanager
def browser_page(wrong: list[str]) -> Iterator["Page"]:
    """An empty page; what goes wrong on it or is asked of any server is added to the list."""
    with playwright.sync_playwright() as driver:
        browser = launched(driver)
        try:
            page = browser.new_page()
            page.on("console", lambda message: wrong.append(f"console: {message.text}") if message.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
            page.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(f"asks {request.url}"))
            yield page
        finally:
            browser.close()


def looked_at(page: "Page", path: Path) -> list[str]:
    """What a reader of a built page would stumble over, at any width."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(path.as_uri())
    found = list(page.evaluate(RAW_FORMULAS))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"at {width} px: {what}" for what in page.evaluate(LOOKS)]
    page.evaluate(AXE)
    return found + list(page.evaluate(SERIOUS))


def displayed_formulas(source: Path) -> int:
    text = CODE.sub("", FENCED.sub("", source.read_text()))
    return text.count("$$") // 2


def test_every_page_in_a_browser(tmp_path: Path) -> None:
    assert build(DOCS, tmp_path) == ""
    html = tmp_path / "html"
    assert broken_in_html(html) == []
    wrong: list[str] = []
    names = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES]
    assert all((html / f"{name.rpartition('/')[2]}.html").exists() for name in names), "old addresses lead to the new ones"
    with browser_page(wrong) as page:
        for name in [*names, "search", "genindex"]:
            wrong += [f"{name}: {what}" for what in looked_at(page, html / f"{name}.html")]
            if (source := DOCS / f"{name}.md").exists():
                shown = page.locator("article math[display=block]").count()
                assert shown == displayed_formulas(source), name
        assert_copied(page, html / "howto" / "explore.html")
        page.goto((html / "promise.html").as_uri() + "#old-address")
        page.wait_for_url((html / "explain" / "promise.html").as_uri() + "#old-address")
    if wrong:
        pytest.fail("\n".join(wrong))
    assert_reference_of_public_names((html / "reference" / "reference.html").read_text())


def assert_reference_of_public_names(reference: str) -> None:
    anchors = set(re.findall(r'id="(?:module-)?discreet\.(?:errors\.)?(\w+)"', reference))
    assert set(discreet.__all__) <= anchors
    assert "Type<span" not in reference, "the first words of a property's docstring were taken for its type"


def assert_copied(page: "Page", path: Path) -> None:
    """The button of a block copies its commands without their prompts."""
    page.goto(path.as_uri())
    block = page.locator("article .highlight", has_text="$ pip install").first
    block.hover()
    block.get_by_role("button").click()
    page.evaluate("document.querySelector('article').append(document.createElement('textarea'))")
    page.locator("article textarea").press("Control+V")
    copied = page.locator("article textarea").input_value().splitlines()
    lines = (block.locator("pre").text_content() or "").splitlines()
    assert copied == [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def test_what_is_wrong_with_a_page_is_noticed(tmp_path: Path) -> None:
    (path := tmp_path / "page.html").write_text(
        """<!DOCTYPE html><html lang="en"><title>Wrong</title><article><h1>Wrong</h1><p>Left: $x^2$ or <code>$y$</code></p>
        <pre style="overflow: visible">wide</pre><div style="width: 1400px">wider than a screen</div>
        <pre style="overflow: auto; width: 100px">much too long for a block that has 100 px</pre>
        <img src="http://127.0.0.1:9/picture.png"><script>console.error("broken"); missing()</script></article>"""
    )
    wrong: list[str] = []
    with browser_page(wrong) as page:
        wrong += looked_at(page, path)
    for sign in (
        "a formula left as it is written: Left: $x^2$",
        *(f"at {width} px: the page scrolls sideways" for width in WIDTHS),
        "at 1280 px: cut off: much too long",
        "at 390 px: not for the keyboard: much too long",
        "image-alt: <img",
        "asks http://127.0.0.1:9/picture.png",
        "console: broken",
        "error: missing is not defined",
    ):
        assert any(found.startswith(sign) for found in wrong), (sign, wrong)
    assert not any("$y$" in found.removeprefix("a formula left as it is written: Left: $x^2$") for found in wrong)
