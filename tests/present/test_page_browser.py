"""The page of a release as a reader meets it: opened from the disk in headless Chromium, at three widths, dark, light and printed."""

import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from tests.browser_support import MARKS, SIDEWAYS, WIDTHS, launched, playwright
from tests.present.test_page import WORDS, single, table

pytestmark = MARKS
INK = "() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
OVERFLOWING = """() => [...document.querySelectorAll('main *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.right > window.innerWidth + 0.5 || box.left < -0.5;
}).map(element => element.outerHTML)"""


def pages(folder: Path) -> dict[str, Path]:
    """A page for each kind of release, every one with hostile labels and words; the last has no posterior that allows for the noise."""
    long = dc.Dirichlet.uniform(categories=["x" * 400, "y y " * 100, "مدخّن", "z"])
    kinds = {
        "public": single(n=60),
        "private": single(),
        "table": table(),
        "none": dc.mechanism("EHDS", long, n=200, epsilon=1).release([90, 50, 40, 20], about=WORDS),
    }
    for name, found in kinds.items():
        (folder / f"{name}.json").write_text(found.to_json())
        done = CliRunner().invoke(app, ["report", str(folder / f"{name}.json"), "--output", str(folder / f"{name}.html")])
        assert done.exit_code == 0, done.output
    return {name: folder / f"{name}.html" for name in kinds}


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"[0-9]+", colour)[:3])) / 765


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    made = pages(tmp_path)
    wrong: list[str] = []
    asked: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = launched(driver)
        page: Any = browser.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        for name, path in made.items():
            page.goto(path.as_uri())
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme, media="screen")
                ink, paper = map(brightness, page.evaluate(INK))
                assert (ink < 0.3 < 0.9 < paper) if scheme == "light" else (paper < 0.2 < 0.8 < ink)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    assert not page.evaluate(SIDEWAYS), (name, width)
                    assert page.evaluate(OVERFLOWING) == [], (name, width)
            assert page.locator(".pictured").first.bounding_box()["y"] < 900, "the answer begins on the first screen"
            bars = page.locator(".pictured .bar")
            assert bars.count() == {"public": 3, "private": 3, "table": 5, "none": 4}[name]
            boxes = [bars.nth(number).bounding_box() for number in range(bars.count())]
            assert all(box is not None and box["width"] > 1 for box in boxes)
            page.emulate_media(color_scheme="dark", media="print")
            ink, paper = map(brightness, page.evaluate(INK))
            assert ink == 0
            assert paper == 1
            assert page.pdf(format="A4").startswith(b"%PDF-")
        browser.close()
    assert wrong == []
    assert asked == [path.as_uri() for path in made.values()]
