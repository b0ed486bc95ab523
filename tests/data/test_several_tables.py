"""Several tables counted in one pass: each is what it is alone, in every engine, and bands and accents are the same in all of them."""

import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unicodedata import normalize

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dc
from discreet.data.categories import accented, without_accents
from discreet.data.count import tallied
from discreet.data.made_labels import Bands
from discreet.data.question import CountingQuestion, question_of
from discreet.errors import InvalidInputError, SourceError

ROWS: dict[str, list[Any]] = {
    "who": ["a", "a", "b", "c", "c", "d", "e"],
    "smoking": ["never", "current", "never", "former", "never", "current", "never"],
    "region": ["n", "s", "s", "n", "n", "s", "n"],
    "hours": [0.0, 0.5, 1.0, 2.9, 3.0, 7.0, 100.0],
}
LOWS = [0, 1, 3, 7]
ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
    "polars lazy": lambda table: pl.DataFrame(pl.from_arrow(table)).lazy(),
    "DuckDB": lambda table: duckdb.connect().from_arrow(table),
    "Ibis": lambda table: pytest.importorskip("ibis").memtable(table),
}


def questions(privacy_id: str | None) -> list[CountingQuestion]:
    smoking, groups = ["never", "former", "current"], {"region": ["n", "s"]}
    return [
        question_of("smoking", smoking, privacy_id, by=groups),
        question_of("smoking", smoking, privacy_id),
        question_of("hours", Bands(LOWS), privacy_id),
        question_of("hours", Bands(LOWS), privacy_id, by=groups),
    ]


@pytest.mark.parametrize("privacy_id", [None, "who"])
@pytest.mark.parametrize("engine", ENGINES)
def test_each_table_is_what_it_is_alone(engine: str, privacy_id: str | None) -> None:
    table = ENGINES[engine](pa.table(ROWS))
    together = tallied(table, questions(privacy_id))
    for question, found in zip(questions(privacy_id), together, strict=True):
        [alone] = tallied(pa.table(ROWS), [question])
        assert np.array_equal(found.settled().counts, alone.settled().counts)
        assert (found.tally.moves, found.tally.several) == (alone.tally.moves, alone.tally.several)
    assert together[0].tally.moves is (privacy_id is not None)
    assert together[1].tally.several is (privacy_id is not None)


def test_columns_are_shared_by_tables_only_where_their_values_mean_the_same(tmp_path: Path) -> None:
    """1 and True are equal in Python, and so are lists of them; the order of labels, what takes others and the groups count too."""
    (tmp_path / "x.csv").write_text("x,g\n1,n\ntrue,n\n0,s\nTRUE,s\n1,e\n,n\n")
    more: dict[str, Any] = {"other": "rest", "nulls": "rest"}
    home: dict[str, Any] = {"other_groups": {"g": "s"}}
    asked = [
        (question_of("x", [1, 0, "rest"], **more), [2, 1, 3]),
        (question_of("x", [True, False, "rest"], **more), [2, 0, 4]),
        (question_of("x", ["0", "1", "rest"], **more), [1, 2, 3]),
        (question_of("x", ["1", "0", "rest"], **more), [2, 1, 3]),
        (question_of("x", ["1", "rest"], **more, by={"g": ["n", "s", "e"]}), [[1, 2], [0, 2], [1, 0]]),
        (question_of("x", ["1", "rest"], **more, by={"g": ["n", "s"]}, **home), [[1, 2], [1, 2]]),
        (question_of("x", ["1", "rest"], **more, by={"g": ["s", "n"]}, **home), [[1, 2], [1, 2]]),
    ]
    for several in (asked, asked[1:4], [asked[1], asked[1], asked[4]]):
        found = tallied(tmp_path / "x.csv", [question for question, _ in several])
        assert [tally.settled().counts.tolist() for tally in found] == [counts for _, counts in several]
    strange = [question_of("x", ["1", "rest"], **more, by={"g": groups}) for groups in (["n", "s"], ["n", "s", "e"])]
    assert [tally.tally.troubles for tally in tallied(tmp_path / "x.csv", strange)] == [((0, False),), ()]


def test_a_file_with_persons_is_counted_as_by_hand(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(pa.table(ROWS), tmp_path / "rows.csv")
    counts = [found.settled().counts.tolist() for found in tallied(tmp_path / "rows.csv", questions("who"))]
    # a is in n and never; b in s, never; c in n, never; d in s, current; e in n, never. Of hours: a 0, b 1, c 2.9, d 7, e 100.
    assert counts == [[[3, 0, 0], [1, 0, 1]], [4, 0, 1], [1, 2, 0, 2], [[1, 1, 0, 1], [0, 1, 0, 1]]]


@pytest.mark.parametrize("form", ["numbers", "whole", "text", "decimals"])
def test_bands_begin_at_their_limits_whatever_numbers_are_written_as(form: str) -> None:
    numbers = [0, 1, 2, 3, 6, 7, 8]
    column = {
        "numbers": pa.array(numbers, pa.float64()),
        "whole": pa.array(numbers, pa.int32()),
        "text": pa.array([f" {number}.0" if number else "0" for number in numbers]),
        "decimals": pa.array(numbers, pa.int64()).cast(pa.decimal128(21, 2)),
    }[form]
    found = dc.count(pa.table({"hours": column}), "hours", Bands(LOWS))
    assert found.categories == ("0 to under 1", "1 to under 3", "3 to under 7", "7 and more")
    assert found.counts.tolist() == [1, 2, 2, 2]


def test_bands_of_texts_in_pandas_are_counted_without_a_warning() -> None:
    found = dc.count(pd.DataFrame({"hours": ["0.5", "1e0", ".5", "8"]}), "hours", Bands(LOWS))
    assert found.counts.tolist() == [2, 1, 0, 1]


def test_a_person_is_one_record_of_every_table() -> None:
    """Whatever rows a person has, and has instead, and whatever rules and corrections make of them."""
    rng = np.random.default_rng(20261118)
    columns = [["sí", " SI", "No", "nó", "nope", "ß", None], ["0.5", "1", " 2", "-1", "x", "1e400", None], ["n", "N ", "s", "z", None]]
    shared: dict[str, Any] = {"spelling": ["trim", "ignore case", "ignore accents"], "nulls": "no", "other": "no"}
    homes = {"region": "s", "hours": "0 to under 2"}
    asked = [
        question_of("answer", ["sí", "no"], "who", **shared),
        question_of("answer", ["no", "sí"], "who", by={"region": ["n", "s"], "hours": Bands([0, 2])}, other_groups=homes, **shared),
        question_of("hours", Bands(LOWS), "who", nulls="7 and more", other="0 to under 1"),
    ]
    corrected = [question.corrected({"answer": {"nope": "sí", "ß": "sí"}, "region": {"z": "n"}}) for question in asked]

    def rows(people: Any) -> list[list[Any]]:
        return [[int(who), *(column[rng.integers(len(column))] for column in columns)] for who in people]

    def counted(lines: list[list[Any]]) -> list[Any]:
        everyone = [*lines, [98, "sí", "1", "n"], [99, "no", "1", "s"]]  # so that every table has a declared value
        table = pl.DataFrame(everyone, schema={"who": pl.Int64, **dict.fromkeys(("answer", "hours", "region"), pl.String)}, orient="row")
        return [found.settled().counts for found in tallied(table, corrected)]

    for _ in range(15):
        lines = rows(rng.integers(0, 5, 12))
        without = [line for line in lines if line[0] != 0]
        gone, here, other = counted(without), counted(without + rows([0])), counted(without + rows([0, 0, 0]))
        for none, one, three in zip(gone, here, other, strict=True):
            assert np.abs(one - none).sum() == np.abs(three - none).sum() == 1
            assert (one - none).sum() == (three - none).sum() == 1


def test_bands_by_groups_of_numbers() -> None:
    table = pa.table({"yes": ["y", "n", "y"], "age": ["17.5", "18", "80"]})
    found = dc.count(table, "yes", ["y", "n"], by={"age": Bands([0, 18, 65])})
    assert found.counts.tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_numbers_may_have_a_category_of_their_own(engine: str) -> None:
    rows = pa.table({"hours": [0.5, None, 2.0, None, 8.0, 0.0], "age": [20.0, 20.0, None, 70.0, 20.0, 70.0]})
    bands, ages = Bands(LOWS, missing="no answer"), Bands([18, 65], missing="unknown")
    found = dc.count(ENGINES[engine](rows), "hours", bands)
    assert found.counts.tolist() == [2, 1, 0, 1, 2]
    assert found.categories == (*Bands(LOWS), "no answer")
    assert found.rule is not None
    assert found.rule.nulls == "no answer"
    by = dc.count(ENGINES[engine](rows), "hours", bands, by={"age": ages})
    assert by.counts.tolist() == [[1, 0, 0, 1, 1], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0]]
    assert by.rule is not None
    assert by.rule.other_groups == (("age", "unknown"),)


def test_a_category_of_missing_numbers_is_one_of_its_own() -> None:
    rows = pa.table({"hours": [0.5, None]})
    with pytest.raises(SourceError, match=r"missing=\.\.\. makes a category of its own"):
        dc.count(rows, "hours", Bands(LOWS))
    for missing in ("3 to under 7", "", " ", "error", 3):
        with pytest.raises(InvalidInputError, match=r"^missing must"):
            Bands(LOWS, missing=missing)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="nulls and missing do not go together"):
        dc.count(rows, "hours", Bands(LOWS, missing="none"), nulls="none")
    again = pickle.loads(pickle.dumps(Bands(["0", "1/3", 2], missing="none")))  # noqa: S301
    assert (again, again.lows, again.missing) == (Bands(["0", "1/3", 2], "none"), (0, Fraction(1, 3), 2), "none")


@pytest.mark.parametrize("value", ["-1", "three", "1,5", "nan", "1e400"])
def test_what_is_in_no_band_is_refused_or_taken_by_other(value: str) -> None:
    table = pa.table({"hours": ["1", value]})
    with pytest.raises(SourceError, match="numbers below the first band"):
        dc.count(table, "hours", Bands(LOWS))
    assert dc.count(table, "hours", Bands(LOWS), other="7 and more").counts.tolist() == [0, 1, 0, 1]


def test_missing_numbers_are_missing_answers() -> None:
    table = pa.table({"hours": ["1", "", None, "NA"]})
    with pytest.raises(SourceError, match="nulls"):
        dc.count(table, "hours", Bands(LOWS), na_values=["NA"])
    assert dc.count(table, "hours", Bands(LOWS), na_values=["NA"], nulls="7 and more").counts.tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize("lows", [[1, 1], [3, 1], [0], "01", [0, "x"], [0, 1, 1.0], [1, True], None, [1, 1 + 10**-30]])
def test_bands_that_do_not_rise_are_refused(lows: Any) -> None:
    with pytest.raises(InvalidInputError, match="bands"):
        Bands(lows)


@pytest.mark.parametrize("engine", ENGINES)
def test_accents_are_ignored_in_every_engine(engine: str) -> None:
    letters = ["Sí", "si", normalize("NFD", "sí"), "S\u1ec7", "no", "NÖ"]
    table = ENGINES[engine](pa.table({"answer": letters}))
    found = dc.count(table, "answer", ["sí", "no", "se"], spelling=["ignore case", "ignore accents"])
    assert found.counts.tolist() == [3, 2, 1]
    assert found.rule is not None
    assert found.rule.spelling == ("ignore case", "ignore accents")


def test_engines_and_python_ignore_the_accents_of_the_same_letters() -> None:
    letters = [letter for many in accented().values() for letter in many] + ["ø", "ł", "ß", "α", "ά"]
    labels = sorted({without_accents(letter) for letter in letters})
    for make in (ENGINES["DuckDB"], ENGINES["polars"], ENGINES["pandas"]):
        found = dc.count(make(pa.table({"answer": letters})), "answer", labels, spelling=["ignore accents"])
        assert found.counts.sum() == len(letters)
        assert found.counts[labels.index("e")] == len(accented()["e"])


def test_labels_that_differ_by_accents_alone_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="rules of spelling"):
        dc.count(pd.DataFrame({"answer": ["si"]}), "answer", ["si", "sí"], spelling=["ignore accents"])


def test_corrections_stand_for_declared_values_and_are_in_no_rule() -> None:
    table = pa.table({"smoking": ["nvr", "never", "current"], "region": ["n", "South", "s"]})
    question = question_of("smoking", ["never", "current"], by={"region": ["n", "s"]})
    corrected = question.corrected({"smoking": {"nvr": "never", "never": "current"}, "region": {"South": "s"}})
    [found] = tallied(table, [corrected])
    assert found.settled().counts.tolist() == [[1, 0], [1, 1]]  # a declared spelling is not corrected
    assert found.settled().rule == dc.CountingRule("smoking", corrections=True)
    with pytest.raises(SourceError, match="values outside"):
        tallied(table, [question])[0].settled()
