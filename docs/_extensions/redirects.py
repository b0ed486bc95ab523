"""Old addresses of pages lead to the new ones: until version 0.3 all pages lay in one folder."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

_PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={0}"><link rel="canonical" href="{0}">
<h1>This page has moved</h1><p><a href="{0}">It is here now.</a></p><script>location.replace("{0}" + location.hash)</script></html>
"""


_RENAMED = {"proofs/inference": "inference_proofs", "proofs/tables": "tables_proofs", "proofs/ledger": "ledger_proofs"}
_MERGED = {
    "inference": "howto/reading",
    "explain/inference": "howto/reading",
    "howto": "start/faq",
    "howto/howto": "start/faq",
    "howto/reading_tables": "howto/reading",
}
"""Pages that became part of another one, by their old addresses."""


def redirect(app: Sphinx, error: Exception | None) -> None:
    """Write a page at the old address of every page that was moved or merged, unless there is one already."""
    if error is None and app.builder.name == "html":
        moved = {_RENAMED.get(name, name.rpartition("/")[2]): name for name in app.env.found_docs if "/" in name}
        for old, new in (moved | _MERGED).items():
            path = Path(app.outdir) / f"{old}.html"
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                path.write_text(_PAGE.format("../" * old.count("/") + f"{new}.html"), encoding="utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect the extension to the end of a build."""
    app.connect("build-finished", redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
