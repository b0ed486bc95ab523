"""Foreign text as it may be printed: labels, names of datasets and notes come from whoever wrote a record, a file or a ledger.

A terminal obeys escape sequences and a page obeys the characters that turn the direction of writing, so that a label could repaint the
promise that stands beside it. Whatever prints a string that discreet did not write itself passes it through `plain`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor, inf, isfinite, log10
from typing import Any
from unicodedata import category

MASS = 0.95
"""Probability of the intervals that are shown and planned for if no other is asked for."""
_NOT_PRINTED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories: controls (C0 and C1), formats (direction, invisible marks), lone surrogates, separators of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Formats that Persian, the languages of India and many emoji are written with; they change the shape of their neighbours alone."""

_DECIMALS, _MOST_DECIMALS, POWERS_FROM = 4, 8, 1e6
"""Decimals where no interval says how many are wanted, the most that are written out, and from where on powers of ten are."""
_MOST_OF_PERCENT = 6
"""Decimals of a percentage."""
_NEARLY_SURE = 1e-6
"""Probabilities nearer to 0 or 1 are said to be that near."""
_LONGEST_SHOWN = 60
"""Characters of a value in a message."""


def counted(number: int, noun: str) -> str:
    """A number of things in words: "1 table", "2,000 tables"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def is_plain(character: str) -> bool:
    """Return whether a character only shows itself, and tells neither a terminal nor a page to do anything."""
    return character in _JOINERS or category(character) not in _NOT_PRINTED


def shown(value: Any) -> str:
    """A public value as one short line of a message: Python writes out no integer of more than 4,300 digits, and no reader wants one."""
    try:
        text = " ".join(str(value).split())
    except ValueError:
        return "a number too long to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def plain(value: Any) -> str:
    """A value as text whose every character only shows itself: any other is written as its code, such as \\x1b or \\u202e."""
    try:
        text = str(value)
    except ValueError:  # Python writes out no integer of more than 4,300 digits
        return "a number too long to show"
    return text if text.isascii() and text.isprintable() else "".join(c if is_plain(c) else _code(c) for c in text)


def may_hold_password(path: str) -> bool:
    """Return whether a path may be a misspelt URL of a database, or the words that a database's own programs take, with a
    password in it.
    """
    return re.search(r":.*@|(password|passwd|pwd)\s*=", path, re.IGNORECASE | re.DOTALL) is not None


def listed(names: Sequence[str]) -> str:
    """Names in words, each as it may be printed: "age, region and sex"."""
    shown = [plain(name) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def more(number: int, one: str, many: str) -> str:
    """Return how many more there are, with the words for one or for many: "1 more group is", "2 more groups are"."""
    return f"{number:,} more {one if number == 1 else many}"


def percent_decimals(ends: Iterable[Sequence[float]]) -> int:
    """The decimals of percentages that give the narrowest of some intervals two digits."""
    widths = [high - low for low, high in ends if high > low]
    return min(_MOST_OF_PERCENT, max(1, 1 - floor(log10(100.0 * min(widths))))) if widths else 1


def in_percent(rows: Sequence[tuple[float, float, float]], blank: str = " ", decimals: int | None = None) -> list[tuple[str, str]]:
    """Shares with the ends of their intervals in percent, all with these decimals, or with as many as the narrowest interval asks for."""
    decimals = percent_decimals((low, high) for _, low, high in rows) if decimals is None else decimals
    texts = [[f"{100.0 * share:.{decimals}f}" for share in row] for row in rows]
    return [(f"{share}{blank}%", f"{low}{blank}to{blank}{high}{blank}%") for share, low, high in texts]


def chance(value: float) -> str:
    """A probability: four decimals, or as many as leave two digits of what is missing to 0 or to 1. It is never shown as 0 or 1."""
    least = min(value, 1.0 - value)
    if least < _NEARLY_SURE:
        return f"below {_NEARLY_SURE:f}" if value < 0.5 else f"above {1.0 - _NEARLY_SURE:f}"
    return f"{value:.{max(4, 1 - floor(log10(least)))}f}"


def significant(value: float) -> str:
    """A number with three digits, whatever its size; with a power of ten where it is very large or very small."""
    if not isfinite(value) or value == 0.0:
        return f"{value:g}"
    rounded = float(f"{value:.2e}")
    power = floor(log10(abs(rounded)) + 1e-9)
    if not -_DECIMALS <= power < log10(POWERS_FROM):
        return f"{rounded:.2e}"
    return f"{rounded:.{max(0, 2 - power)}f}"


def evenly(rows: Sequence[tuple[float, float, float]], *, ratios: bool = False) -> list[tuple[str, str]]:
    """Medians with the ends of their intervals, all with as many decimals as give the narrowest interval three digits.

    Where numbers are infinite, very large or very close together, all are written with a power of ten and four digits. `ratios` have three
    digits each, since 0.01 and 0.02 differ as much as 10 and 20.
    """
    if ratios:
        return [(significant(median), f"{significant(low)} to {significant(high)}") for median, low, high in rows]
    widths = [high - low for _, low, high in rows if 0.0 < high - low < inf]
    decimals = max(0, 2 - floor(log10(min(widths)))) if widths else _DECIMALS
    fixed = decimals <= _MOST_DECIMALS and all(abs(number) < POWERS_FROM for row in rows for number in row)
    style = f"z.{decimals}f" if fixed else ".3e"
    return [(f"{median:{style}}", f"{low:{style}} to {high:{style}}") for median, low, high in rows]


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a notebook, with every cell as text and the first of each row as its heading."""
    head, *body = ([escape(plain(cell)) for cell in row] for row in (headings, *rows))
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr><th>{first}</th>" + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>" for first, *rest in body)
    return f"<table><caption>{escape(plain(caption))}</caption><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def html_fields(caption: str, fields: Mapping[str, object], *notes: str) -> str:
    """A table for a notebook with a row for each name and its value, and paragraphs below it."""
    return html_table(caption, ("", ""), fields.items()) + "".join(f"<p>{escape(plain(note))}</p>" for note in notes)


def _code(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
