"""Where the repository, its pages and its examples lie, for tests in any folder."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGES = sorted(DOCS.rglob("*.md"))
