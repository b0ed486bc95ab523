"""Captions of the table of contents say which level of heading they are: Sphinx leaves that out, and screen readers need it."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


class Translator(HTML5Translator):
    """Sphinx's own, but for those captions."""

    def visit_title(self, node: nodes.title) -> None:
        start = len(self.body)
        super().visit_title(node)
        self.body[start:] = [part.replace('role="heading"', 'role="heading" aria-level="2"') for part in self.body[start:]]


def setup(app: Sphinx) -> ExtensionMetadata:
    app.set_translator("html", Translator)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
