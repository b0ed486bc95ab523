"""Words of a record about itself: its title, its source, and how records were counted."""

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from discreet.present.terminal import Lines
from discreet.text import more

if TYPE_CHECKING:
    from discreet.record.about import CountingRule
    from discreet.record.release import Release

_LISTED_LABELS = 6
"""Labels that a line lists before it is cut."""
_LONGEST_VALUE = 60
"""Longer values are shortened."""


def about_lines(found: "Release", hint: str = "") -> Lines:
    """Return a record's words about itself, each after its name; `hint` is put after the words about rows that are records."""
    from discreet.record.about import PUBLIC_WORDS

    if found.about is None:
        return []
    lines = [(word, str(text)) for name, word in PUBLIC_WORDS.items() if (text := getattr(found.about, name)) is not None]
    counted = counted_words(found, hint)
    return [*lines, *([] if counted is None else [("Counted", counted)])]


def about_fields(found: "Release") -> dict[str, Any] | None:
    """Return the words of a record as `show --json` has them."""
    from discreet.record.json import written_about

    return None if found.about is None else written_about(found.about)


def counted_words(found: "Release", hint: str = "") -> str | None:
    """Return the words about how records were counted; None if the record does not say it."""
    rule = None if found.about is None else found.about.counting
    if rule is None or isinstance(rule, str):
        return rule
    return "; ".join([_unit_words(found, rule, hint), *_elsewhere(rule)])


def _unit_words(found: "Release", rule: "CountingRule", hint: str) -> str:
    """Describe the unit of those counted."""
    if rule.weight is not None:
        return f"each row as many times as {rule.weight!r} says: a record is one unit of its weight"
    if rule.one_row_per_person:
        return "every row as another person, which was declared and not checked: a person with several rows is protected less"
    if rule.privacy_id is None:
        return f"every row is a record; a person with several rows is protected less{hint}"
    where = "in the first declared group that any of their rows has, and there " if found.by.columns else ""
    once = f"each person once, {where}in the first of {_several(found.prior.categories)} that any of their rows says"
    if found.n is None:
        return f"{once}; the exact number of persons is not published"
    unread = ", of rows without one and of rows that cannot be read" if rule.strict else ""
    where = " in every group" if found.mechanism.space.relation.within else ""
    return f"{once}; n is the number of distinct {rule.privacy_id!r}{unread}{where}, and published"


def _elsewhere(rule: "CountingRule") -> list[str]:
    """Describe where answers went that have no category or group of their own: a misspelt label would vanish there."""
    from discreet.record.about import SPELLING_RULES
    from discreet.validation import shown

    taken = {"missing": rule.nulls, "undeclared": rule.other}
    words = [SPELLING_RULES[name] for name in rule.spelling]
    words += ["curator's corrections of spellings allowed"] if rule.corrections else []
    words += [f"{kind} answers as {shown(category)!r}" for kind, category in taken.items() if category is not None]
    if rule.na_values:
        words.append(f"{_several(rule.na_values, quoted=True)} as missing")
    mapped: dict[Hashable, list[Hashable]] = {}
    for value, category in rule.mapping:
        mapped.setdefault(category, []).append(value)
    words += [f"{_several(values, quoted=True)} as {shown(category)!r}" for category, values in list(mapped.items())[:_LISTED_LABELS]]
    if len(mapped) > _LISTED_LABELS:
        words.append(f"other words for {more(len(mapped) - _LISTED_LABELS, 'category', 'categories')}")
    return words + [f"undeclared and missing {shown(column)} as {shown(group)!r}" for column, group in rule.other_groups]


def _quoted(label: Hashable) -> str:
    """A value of the data in quotes, with all its blanks: they make it another value."""
    from discreet.text import plain
    from discreet.validation import shown

    text = str(label) if isinstance(label, str) else shown(label)
    return f"'{plain(text)}'" if len(text) <= _LONGEST_VALUE else repr(shown(label))


def _several(labels: Iterable[Hashable], *, quoted: bool = False) -> str:
    """Labels in a row, the first few if they are many."""
    from discreet.validation import shown

    every = list(labels)
    listed = [_quoted(label) if quoted else shown(label) for label in every[:_LISTED_LABELS]]
    return ", ".join(listed) + (", ..." if len(every) > _LISTED_LABELS else "")
