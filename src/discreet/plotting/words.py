"""The words in pictures: labels that fit, and what a picture answers, from whom it is known and under which promise."""

from collections.abc import Hashable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from discreet.text import plain
from discreet.validation import shown

if TYPE_CHECKING:
    from discreet.record.release import Release

__all__ = ["group_label", "heading", "known", "label", "lines_of", "longest_line", "named", "row_label", "title_of_contrasts"]

_LONGEST_DRAWN_LABEL = 60
"""Characters: a longer label leaves no room for what is drawn."""
_ROW_LABEL_LINE = 32
"""Characters of a label beside a row; what is longer is broken into lines."""


def label(category: Hashable) -> str:
    """A category as plain text: no mathematics between dollars, and no leading underscore, which Matplotlib hides; a long one is cut."""
    text = plain(category)
    text = (text if len(text) <= _LONGEST_DRAWN_LABEL else f"{text[:_LONGEST_DRAWN_LABEL]}...").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def row_label(category: Hashable, width: int = _ROW_LABEL_LINE) -> str:
    """The label of a row or a panel, in as many lines of so many characters as it needs."""
    text = label(category)
    return text if len(text) <= width else "\n".join(wrap(text, width, break_on_hyphens=False)) or text


def lines_of(labels: Sequence[str]) -> int:
    """The most lines that a label has."""
    return max((text.count("\n") + 1 for text in labels), default=1)


def longest_line(labels: Sequence[str]) -> int:
    """The most characters that a line of a label has."""
    return max((len(line) for text in labels for line in text.split("\n")), default=0)


def group_label(group: Hashable) -> str:
    return " · ".join(plain(part) for part in (group if isinstance(group, tuple) else (group,)))


def title_of_contrasts(category: Hashable, reference: Hashable) -> str:
    """Return the title of a forest plot of all groups against this one."""
    return f"“{label(category)}” in each group against “{label(group_label(reference))}”; the dotted line is no difference."


def named(variable: str | None) -> str | None:
    """A variable or a title as it stands in a picture."""
    return None if variable is None else label(shown(variable))


def heading(release: "Release", question: str) -> str:
    """Return a picture's heading: the question below the record's title, if it has one, and the source and promise of the answer."""
    title = named(None if release.about is None else release.about.title)
    return "\n".join([*([] if title is None else [title]), question, known(release)])


def known(release: "Release") -> str:
    """Return from how many people and under which promise something is known."""
    guarantee = release.guarantee
    people = f"Estimated from {'a private number of' if release.n is None else f'{release.n:,}'} {guarantee.unit}s"
    if guarantee.basis == "none":
        return f"{people}, without any privacy guarantee."
    return f"{people}, each protected by {guarantee.everyone}."
