"""What pages say was measured or computed is what was, and is so still: numbers against their records, records against the library.

`benchmarks/quotes.py` says how a page marks a number or a table. No number that looks measured may stand unmarked.
"""

import json
import re
from pathlib import Path

import pytest
from benchmarks.computed import SOURCES, Numbers, Source
from benchmarks.page import PAGE, PLOT, RECORD, page
from benchmarks.quotes import NUMBERS, PAGES, QUOTE, TABLE, disagreements, like, load, quoted, rewritten

from tests.docs.test_blocks import FENCE

# --- pages agree with the records -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown", "expected"),
    [
        (63.4, "63", "63"),
        (64.4, "63", "64"),
        (63.44, "63.4", "63.4"),
        (63.5, "63.4", "63.5"),
        (312.0, "300", "300"),
        (351.0, "300", "400"),
        (1163.0, "1,200", "1,200"),
        (312, "300", "312"),
        (-0.004962, "-0.00496", "-0.00496"),
        (5.796e-10, "5.8e-10", "5.8e-10"),
        (1e-9, "2e-10", "1e-9"),
        ("(1, 2)", "3", "(1, 2)"),
    ],
)
def test_numbers_are_written_with_the_digits_shown(value: float | str, shown: str, expected: str) -> None:
    assert like(value, shown) == expected


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_quoted_number_and_table_is_that_of_the_record(path: Path) -> None:
    text = path.read_text()
    assert len(QUOTE.findall(text)) == text.count("<!-- bench:"), "a bench comment without a number before it"
    assert len(TABLE.findall(text)) == len(re.findall("^ *<!-- table:", text, re.MULTILINE)), "a table without an end"
    assert text == rewritten(text, load()), "run `python -m benchmarks --write-numbers`"


def test_a_changed_number_is_noticed() -> None:
    record: Numbers = {"share": 0.445, "ratio": 209.5, "odds: factor, ε = 0.1": 1.105}
    right = "44 %<!-- bench: share --> or 200×<!-- bench: ratio -->, **0.445**<!-- bench: share -->"
    for true, false in (("44", "45"), ("200", "300"), ("0.445", "0.446")):
        assert rewritten(right.replace(true, false), record) == right
    full = load()
    table = rewritten("<!-- table: odds -->\n<!-- end -->", full)
    assert rewritten(table.replace("2.72", "2.73"), full) == table


def test_the_record_holds_what_is_quoted_and_nothing_else() -> None:
    record = json.loads(NUMBERS.read_text())
    assert set(record) == set().union(*(quoted(path.read_text(), record) for path in PAGES))


# --- the record agrees with the library -------------------------------------------------------------------------------

ELSEWHERE = ("claims",)
"""Recomputed and compared by papers/tests/test_claims.py."""
RECOMPUTED = [pytest.param(s, id=s.name, marks=[pytest.mark.slow] * s.slow) for s in SOURCES if s.name not in ELSEWHERE]


@pytest.mark.parametrize("source", RECOMPUTED)
def test_the_record_is_what_the_library_computes(source: Source) -> None:
    assert not disagreements(source.compute(), load(), source.noise), f"run `python -m benchmarks --write-numbers {source.name}`"


def test_no_proof_is_refuted_by_the_search_on_record() -> None:
    assert float(load()["worst_loss: HellingerGlobal"]) <= 1.0
    assert float(load()["worst_loss: HellingerSmooth"]) <= 1.0
    assert float(load()["worst_loss: HellingerLocal"]) > 1.0


def test_a_record_that_is_out_of_date_is_noticed() -> None:
    recorded: Numbers = {"a: 1": 0.446, "a: 2": 4, "a: 3": "x", "a: gone": 1, "b: other": 2}
    found = disagreements({"a: 1": 0.445, "a: 2": 3, "a: 3": "y", "a: unquoted": 5}, recorded, 1e-6)
    assert found == ["a: 1 is 0.445, not 0.446", "a: 2 is 3, not 4", "a: 3 is y, not x", "a: gone is no longer computed"]
    assert not disagreements({"a: 1": 0.445, "a: 2": 3}, {"a: 1": 0.445 + 1e-9, "a: 2": 3}, 1e-6)


# --- nothing measured stands unmarked ---------------------------------------------------------------------------------

_TIMES, _SIZES = "ns|µs|ms|s|seconds?|minutes?|hours?", "kB|MB|GB"
_LIBRARIES = "Python|SciPy|Polars|OpenDP|diffprivlib|Analytics|PipelineDP|Wizard"
_NUMBER = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
MEASURED = re.compile(rf"(?<![\w.])(?:{_NUMBER} ?(?:{_TIMES}|{_SIZES})\b|{_NUMBER} ?[×%]|[0-9]+\.[0-9]{{2,}}|[0-9]\.[0-9]+e-?[0-9]+)")
"""A time, a size of memory, a ratio, a percentage, or a number with two decimals or more."""
GIVEN = re.compile(
    rf"\b[A-Za-zα-ω] ?(?:=|[<>]=?|≤|≥) ?(?:{_NUMBER}(?:e-?[0-9]+)?(?:, {_NUMBER})*|\([^)]*\))|95 % interval"
    rf"|(?:{_LIBRARIES})(?: from)? [0-9.]+(?:(?:,| and) 3\.[0-9]+)*"
)
"""An input (`n = 50`, `ε = 1, 0.1, 0.01`, `a = (1.14, 11.6)`), the level of an interval, a version."""

DEFINITIONS = {
    ("exactness.md", "What may take more than 1 GB is refused"): "a limit that was chosen",
    ("planning.md", "off by less than 0.4 %, and in nine of ten"): "what tests/planning/test_widths.py asserts",
    ("planning.md", "in one outcome by less than 2.5 %"): "what tests/planning/test_widths.py asserts",
    ("reproduction.md", "of 0.161 at the edge"): "as published",
}
"""Phrases with numbers that nobody here measures, each with the reason."""


FORMULA = re.compile(r"\$\$[^$]*\$\$|(?<![\\$])\$[^$\n]+\$")
"""Displayed, or within a line; a dollar sign that is written `\\$` begins none."""


PAPER = re.compile(r"\[arXiv:[0-9.]+\]\([^)]*\)")
"""A link to a paper, whose name is a number."""


def prose(text: str) -> str:
    """A page without code, formulas, papers' names, generated tables and marked numbers."""
    for pattern in (FENCE, TABLE, QUOTE, re.compile(r"(?<=\n\n)(?: {4}.*\n)+"), re.compile(r"`[^`]*`"), FORMULA, PAPER, GIVEN):
        text = pattern.sub("", text)
    return text


def unmarked(name: str, text: str) -> list[str]:
    """Where a page has a number that looks measured and neither a source nor a place in the list."""
    for page_name, phrase in DEFINITIONS:
        if page_name == name:
            text = text.replace(phrase, "")
    left = prose(text)
    return [left[max(0, found.start() - 40) : found.end() + 20] for found in MEASURED.finditer(left)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_number_that_looks_measured_is_unmarked(path: Path) -> None:
    assert not unmarked(path.name, path.read_text())


@pytest.mark.parametrize(("name", "phrase"), DEFINITIONS)
def test_what_is_listed_is_still_there_and_needs_to_be_listed(name: str, phrase: str) -> None:
    assert phrase in next(path for path in PAGES if path.name == name).read_text()
    assert MEASURED.search(prose(phrase))


@pytest.mark.parametrize(
    "text",
    ["takes 0.1 s", "20 seconds", "costs \\$5 and 0.25 of \\$9", "30× faster", "covers 44 %", "1.27 ε", "it was 5.8e-10", "about 450 MB"],
)
def test_unmarked_numbers_are_noticed(text: str) -> None:
    assert unmarked("page.md", f"It {text}.")


@pytest.mark.parametrize(
    "text",
    [
        "`0.25`",
        "$0.25$",
        "\n$$\n0.25\n$$ (eq-q)\n",
        "at ε = 0.05, n = 50",
        "44 %<!-- bench: share -->",
        "\n\n    x = 0.25\n",
        "in 2.4 or section 6.1.1",
    ],
)
def test_inputs_code_and_marked_numbers_are_left_alone(text: str) -> None:
    assert not unmarked("page.md", f"It {text}.")


# --- the page of benchmarks -------------------------------------------------------------------------------------------


def test_the_page_is_made_from_the_record() -> None:
    assert PAGE.read_text() == page(json.loads(RECORD.read_text())), "run `python -m benchmarks --write`"
    assert PLOT.stat().st_size > 10_000


def test_the_bar_is_met() -> None:
    """At n = 10^6 and k = 2, against lists whose scores are given."""
    measured = json.loads(RECORD.read_text())["quoted"]
    assert measured["opendp_ratio"] >= 30
    assert measured["noisy_max_ratio"] >= 30
    assert measured["diffprivlib_ratio"] >= 200


def test_bulk_noise_meets_its_bar() -> None:
    measured = json.loads(RECORD.read_text())["quoted"]
    assert measured["bulk_ratio: OpenDP discrete Laplace, ε = 1"] >= 25
    assert measured["bulk_ratio: OpenDP discrete Laplace, ε = 0.01"] >= 25


def test_time_and_bits_on_record_refute_the_controls_and_nothing_else() -> None:
    """Bits alone do not tell a Python integer from a word of an array; and of the same data twice the clock tells nothing."""
    record = json.loads(RECORD.read_text())["clock"]
    assert all(row["draws"] == 300_000 for row in record["rows"] if "in whole quanta" not in row["mechanism"])
    assert {row["epsilon"] for row in record["rows"]} == {"0.5", "1"}
    for row in record["rows"]:
        assert (row["time"] > float(row["epsilon"])) == ("control" in row["mechanism"])
        assert (row["bits"] > float(row["epsilon"])) == ("by loops" in row["mechanism"])
        assert row["equal"] < 0.1
    assert any("in Python integers" in row["mechanism"] for row in record["rows"])
    assert any("in whole quanta" in row["mechanism"] for row in record["rows"])
