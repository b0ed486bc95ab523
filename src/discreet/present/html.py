"""HTML made of elements: every text in one is escaped here, and nowhere else."""

from collections.abc import Iterable
from html import escape

from discreet.text import plain


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *content: str, **attributes: str) -> Html:
    """An element with its content: texts are escaped, elements are not. `class_` stands for the attribute class."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{joined(*content)}</{name}>")


def void(name: str, /, **attributes: str) -> Html:
    """An element that has no content and no end."""
    return Html(element(name, **attributes).removesuffix(f"</{name}>"))


def joined(*content: str) -> Html:
    """Texts and elements one after the other, as HTML."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in content))


def escaped(text: str) -> Html:
    """Foreign text as HTML that shows it: no markup, no control character and nothing that turns the direction of writing."""
    return Html(escape(plain(text)))


def table(caption: str, heads: Iterable[str], rows: Iterable[Html], **attributes: str) -> Html:
    """A table of rows, with the headings of its columns."""
    top = [element("caption", caption)] if caption else []
    head = element("thead", element("tr", *(_cell("th", name, scope="col") for name in heads)))
    return element("table", *top, head, element("tbody", *rows), **attributes)


def table_row(heading: str, *others: str, **attributes: str) -> Html:
    """A row of a table: its heading, and its other cells."""
    return element("tr", element("th", heading, scope="row"), *(_cell("td", one) for one in others), **attributes)


def _cell(name: str, content: str, **attributes: str) -> Html:
    """Return a cell as it is, and put anything else into one."""
    return content if isinstance(content, Html) and content.startswith("<td") else element(name, content, **attributes)


def isolated(text: str) -> Html:
    """Foreign text that may be in any script, and does not turn the direction of the words around it."""
    return element("bdi", text)
