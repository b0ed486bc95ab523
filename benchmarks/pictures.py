"""The pictures that pages show: `python -m benchmarks.pictures` runs docs/start/gallery.md, docs/howto/cookbook.md,
docs/howto/pooling.md and examples/five_minutes.py and keeps what they draw in docs/images.

The picture of the page of `discreet explore` is taken in Chromium, if Playwright is installed.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.test_blocks import steps

from benchmarks.page import PLOT, RECORD, draw, keep

ROOT = Path(__file__).parent.parent
DRAWN, IMAGES = [ROOT / "docs" / page for page in ("start/gallery.md", "howto/cookbook.md", "howto/pooling.md")], ROOT / "docs" / "images"
ELSEWHERE = {"mechanisms.png": "report/figures/000-figure-5-extended.png"}
"""Pictures that a command writes under another name."""
SHOWN = re.compile(r"\]\(\.\./images/([^)]+)\)")


def run_page(page: Path, folder: Path) -> None:
    """Run a page in a folder that holds the survey, and all examples."""
    shutil.copy(ROOT / "examples" / "survey.csv", folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    os.chdir(folder)
    namespace: dict[str, object] = {"__name__": "__gallery__"}
    for step in steps(page):
        if step.kind == "python":
            exec(compile(step.text, str(page), "exec"), namespace)  # noqa: S102 - our own page
        elif not step.text.startswith("discreet explore"):
            subprocess.run([sys.executable, "-m", "discreet", *shlex.split(step.text)[1:]], check=True)  # noqa: S603


def run_five_minutes() -> Iterator[Path]:
    """The pictures of docs/start/five_minutes.md, drawn again."""
    script = ROOT / "examples" / "five_minutes.py"
    drawn = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True).stdout  # noqa: S603
    yield from (ROOT / "build" / "five_minutes" / name for name in drawn.split())


def take_explore(kept: Path) -> None:
    """The page of `discreet explore` as someone meets it, if a browser is there."""
    from tests.browser_support import CHROMIUM, launched, playwright
    from tests.web.server import explore

    if CHROMIUM is None:
        print("explore.png is left as it is: Chromium is not installed", file=sys.stderr)
        return
    with TemporaryDirectory() as place, explore() as server, playwright.sync_playwright() as driver:
        browser = launched(driver)
        page = browser.new_page(viewport={"width": 1280, "height": 1150})
        page.goto(server.address)
        page.wait_for_selector("#plan-answer section")
        page.screenshot(path=(taken := Path(place) / "explore.png"))
        browser.close()
        keep(taken, kept, colours=64)


def main() -> None:
    """Draw all pictures again."""
    for page in DRAWN:
        with TemporaryDirectory() as place:
            run_page(page, Path(place))
            for name in sorted(SHOWN.findall(page.read_text())):
                if name != "explore.png":
                    keep(Path(place) / ELSEWHERE.get(name, name), IMAGES / name)
    for picture in run_five_minutes():
        keep(picture, IMAGES / picture.name)
    take_explore(IMAGES / "explore.png")
    draw(json.loads(RECORD.read_text()), PLOT)


if __name__ == "__main__":
    main()
