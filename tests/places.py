"""Where the repository, its pages and its examples lie, for tests in any folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGES = sorted(DOCS.rglob("*.md"))
PEERS = Path(sys.prefix) / "peers" / "bin" / "python"
"""The Python of an environment with the libraries of tests/peers.txt, which `make test-slow` makes."""
