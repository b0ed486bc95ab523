"""Builds pages the way `make docs` does: warnings are errors."""

import subprocess
import sys
from pathlib import Path

from tests.places import DOCS


def build(source: Path, out: Path) -> str:
    """Build the pages of a folder with the configuration of `docs/`, and return what the build complains about."""
    options = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(DOCS), "-d", str(out / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(out / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)  # noqa: S603 - our own pages
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr


def build_pages(folder: Path, **pages: str) -> str:
    """Build these pages, given by name and text, into `folder/html`."""
    (folder / "source").mkdir()
    for name, text in pages.items():
        (folder / "source" / f"{name}.md").write_text(text)
    return build(folder / "source", folder)
