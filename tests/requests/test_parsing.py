"""What was typed becomes exactly the value that it stands for, or is refused by the name of its option."""

from fractions import Fraction

import pytest

import discreet as dc
from discreet.requests.parsing import group_key, parse_list, parse_mass, parse_number, parse_prior, parse_share


def test_a_list_is_a_line_of_csv() -> None:
    assert parse_list('never , "a,b", ', "--categories") == ["never", "a,b", ""]
    with pytest.raises(dc.InvalidInputError, match="--categories must be one line"):
        parse_list('"never', "--categories")


@pytest.mark.parametrize(
    ("text", "number"), [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("4%", Fraction(1, 25)), (" 2.5 % ", Fraction(1, 40))]
)
def test_numbers_and_percentages_are_exact(text: str, number: Fraction) -> None:
    assert parse_share(text, "--error") == number


def test_a_decimal_comma_is_said_with_its_point() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"--epsilon must be a number .* write 0\.5$"):
        parse_number("0,5", "--epsilon")


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
