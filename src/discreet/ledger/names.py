"""Names of datasets: one spelling for each, and no two that a reader could take for one another.

A name is kept in Unicode's normal form KC, with single spaces and none around it. Two names look alike if they agree without case and
accents, or after letters of other alphabets, and variants of Latin letters, have become the plain Latin ones of the same shape. This is a
short form of Unicode's report 39, for the alphabets that people mix up: words that mix any other alphabets are refused as they are.
"""

import re
from collections.abc import Iterable
from unicodedata import name, normalize

from discreet.errors import InvalidInputError, LedgerError
from discreet.text import shown

_SHAPES = str.maketrans(
    {
        **dict(zip("АВЕЅІЈКМНОРСТУХҮӀ", "ABESlJKMHOPCTYXYl", strict=True)),  # Cyrillic capitals
        **dict(zip("авеѕіјкмһнорстухүԁԛԝѵӏ", "abesijkmhhopctyxydqwvl", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHlKMNOPTYX", strict=True)),  # Greek capitals
        **dict(zip("αβγεηικνορτυχ", "abyenikvoptux", strict=True)),
        **dict(zip("I1|0ɑ", "lllOa", strict=True)),
        **dict.fromkeys("‘’´`", "'"),
    }
)
"""Letters that are drawn like a Latin one, or like another sign, in most typefaces."""
_VARIANT = re.compile(
    r"(?:.* )?(?:LATIN (?P<small>SMALL LETTER)|LATIN CAPITAL LETTER|LATIN LETTER SMALL CAPITAL|INDICATOR SYMBOL LETTER)"
    r"(?! TURNED| REVERSED| INVERTED| SIDEWAYS)(?: [A-Z]{2,})* (?P<letter>[A-Z])(?: WITH .*)?"
)
"""Unicode's names of letters that are variants of a Latin one: small capitals, with strokes and hooks, in circles and squares."""
_DROPPED = re.compile("[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0\u2800]")
"""Accents, selectors of a variant, and what is drawn as nothing: the Hangul fillers and the empty Braille cell.

Vowel signs and voicing marks of other scripts stay: there they make another word.
"""
_DASH = re.compile("[\u2010-\u2015\u2212]")
_WRITTEN_TOGETHER = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "HANGUL"})
"""Scripts that ordinary words of Chinese, Japanese and Korean mix."""
_LETTERS = re.compile(r"[^\W\d_]+")


def cleaned(text: str) -> str:
    """The name as it is kept: normal form KC, single spaces, none around it."""
    return " ".join(normalize("NFKC", text).split())


def check_new_name(new: str, others: Iterable[str]) -> None:
    """Refuse a name that cannot be seen, that mixes alphabets in a word, or that looks like one of the others."""
    if not all(_looks(new)):
        raise InvalidInputError("dataset must be a name that can be seen; this one has nothing but blanks and marks")
    for word in _LETTERS.findall(new):
        scripts = {name(letter, "UNKNOWN").split()[0] for letter in word} - {"MODIFIER"}
        if len(scripts) > 1 and not scripts <= _WRITTEN_TOGETHER:
            listed = " and ".join(sorted(script.capitalize() for script in scripts))
            raise InvalidInputError(f"dataset {shown(new)!r} mixes letters of {listed} in a word; write each word in one alphabet")
    for other in others:
        if look_alike(new, other):
            raise LedgerError(
                f"dataset {shown(new)!r} looks like {shown(other)!r}, which is already in the ledger: use that one, or choose another name"
            )


def look_alike(one: str, other: str) -> bool:
    """Return whether a reader could take one name for the other."""
    return any(mine == theirs for mine, theirs in zip(_looks(one), _looks(other), strict=True))


def _looks(text: str) -> tuple[str, str]:
    """Return two forms of a name to compare: its letters without case and accents, and their shapes."""
    bare = _DASH.sub("-", _DROPPED.sub("", normalize("NFKD", cleaned(text))))
    bare = "".join(map(_plain, normalize("NFC", " ".join(bare.split()))))
    return bare.casefold(), bare.translate(_SHAPES).casefold()


def _plain(letter: str) -> str:
    """The Latin letter that this one is a variant of; itself if it is none."""
    found = None if letter.isascii() else _VARIANT.fullmatch(name(letter, ""))
    if found is None:
        return letter
    return found["letter"].lower() if found["small"] else found["letter"]
