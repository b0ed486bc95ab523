"""What was typed becomes exactly the value that it stands for, or is refused by the name of its option."""

from fractions import Fraction

import pytest

import discreet as dc
from discreet.requests.parsing import group_key, parse_list, parse_mass, parse_number, parse_prior, parse_share, parse_whole


def test_a_list_is_a_line_of_csv() -> None:
    assert parse_list('never , "a,b", ', "--categories") == ["never", "a,b", ""]
    with pytest.raises(dc.InvalidInputError, match="--categories must be one line"):
        parse_list('"never', "--categories")


@pytest.mark.parametrize(
    ("text", "number"), [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("4%", Fraction(1, 25)), (" 2.5 % ", Fraction(1, 40))]
)
def test_numbers_and_percentages_are_exact(text: str, number: Fraction) -> None:
    assert parse_share(text, "--error") == number


@pytest.mark.parametrize(
    ("text", "number"), [("0,5", Fraction(1, 2)), ("0,500", Fraction(1, 2)), ("1,25", Fraction(5, 4)), ("-2,5", Fraction(-5, 2))]
)
def test_a_decimal_comma_is_understood_where_it_can_be_nothing_else(text: str, number: Fraction) -> None:
    assert parse_number(text, "--epsilon") == number
    assert parse_share(f"{text}%", "--width") == number / 100


@pytest.mark.parametrize("text", ["1,500", "12,000"])
def test_a_comma_that_may_part_thousands_is_asked_about(text: str) -> None:
    meant = f"write {text.replace(',', '.')}, or {text.replace(',', '')} without a comma$"
    with pytest.raises(dc.InvalidInputError, match=rf"--epsilon must be a number .*{meant}"):
        parse_number(text, "--epsilon")


@pytest.mark.parametrize("text", ["0,5,1", ",5", "5,", "1,5/3", "1,234,567"])
def test_other_commas_are_no_decimals(text: str) -> None:
    with pytest.raises(dc.InvalidInputError, match="--epsilon must be a number"):
        parse_number(text, "--epsilon")


@pytest.mark.parametrize(("text", "number"), [("1500", 1500), ("1,500", 1500), ("10 000", 10_000), ("2,700,000", 2700000), ("1e6", 10**6)])
def test_whole_numbers_may_have_their_digits_in_threes(text: str, number: int) -> None:
    assert parse_whole(text, "--n") == number


@pytest.mark.parametrize("text", ["1,5", "0,500", "-1,500", "-5", "1.5", "1500.", "ten", ""])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"--n .* whole number"):
        parse_whole(text, "--n")


@pytest.mark.parametrize("text", ["0", "1", "100%", "-0.5", "nan", "much"])
def test_a_mass_is_between_0_and_1(text: str) -> None:
    with pytest.raises(dc.InvalidInputError, match="--mass must be a number between 0 and 1"):
        parse_mass(text)


def test_a_mass_beyond_1_may_have_been_meant_in_percent() -> None:
    assert parse_mass("90%") == parse_mass("0.9") == 0.9
    with pytest.raises(dc.InvalidInputError, match="for 90 percent write 90%"):
        parse_mass("90")


def test_priors_are_named_or_spelled_out() -> None:
    assert parse_prior("uniform:3") == dc.Dirichlet.uniform(3)
    assert parse_prior("jeffreys", ["a", "b"]) == dc.Dirichlet.jeffreys(2, ["a", "b"])
    assert parse_prior("1/2, 1e-3").exact == (Fraction(1, 2), Fraction(1, 1000))


@pytest.mark.parametrize(
    ("text", "categories", "message"),
    [
        ("uniform", None, "after the colon"),
        ("uniform:1", None, "after the colon"),
        ("uniform:3", ["a", "b"], "is for 3 categories, and there are 2"),
        ("1,1,1", ["a", "b"], "2 numbers, one for each category"),
        ("1,0", None, "a number from 1e-100 to 1e100"),
    ],
)
def test_other_priors_are_refused(text: str, categories: list[str] | None, message: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=message):
        parse_prior(text, categories)


def test_a_group_of_one_column_is_its_label() -> None:
    assert group_key("north", "--group") == "north"
    assert group_key('north,"18,19"', "--group") == ("north", "18,19")
