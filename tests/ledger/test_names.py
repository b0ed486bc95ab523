"""Names of datasets: one budget for each that a reader can tell apart."""

from pathlib import Path

import pytest

from discreet.errors import InvalidInputError, LedgerError
from discreet.ledger.ledger import Ledger

ALIKE = ("s", "s ", "ѕ", "s\u0301", "\u015b")
"""One letter for a reader: plain, with a blank, Cyrillic, and with an accent in two code points and in one."""


def test_one_name_has_one_budget(ledger: Ledger) -> None:
    ledger.create("\ufb01eld  study\u0301 ", 1)  # a ligature, two blanks, an accent of its own, a blank at the end
    assert [budget.dataset for budget in ledger.datasets()] == ["field stud\u00fd", "survey"]
    for spelling in ("field study\u0301", " field  study\u0301", "\ufb01eld study\u0301"):
        assert ledger.spend(spelling, "0.1").dataset == "field stud\u00fd"
    assert len(ledger.history("\ufb01eld study\u0301")) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *((first, second) for first in ALIKE for second in ALIKE[2:] if first != second),
        ("survey 2024", "Survey 2024"),
        ("survey 2024", "survey 2O24"),
        ("wave I", "wave l"),
        ("wave 1", "wave I"),
        ("ΑΒ", "AB"),
        ("оса", "oca"),
        ("Müller", "Muller"),
        ("race", "ʀace"),
        ("race", "ʀᴀᴄᴇ"),
        ("file", "fɪle"),  # a small capital I, which stands for l as I does
        ("title", "tıtle"),
        ("big", "biɡ"),
        ("Roros", "Røros"),
        ("lodz", "łodz"),
        ("base", "ɓase"),
        ("A 1", "🅰 1"),
        ("a-b", "a\u2013b"),
        ("ab", "a\u3164b"),
        ("日本", "日本\ufe00"),
    ],
)
def test_a_name_that_looks_like_another_is_refused(tmp_path: Path, first: str, second: str) -> None:
    for one, other in ((first, second), (second, first)):
        ledger = Ledger(tmp_path / f"{len(list(tmp_path.iterdir()))}.db")
        ledger.create(one, 1)
        with pytest.raises(LedgerError, match=r"looks like|already in the ledger"):
            ledger.create(other, 1)
        assert len(ledger.datasets()) == 1


@pytest.mark.parametrize("name", ["survеy", "ΑB", "\u3164", "\u0301", "Ꭱun"])
def test_a_name_that_mixes_alphabets_or_cannot_be_seen_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"mixes letters of|can be seen"):
        ledger.create(name, 1)
    assert len(ledger.datasets()) == 1


def test_different_names_in_many_alphabets_are_taken(ledger: Ledger) -> None:
    names = [
        "опрос",
        "опросы",
        "έρευνα",
        "調査A",
        "カキ",
        "ガキ",
        "कि",
        "कु",
        "설문",
        "ʻike",
        "α-survey",
        "сурвей survey",
        "fall",
        "fail",
        "10",
        "11",
    ]
    for name in names:
        ledger.create(name, 1)
    assert len(ledger.datasets()) == len(names) + 1
