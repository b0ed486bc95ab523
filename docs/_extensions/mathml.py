"""Formulas as MathML, made while the pages are built.

The pages need no script and no other site to show a formula. A formula that cannot be converted is a warning, and the build treats warnings
as errors. Equations with a label have a number, counted over all pages in the order of the table of contents.
"""

import re
from collections.abc import Iterator
from html import escape

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

NUMBERS_ITSELF = re.compile(r"\\begin\{(align|alignat|equation|flalign|gather|multline)\}|\\(tag|label|ref|eqref)\b")
"""LaTeX whose numbers would not be those of the pages."""

OPENING, CLOSING = re.compile(r"[(\[“]+$"), re.compile(r"^[.,;:!?)\]”]+")
"""Marks behind which, and before which, no line may end."""

CONVERTER = LatexToMathML(fancy_error=False)

logger = logging.getLogger(__name__)


def mathml(node: nodes.Element, *, displaystyle: bool) -> str:
    """The formula of a node as MathML; if that fails, a warning and the formula as it was written."""
    latex = node.astext()
    if NUMBERS_ITSELF.search(latex):
        logger.warning("formula %r: a numbered one is written `$$ ... $$ (eq-name)`, its lines in `aligned`", latex, location=node)
        return escape(latex)
    try:
        converted = CONVERTER.convert_with_local_state(latex, displaystyle=displaystyle)
    except LatexError as error:
        logger.warning("formula %r: %s", latex, error, location=node)
        return escape(latex)
    # pages.css makes primes large enough to read; they must not push apart what they stand beside
    return re.sub("<mo>([′″‴])</mo>", r'<mpadded class="prime" height="0"><mo>\1</mo></mpadded>', converted)


def join_punctuation(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Move marks that stand directly beside a formula into its node: browsers would break the line between the two."""
    for node in doctree.findall(nodes.math):
        parent, place = node.parent, node.parent.index(node)
        for neighbour, pattern, side in ((place - 1, OPENING, "before"), (place + 1, CLOSING, "behind")):
            text = parent[neighbour] if 0 <= neighbour < len(parent) else None
            if isinstance(text, nodes.Text) and (marks := pattern.search(text)):
                node[side] = marks[0]
                parent[neighbour] = nodes.Text(pattern.sub("", text))


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    before, behind = (escape(node.get(side, "")) for side in ("before", "behind"))
    formula = before + mathml(node, displaystyle=False) + behind
    writer.body.append(f'<span class="joined">{formula}</span>' if before or behind else formula)
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A box that scrolls by itself with the formula, and beside it the equation's number, which is a link to it."""
    wrapped = node["ids"] == node.parent["ids"]  # then the theme's wrapper has the anchor
    writer.body.append('<div class="equation">' if wrapped else writer.starttag(node, "div", CLASS="equation"))
    writer.body.append(f'<div class="formula">{mathml(node, displaystyle=True)}</div>')
    if label := node.get("label"):
        number = writer.builder.env.domains.math_domain.get_equation_number_for(label)
        anchor = node["ids"][0]
        writer.body.append(f'<a class="number" href="#{anchor}" aria-label="Link to equation {number}">({number})</a>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def pages_in_reading_order(env: BuildEnvironment, page: str) -> Iterator[str]:
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from pages_in_reading_order(env, below)


def number_equations(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Sphinx counts pages by the alphabet; readers do not."""
    equations = env.domains.math_domain.equations
    place = {page: position for position, page in enumerate(pages_in_reading_order(env, env.config.root_doc))}
    ordered = sorted(equations.items(), key=lambda item: (place.get(item[1][0], len(place)), item[1][1]))
    equations.update({label: (page, number) for number, (label, (page, _)) in enumerate(ordered, start=1)})
    return []


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("env-updated", number_equations)
    app.connect("doctree-resolved", join_punctuation)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
