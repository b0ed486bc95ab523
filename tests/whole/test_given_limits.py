"""How long what is given may be: names, numbers, words and lists are taken at their limit, and refused one beyond it."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet import limits
from discreet.ledger.rows import DamagedRowError, amount_of
from discreet.model.cells import Groups
from discreet.model.datasets import Relation
from discreet.record.json import read_parameters
from discreet.requests.release_steps import note_of, source_of
from discreet.validation import exact
from tests.support import lowered

DIGITS = 30
"""More than a machine word has."""


def taken_up_to(most: int, give: Callable[[int], object], said: str) -> None:
    """What is given with this size is taken, and with one more it is refused in these words, in one line."""
    give(most)
    with pytest.raises(dc.InvalidInputError, match=said) as refused:
        give(most + 1)
    assert "\n" not in str(refused.value)


# --- numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [Fraction, lambda size: Fraction(1, size), lambda size: -size])
def test_ratios_end_at_a_power_of_ten(made: Callable[[int], Any]) -> None:
    with lowered(NUMBER_DIGITS=DIGITS):
        taken_up_to(10**DIGITS, lambda size: exact(made(size), "a number"), "a ratio of whole numbers of at most 30 digits")


def test_texts_of_numbers_are_as_long_as_their_digits() -> None:
    with lowered(NUMBER_DIGITS=DIGITS):
        taken_up_to(DIGITS, lambda length: exact("7".zfill(length), "a number"), "must be a finite number")
        taken_up_to(DIGITS, lambda length: exact("1/7".zfill(length), "a number"), "must be a finite number")


@pytest.mark.parametrize("sign", [1, -1])
def test_exponents_of_decimals_are_refused_before_they_are_written_out(sign: int) -> None:
    with lowered(NUMBER_DIGITS=DIGITS):
        assert exact(Decimal(f"1e{sign * DIGITS}"), "a number") == Fraction(10) ** (sign * DIGITS)
        taken_up_to(DIGITS, lambda exponent: exact(Decimal(f"1e{sign * exponent}"), "a number"), "must be a finite number")


@pytest.mark.parametrize("sign", [1, -1])
def test_labels_that_are_numbers_have_at_most_a_thousand_digits(sign: int) -> None:
    def written(size: int) -> None:
        release = dc.LatticeGeometric(dc.Dirichlet([1, 1], categories=[sign * size, 0]), 5, 1).release([3, 2])
        assert dc.Release.from_json(release.to_json()) == release

    taken_up_to(10**limits.NUMBER_DIGITS - 1, written, "a label that is a number must have at most 1,000 digits")


def test_amounts_of_a_ledger(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    said = f"numbers of at most {limits.AMOUNT_DIGITS} digits"
    taken_up_to(10**limits.AMOUNT_DIGITS, lambda size: ledger.create(f"large {size % 2}", size), said)
    taken_up_to(10**limits.AMOUNT_DIGITS, lambda size: ledger.create(f"small {size % 2}", Fraction(1, size)), said)
    taken_up_to(10**limits.AMOUNT_DIGITS, lambda size: ledger.create(f"delta {size % 2}", 1, Fraction(1, size)), said)


def test_amounts_that_a_ledger_holds_have_few_digits_more() -> None:
    """Sums of amounts are longer than each: 25 digits more are a ledger's own, and what is longer was written by someone else."""
    most = 10 ** (limits.AMOUNT_DIGITS + 25)
    for sound in (Fraction(most), Fraction(1, most), Fraction(0)):
        assert amount_of(str(sound)) == sound
    for edited in (Fraction(most + 1), Fraction(1, most + 1), Fraction(-1, 3)):
        with pytest.raises(DamagedRowError):
            amount_of(str(edited))


def test_fractions_spent_have_a_short_common_denominator(tmp_path: Path) -> None:
    """1/9 + 1/11 = 20/99 and 1/3 + 1/37 = 40/111, where a hundred is the limit; that of a decimal does not count."""
    ledger = dc.Ledger(tmp_path / "ledger.db")
    with lowered(AMOUNT_DIGITS=2):
        for first, second, taken in ((9, 11, True), (3, 37, False), (40, 50, True)):
            name = f"{first} and {second}"
            ledger.create(name, 1)
            ledger.spend(name, Fraction(1, first))
            if taken:
                ledger.spend(name, Fraction(1, second))
            else:
                with pytest.raises(dc.InvalidInputError, match=r"common denominator .* 2 digits"):
                    ledger.spend(name, Fraction(1, second))
            assert len(ledger.history(name)) == 1 + taken


# --- texts --------------------------------------------------------------------------------------------------------------


def _named(dataset: str, ledger: dc.Ledger) -> None:
    ledger.create(dataset, 1)
    assert [budget.dataset for budget in ledger.datasets()] == [dataset]


def test_names_and_notes_of_a_ledger(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    taken_up_to(200, lambda length: _named("x" * length, ledger), "dataset must be printable text of at most 200 characters")
    name = "x" * 200
    taken_up_to(1000, lambda length: ledger.spend(name, "0.1", note="x" * length), "note must be printable text of at most 1000 characters")
    taken_up_to(1000, lambda length: ledger.spend(name, "0.1", source="x" * length), "source must be printable text of at most 1000")
    taken_up_to(200, lambda length: ledger.spend(name, "0.1", request="x" * length), "request must be printable text of at most 200")
    assert len(ledger.history(name)) == 3


def test_what_a_ledger_notes_by_itself_is_cut_to_what_it_takes() -> None:
    """Of a note the beginning is kept, and of a path the end, which names the file."""
    column = "x" * limits.NOTE_CHARACTERS
    assert note_of(column, (), "survey.csv") == column
    assert note_of(column[:-14], (), "survey.csv") == column[:-14] + " of survey.csv"
    folder = "/".join(["y" * 99] * 10)
    for name in ("z" * 100, "z"):
        assert source_of(f"/{folder}/{name}") == f"/{folder}/{name}"[-limits.NOTE_CHARACTERS :]


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda text: dc.Dirichlet([1, 1], categories=[text, "y"]), "a category's label must have at most 4,000 characters"),
        (lambda text: Groups((text,), (("x", "y"),)), "texts of 1 to 4,000 characters"),
        (lambda text: Groups(("x",), ((text, "y"),)), "a group's label must have at most 4,000 characters"),
        (lambda text: Relation("replace one", (text,)), "texts of 1 to 4,000 characters"),
        (lambda text: dc.CountingRule(column=text).check((), Groups()), "texts of 1 to 4,000 characters"),
        (lambda text: dc.CountingRule(column="x", weight=text).check((), Groups()), "texts of 1 to 4,000 characters"),
    ],
)
def test_labels_and_names_of_columns(give: Callable[[str], object], said: str) -> None:
    taken_up_to(limits.LABEL_CHARACTERS, lambda length: give("x" * length), said)


def test_the_label_of_all_other_categories_is_no_longer_than_a_label() -> None:
    for length, said in ((3996, f"not {'x' * 3996}"), (3997, "all others")):
        label = "x" * length
        assert dc.Dirichlet([1, 1, 1], categories=[label, "y", "z"]).marginal(label).categories == (label, said)


@pytest.mark.parametrize("name", ["title", "variable", "source", "note"])
def test_words_about_a_release(name: str) -> None:
    taken_up_to(limits.ABOUT_CHARACTERS, lambda length: dc.About(**{name: "x" * length}), "of 1 to 1,000 characters")


# --- lists --------------------------------------------------------------------------------------------------------------


def test_rules_of_counting() -> None:
    """A value that is mapped comes with what it stands for, whose characters count as well."""

    def mapped(values: int, to: str = "a") -> None:
        dc.CountingRule(column="x", mapping=tuple((f"{i:05}", to) for i in range(values))).check((to,), Groups())

    with lowered(RULE_VALUES=7):
        taken_up_to(7, mapped, "at most 7 values")
    with lowered(RULE_CHARACTERS=3 * (5 + 10)):
        taken_up_to(10, lambda length: mapped(3, "a" * length), "of 45 characters in all")


def test_wrappers_of_a_mechanism() -> None:
    def made(times: int) -> dc.Mechanism:
        return dc.mechanism("Remapped(" * times + "lattice" + ")" * times, dc.Beta(1, 1), 5, 1)

    def nested(times: int) -> dict[str, Any]:
        options: dict[str, Any] = {"epsilon": "1"}
        for _ in range(times):
            options = {"options": options}
        return read_parameters(options)

    taken_up_to(limits.WRAPPERS, made, "a mechanism can be wrapped 4 times, not more often")
    taken_up_to(limits.WRAPPERS, nested, "at most 4 options deep")
