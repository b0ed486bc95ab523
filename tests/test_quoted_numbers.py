"""What pages say was measured is what was measured: the benchmark page is made from its record, and quoted numbers agree with it."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from benchmarks.page import PAGE, PLOT, RECORD, page

ROOT = Path(__file__).parent.parent
QUOTE = re.compile(r"([0-9][0-9.,]*)\s*×?\s*<!-- bench: (\w+) -->")
"""A number followed by a comment that says which entry of `quoted` it comes from: `300×<!-- bench: opendp_ratio -->`."""


def agrees(shown: str, value: float) -> bool:
    """Whether a measured value, rounded to the digits shown, is the number shown. Zeros at the end of a whole number are no digits."""
    number = Decimal(shown.replace(",", "").rstrip("."))
    digits = len(str(number).partition(".")[2])
    step = Decimal(1).scaleb(-digits)
    if digits == 0:
        step = Decimal(10) ** (len(str(number)) - len(str(number).rstrip("0")))
    return abs(Decimal(repr(value)) - number) <= step / 2


def quotes(text: str) -> list[tuple[str, str]]:
    return QUOTE.findall(text)


@pytest.mark.parametrize(
    ("shown", "value", "right"),
    [
        ("63", 63.4, True),
        ("63", 64.4, False),
        ("63.4", 63.44, True),
        ("63.4", 63.5, False),
        ("300", 312.0, True),
        ("300", 351.0, False),
        ("1,200", 1163.0, True),
        ("10", 16.0, False),
    ],
)
def test_numbers_are_compared_to_the_digits_shown(shown: str, value: float, right: bool) -> None:
    assert agrees(shown, value) is right


def test_every_quoted_number_is_the_measured_one() -> None:
    measured = json.loads(RECORD.read_text())["quoted"]
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text()
        found = quotes(text)
        assert len(found) == text.count("<!-- bench:"), f"{path.name}: a bench comment without a number before it"
        for shown, key in found:
            assert agrees(shown, measured[key]), f"{path.name} says {shown}, measured: {key} = {measured[key]:.4g}"


def test_the_page_is_made_from_the_record() -> None:
    assert PAGE.read_text() == page(json.loads(RECORD.read_text())), "run `python -m benchmarks --write`"
    assert PLOT.stat().st_size > 10_000


def test_the_bar_is_met() -> None:
    """At n = 10^6 and k = 2, against lists whose scores are given."""
    measured = json.loads(RECORD.read_text())["quoted"]
    assert measured["opendp_ratio"] >= 30
    assert measured["noisy_max_ratio"] >= 30
    assert measured["diffprivlib_ratio"] >= 200
