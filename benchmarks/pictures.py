"""The pictures that pages show: `python -m benchmarks.pictures` runs docs/gallery.md and keeps what it draws in docs/images.

The picture of the page of `discreet explore` is taken in Chromium, if Playwright is installed.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.test_docs import steps

from benchmarks.page import PLOT, RECORD, draw, keep

ROOT = Path(__file__).parent.parent
PAGE, IMAGES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "images"
ELSEWHERE = {"mechanisms.png": "report/figures/000-figure-5-extended.png"}
"""Pictures that a command writes under another name."""
SHOWN = re.compile(r"\]\(images/([^)]+)\)")


def run_gallery(folder: Path) -> None:
    """Run the page in a folder that holds the survey."""
    shutil.copy(ROOT / "examples" / "survey.csv", folder)
    os.chdir(folder)
    namespace: dict[str, object] = {"__name__": "__gallery__"}
    for step in steps(PAGE):
        if step.kind == "python":
            exec(compile(step.text, str(PAGE), "exec"), namespace)  # noqa: S102 - our own page
        elif not step.text.startswith("discreet explore"):
            subprocess.run([sys.executable, "-m", "discreet", *shlex.split(step.text)[1:]], check=True)  # noqa: S603


def take_explore(kept: Path) -> None:
    """The page of `discreet explore` as someone meets it, if a browser is there."""
    from tests.explore_server import explore
    from tests.test_report_browser import CHROMIUM, FLAGS, playwright

    if CHROMIUM is None:
        print("explore.png is left as it is: Chromium is not installed", file=sys.stderr)
        return
    with TemporaryDirectory() as place, explore() as server, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), headless=True)
        page = browser.new_page(viewport={"width": 1280, "height": 1150})
        page.goto(server.address)
        page.wait_for_selector("#plan-answer section")
        page.screenshot(path=(taken := Path(place) / "explore.png"))
        browser.close()
        keep(taken, kept, colours=64)


def main() -> None:
    """Draw all pictures again."""
    with TemporaryDirectory() as place:
        run_gallery(Path(place))
        for name in sorted(SHOWN.findall(PAGE.read_text())):
            if name != "explore.png":
                keep(Path(place) / ELSEWHERE.get(name, name), IMAGES / name)
    take_explore(IMAGES / "explore.png")
    draw(json.loads(RECORD.read_text()), PLOT)


if __name__ == "__main__":
    main()
