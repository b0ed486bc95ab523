"""Declared categories and groups, and how they, other words for them and missing values are written in a column of any type."""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal
from unicodedata import normalize

import narwhals.stable.v2 as nw
import numpy as np

from discreet.data.made_labels import MadeLabels
from discreet.errors import InvalidInputError
from discreet.record.about import SPELLING_RULES as SPELLING_RULES
from discreet.text import shown


@dataclass(frozen=True)
class Declared:
    """The labels of categories, or of one column's groups, in their order, and what else stands for one of them or for a missing answer.

    All of it but corrections is public. Counting turns every value into a code: the index of its label, `other` or `missing`.
    """

    labels: tuple[Hashable, ...]
    aliases: tuple[tuple[Hashable, int], ...] = ()
    """Other ways to write an answer, each with the code it stands for."""
    are: Literal["categories", "groups"] = "categories"
    """The kind of the labels, in the words of a message."""
    spelling: tuple[str, ...] = ()
    """Rules by which texts are compared: some of `SPELLING_RULES`."""
    rule: MadeLabels | None = None
    """The rule that makes the labels of numbers or dates, if there is one; no value is then compared with a label."""
    corrections: tuple[tuple[Hashable, int], ...] = field(default=(), repr=False)
    """Spellings that the curator has corrected, each with the code it stands for. Private: no record and no repr has them."""

    @property
    def one(self) -> str:
        """The kind of one label, in the words of a message."""
        return {"categories": "category", "groups": "group"}[self.are]

    @property
    def other(self) -> int:
        """The code of a value that was not declared."""
        return len(self.labels)

    @property
    def missing(self) -> int:
        """The code of a null."""
        return len(self.labels) + 1

    @cached_property
    def meaning(self) -> Hashable:
        """Return a key that two declarations share if they give all values the same codes: of equal labels, 1 and True are written
        otherwise.
        """
        values = [(label, code) for code, label in enumerate(self.labels)], self.aliases, self.corrections
        typed = tuple(tuple((type(value), value, code) for value, code in pairs) for pairs in values)
        return typed, self.spelling, None if self.rule is None else (type(self.rule), repr(vars(self.rule)))

    def index(self, choice: Hashable) -> int | None:
        """The index of the label that is written just like this, in the same type; None if there is none."""
        choice = _plain(choice)
        try:
            return self._positions.get((type(choice), choice))
        except TypeError:  # what has no hash is no label
            return None

    @cached_property
    def _positions(self) -> dict[tuple[type, Hashable], int]:
        return {(type(label), label): position for position, label in enumerate(self.labels)}

    def position(self, choice: Hashable, option: str) -> int | None:
        """The index of the category an option names; None for "error", which means itself even where a category is called so."""
        if isinstance(choice, str) and choice == "error":
            return None
        position = self.index(choice)
        if position is None:
            raise InvalidInputError(
                f"{option} must be 'error' or one of the declared categories, written the way it was declared; got {shown(choice)!r}"
            )
        return position

    def written(self, dtype: nw.dtypes.DType, column: str) -> dict[Any, int]:
        """Return for each value of a column of this type that is written like a declared one, its code."""
        codes: dict[Any, int] = {}
        labels = () if self.rule is not None else zip(self.labels, range(len(self.labels)), strict=True)
        for label, code in (*labels, *self.aliases, *self.corrections):
            for value in _values(label, dtype, self.spelling):
                if codes.setdefault(value, code) != code:
                    raise InvalidInputError(
                        f"column {column!r} holds truth values, and two of the {self.are} stand for one: declare True and False"
                    )
        if self.rule is None and not set(codes.values()) - {self.missing}:
            advice = "declare True and False" if kind_of(dtype) == "truth values" else f"check column and {self.are}"
            raise InvalidInputError(f"column {column!r} holds {kind_of(dtype)}, and no declared {self.one} is written like one: {advice}")
        if kind_of(dtype) == "text":
            codes.setdefault("", self.missing)  # as an empty cell of a CSV file is
        return codes

    def corrected(self, corrections: Mapping[str, Hashable]) -> "Declared":
        """Return these categories with a curator's corrections whose label is declared here; a declared spelling is left as it is."""
        pairs = [(spelling, self.index(label)) for spelling, label in corrections.items()]
        found = tuple((spelling, code) for spelling, code in pairs if code is not None and not self._alike(spelling) & self._known)
        codes: dict[str, int] = {}
        if any(codes.setdefault(alike, code) != code for spelling, code in found for alike in self._alike(spelling)):
            raise InvalidInputError("two corrections of a column are alike by the rules of spelling and name different values: keep one")
        return replace(self, corrections=found)

    @cached_property
    def _known(self) -> set[str]:
        """Return all spellings of the labels and of their aliases."""
        return {alike for label in (*self.labels, *(alias for alias, _ in self.aliases)) for alike in self._alike(label)}

    def contradicts(self, spelling: str, label: Hashable) -> bool:
        """Return whether a spelling is declared itself and is not read as this label, so that no correction can make it so."""
        alike = self._alike(spelling)
        return bool(alike & self._known) and not alike & self._alike(label)

    def _alike(self, label: Hashable) -> set[str]:
        return {alike for text in _spellings(label) for alike in _alike(text, self.spelling)}

    @property
    def has_whole_numbers(self) -> bool:
        return any(_whole_number(label) is not None for label in self.labels)


def check_spelling(rules: Any) -> tuple[str, ...]:
    """The rules by which texts are compared, each once, in the order of `SPELLING_RULES`."""
    given = None if isinstance(rules, (str, bytes)) or not isinstance(rules, Iterable) else set(rules)
    if given is None or not given <= set(SPELLING_RULES):
        raise InvalidInputError(f"spelling must be a sequence of some of {', '.join(map(repr, SPELLING_RULES))}, got {shown(rules)!r}")
    return tuple(rule for rule in SPELLING_RULES if rule in given)


def declare(
    categories: Iterable[Hashable],
    mapping: Mapping[Any, Hashable] | None,
    na_values: Iterable[Hashable],
    spelling: tuple[str, ...] = (),
) -> Declared:
    """The categories with the aliases that `mapping` and `na_values` make; nothing may be declared as two things."""
    if isinstance(categories, (str, bytes)) or not isinstance(categories, Iterable):
        raise InvalidInputError("categories must be a sequence of labels, such as ['low', 'mid', 'high']")
    plain = Declared(_checked(categories, "a category"))
    if len(plain.labels) < 2:
        raise InvalidInputError(f"categories must name at least two categories, got {len(plain.labels)}")
    _check_distinct(
        plain.labels, "categories must be distinct; 1 and '1' are the same category, and so are True and 'true' or 'True'", spelling
    )
    if isinstance(na_values, (str, bytes)) or not isinstance(na_values, Iterable):
        raise InvalidInputError("na_values must be a sequence of what stands for a missing answer, such as ['NA', '.']")
    aliases = [*_mapped(plain, mapping), *((value, plain.missing) for value in _checked(na_values, "one of na_values"))]
    _check_distinct(
        (*plain.labels, *(alias for alias, _ in aliases)),
        "a value is declared as two things: it may be a category, a key of mapping or one of na_values, and only once",
        spelling,
        in_shell="a value is declared as two things: it may be one of --categories, a VALUE of --map or one of --na-values, and only once",
    )
    return Declared(plain.labels, tuple(aliases), spelling=spelling, rule=_rule(categories))


def _rule(labels: Iterable[Hashable]) -> MadeLabels | None:
    return labels if isinstance(labels, MadeLabels) else None


def declare_groups(column: str, labels: tuple[Hashable, ...], spelling: tuple[str, ...] = ()) -> Declared:
    """The groups of one column, which are compared like categories."""
    checked = _checked(labels, f"a group of {shown(column)!r}")
    _check_distinct(
        checked,
        f"the groups of {shown(column)!r} must be distinct; 1 and '1' are the same group, and so are True and 'true' or 'True'",
        spelling,
    )
    return Declared(checked, are="groups", spelling=spelling, rule=_rule(labels))


def _mapped(declared: Declared, mapping: Mapping[Any, Hashable] | None) -> list[tuple[Hashable, int]]:
    """Each key of the mapping with the index of the category it stands for."""
    if mapping is None:
        return []
    if not isinstance(mapping, Mapping):
        raise InvalidInputError("mapping must be a mapping from values to categories, such as {'Never': 'never'}")
    pairs = []
    for value, category in zip(_checked(mapping, "a key of mapping"), mapping.values(), strict=True):
        position = declared.index(category)
        if position is None:
            raise InvalidInputError(f"mapping sends {shown(value)!r} to what is not a declared category, written the way it was declared")
        pairs.append((value, position))
    return pairs


def _plain(label: Hashable) -> Hashable:
    return label.item() if isinstance(label, np.generic) else label


def _checked(labels: Iterable[Hashable], what: str) -> tuple[Hashable, ...]:
    found = tuple(_plain(label) for label in labels)
    for label in found:
        if not isinstance(label, (str, int)):
            raise InvalidInputError(f"{what} must be text, a whole number or a truth value, not {type(label).__name__}")
        if isinstance(label, int) and label.bit_length() > _CATEGORY_BITS:
            raise InvalidInputError(f"{what} that is a whole number must have fewer than 1,000 digits")
    return found


def _check_distinct(labels: Iterable[Hashable], message: str, rules: tuple[str, ...], in_shell: str | None = None) -> None:
    """Refuse labels that have a spelling in common, also one that the rules make the same."""
    made = " and ".join(f"--{rule.replace(' ', '-')}" for rule in rules) + (" make" if len(rules) > 1 else " makes")
    seen: set[str] = set()
    for label in labels:
        own = {alike for text in _spellings(label) for alike in _alike(text, rules)}
        if own & seen:
            raise InvalidInputError(
                f"{message}; the rules of spelling make some the same" if rules else message,
                in_shell=f"{in_shell or message}; {made} some the same" if rules else in_shell,
            )
        seen |= own


_CATEGORY_BITS = 3300
"""The bits of a category's number: Python does not write out integers of more than 4,300 digits."""


# --- how a label is written in a column -------------------------------------------------------------------------------


_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
"""The ways in which programs write truth values as text."""


def _spellings(label: Hashable) -> list[str]:
    """Return the ways to write a label: a value matches it if it is written like one of them, whatever the column's type."""
    return [text for text, truth in _TRUTH.items() if truth is label] if isinstance(label, bool) else [str(label)]


def kind_of(dtype: nw.dtypes.DType) -> str | None:
    """Return the kind of values of this type, in the words of a message; None where equality with a label would be a guess."""
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return "text"
    if isinstance(dtype, nw.Boolean):
        return "truth values"
    return "whole numbers" if dtype.is_integer() else "floating-point numbers" if dtype.is_float() else None


NUMBER = r"^ *([-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?)? *$"
"""Texts that are numbers, or empty, for every engine."""
BLANKS = " \t\n\r\v\f"
"""The characters that "trim" takes away at both ends."""


def _alike(text: str, rules: tuple[str, ...]) -> set[str]:
    """Return the forms that a text may have after an engine applied the rules: not all write the last sigma of a word, or ß, as Python
    does.
    """
    text = text.strip(BLANKS) if "trim" in rules else text
    text = without_accents(text) if "ignore accents" in rules else text
    if "ignore case" not in rules:
        return {text}
    return {lower for form in (text, text.upper()) for lower in (form.lower(), "".join(letter.lower() for letter in form))}


COMBINING = "[\u0300-\u036f]"
"""Accents that are characters of their own, as a pattern for every engine."""


@cache
def accented() -> dict[str, str]:
    """Return, for each letter from A to z, all letters that are it with one or more accents."""
    found: dict[str, str] = {}
    for character in map(chr, range(0xC0, 0x1F00)):  # the blocks of Latin letters
        base, *marks = list(normalize("NFD", character))
        if marks and base.isascii() and base.isalpha() and all("\u0300" <= mark <= "\u036f" for mark in marks):
            found[base] = found.get(base, "") + character
    return found


def without_accents(text: str) -> str:
    """A text as the rule "ignore accents" compares it."""
    table = {ord(letter): base for base, letters in accented().items() for letter in letters}
    return re.sub(COMBINING, "", text.translate(table))


def _values(label: Hashable, dtype: nw.dtypes.DType, rules: tuple[str, ...]) -> list[Any]:
    """The values of this type that are written like the label; of texts, after the rules were applied to them."""
    spellings = _spellings(label)
    kind = kind_of(dtype)
    if kind == "text":
        return sorted({alike for text in spellings for alike in _alike(text, rules)})
    if kind == "truth values":
        return [_TRUTH[spellings[0]]] if spellings[0] in _TRUTH else []
    if kind is None:
        return []
    number = _whole_number(label)
    low, high = whole_numbers(dtype)
    if number is None or not low <= number <= high:
        return []
    return [float(number) if dtype.is_float() else number]


def _whole_number(label: Hashable) -> int | None:
    """The number that a label is: '7' and '-7' are whole numbers; '07', '+7' and '7.0' are not written as any."""
    text = _spellings(label)[0]
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER) or str(int(text)) != text:
        return None
    return int(text)


def whole_numbers(dtype: nw.dtypes.DType) -> tuple[int, int]:
    """The least and the greatest number up to which a column of this type holds every whole number exactly."""
    bits = int("".join(character for character in type(dtype).__name__ if character.isdigit()))
    if dtype.is_float():
        digits = {16: 11, 32: 24}.get(bits, 53)
        return -(2**digits), 2**digits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed_integer() else (0, 2**bits - 1)


_LONGEST_INTEGER = 19
"""Digits of 2**63 - 1, the largest number that every engine can be asked about."""
