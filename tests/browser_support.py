"""Chromium for tests and pictures, and what is asked of every page in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'discreet[test]'")

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"),
]
"""Of every module that opens a page."""
PATIENCE = 300_000
"""Milliseconds after which a page that waits has failed: long, since a loaded machine is slow."""
WIDTHS = (390, 768, 1280)
"""Pixels of a phone, a tablet and a desk."""

AXE = (Path(__file__).parent / "assets" / "axe.min.js").read_text("utf-8")
SERIOUS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => [found.id, found.nodes.slice(0, 3).map(node => node.html)])"""
"""What keeps people from using a page, once axe is on it."""
SIDEWAYS = "() => document.documentElement.scrollWidth > window.innerWidth"
"""Whether a page scrolls sideways."""


def launched(driver: Any) -> Any:
    """A browser without a window."""
    return driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), headless=True)


@contextmanager
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = launched(driver)
        try:
            yield found
        finally:
            found.close()


def watched(page: Any, own: tuple[str, ...], secret: str | None = None) -> list[str]:
    """What will go wrong on a page.

    That is an error, whatever is written to the console, a dialog, and a request of an address that is not its own or that holds a secret.
    """
    wrong: list[str] = []

    def look(request: Any) -> None:
        if not request.url.startswith(own) or (secret is not None and secret in request.url):
            wrong.append(f"asks {request.url}")

    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", look)
    return wrong


def until(page: Any, expression: str, given: Any = None) -> None:
    """Wait for something to be so; `wait_for_function` would need eval, which the page's policy forbids."""
    for _ in range(PATIENCE // 50):
        if page.evaluate(expression, given):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)
