"""Docstrings in Google's style, read by Napoleon, and what makes them pleasant on a page.

Napoleon takes what stands before a colon in the docstring of an attribute or property for its type. In ours it is part of a sentence.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.util.typing import ExtensionMetadata


def read(_app: Sphinx, _what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring; a page that it names becomes a link."""
    linked = [re.sub(r"`?docs/([\w/]+)\.md`?", r":doc:`/\1`", line) for line in lines]
    lines[:] = GoogleDocstring(linked, what="object", name=name, obj=obj, options=options).lines()


def shorten(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Write fractions among the defaults as numbers."""
    if signature is None:
        return None
    return re.sub(r"Fraction\((\d+), (\d+)\)", lambda found: "/".join(found.groups()).removesuffix("/1"), signature), returned


def setup(app: Sphinx) -> ExtensionMetadata:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", read)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
