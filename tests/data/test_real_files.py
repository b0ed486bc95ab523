"""Files as they are met: other words for a category, marks for missing answers, encodings, weights, streams, blank lines.

Oracle: the same rows written the way the categories are declared, or counted in plain Python.
"""

import gzip
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.categories import declare
from discreet.data.count import count
from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.ledger.ledger import Ledger
from discreet.requests.parsing import parse_labels, parse_mapping
from discreet.requests.release_steps import opened
from tests.cli import support
from tests.data.test_sources import TABLES, Table
from tests.support import mostly_slow, planted

invoke = partial(support.invoke, columns=250)

LABELS = ("never", "former", "unknown")


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param]


def csv_file(path: Path, *rows: str, encoding: str = "utf-8") -> Path:
    path.write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))
    return path


# --- other words, and marks for missing answers -----------------------------------------------------------------------


def test_mapping_and_marks_for_missing_answers(table: Table) -> None:
    source = table({"x": ["Never", "never", "FORMER", "NA", ".", None, "pipe"], "who": [1, 1, 2, 3, 4, 4, 5]})
    options: dict[str, Any] = {"mapping": {"Never": "never", "FORMER": "former"}, "na_values": ["NA", "."]}
    assert count(source, "x", LABELS, nulls="unknown", other="former", **options).counts.tolist() == [2, 2, 3]
    by_person = count(source, "x", LABELS, "who", nulls="unknown", other="former", **options)
    assert by_person.counts.tolist() == [1, 2, 2]
    with pytest.raises(SourceError, match="nulls"):
        count(source, "x", LABELS, other="former", **options)


def test_many_words_for_few_categories(table: Table) -> None:
    words = {f"word {number}": LABELS[number % 3] for number in range(100)}
    assert count(table({"x": [*words, *words]}), "x", LABELS, mapping=words).counts.tolist() == [68, 66, 66]


class Compared(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    __hash__ = str.__hash__
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_many_mapped_values_are_each_looked_up_at_once() -> None:
    """The number of comparisons grows with the values, and not with the values by the categories."""
    categories, many = [Compared(f"category {number}") for number in range(500)], 400
    Compared.times = 0
    written = parse_mapping([f"spelling {number}=category {number}" for number in range(many)], categories)
    mapping = {value: Compared(category) for value, category in written.items()}
    assert declare(categories, mapping, ()).aliases == tuple((f"spelling {number}", number) for number in range(many))
    assert Compared.times < 10 * len(categories)


def test_a_mapped_value_ends_before_the_first_category() -> None:
    labels = ["a", "a=b", "c d", "="]
    texts = ["x=a", "y=a=b", "b=c= c d=c d", "===", " =a"]
    assert parse_mapping(texts, labels) == {"x": "a", "y": "a=b", "b=c= c d": "c d", "=": "=", " ": "a"}


@pytest.mark.parametrize("texts", [["Never"], ["Never=nevr"], ["=never"], ["Never=never", "Never=former"]])
def test_a_wrong_mapping_is_explained_without_the_words_of_the_shell(texts: list[str]) -> None:
    """The page of `explore` shows the same, and has no options."""
    with pytest.raises(InvalidInputError, match=r"spelling=category|mapped twice") as refused:
        parse_mapping(texts, LABELS)
    assert "--" not in str(refused.value)
    assert refused.value.in_shell.startswith("--map")


def test_a_label_is_found_by_its_type_and_value() -> None:
    declared = declare([1, "2", True], None, ())
    assert [declared.index(choice) for choice in (1, "2", True, np.int64(1), "1", 2, False, 1.0)] == [0, 1, 2, 0, None, None, None, None]
    assert declared.index([1]) is None  # type: ignore[arg-type]


def test_marks_and_mapped_values_match_columns_of_any_type(table: Table) -> None:
    assert count(table({"x": [1, 2, -9, 3]}), "x", [1, 2], nulls=2, na_values=[-9], mapping={3: 1}).counts.tolist() == [2, 2]
    assert count(table({"x": [1.0, 2.0, -9.0, 3.0]}), "x", [1, 2], nulls=2, na_values=["-9"], mapping={"3": 1}).counts.tolist() == [2, 2]
    truths = count(table({"x": [True, False, True]}), "x", ["yes", "no"], mapping={True: "yes", False: "no"})
    assert truths.counts.tolist() == [2, 1]


def test_a_csv_of_numbers_with_gaps(tmp_path: Path) -> None:
    """As pandas writes whole numbers once there is a gap: 0.0, 1.0 and an empty cell."""
    file = csv_file(tmp_path / "gaps.csv", "who,x", "1,0.0", "2,1.0", "3,")
    with pytest.raises(SourceError, match=r"1\.0 is not 1"):
        count(file, "x", [0, 1, "none"], nulls="none")
    assert count(file, "x", [0, 1, "none"], nulls="none", mapping={"0.0": 0, "1.0": 1}).counts.tolist() == [1, 1, 1]
    assert count(file, "x", ["0.0", "1.0", "none"], nulls="none").counts.tolist() == [1, 1, 1]
    for categories, said in ((["never", "former"], file), ([0, 2], TABLES["polars"]({"x": [0, 1]}))):
        with pytest.raises(SourceError) as caught:
            count(said, "x", categories, nulls=categories[0])
        assert "1.0" not in str(caught.value)  # no hint where it could not help


@pytest.mark.parametrize(
    "options",
    [
        {"mapping": {"Never": "nevr"}},
        {"mapping": {"never": "former"}},
        {"mapping": {"Never": 1}},
        {"mapping": {0.5: "never"}},
        {"mapping": {None: "never"}},
        {"mapping": ["Never", "never"]},
        {"mapping": {"NA": "never"}, "na_values": ["NA"]},
        {"na_values": ["never"]},
        {"na_values": ["NA", "NA"]},
        {"na_values": "NA"},
        {"na_values": 7},
        {"na_values": [None]},
        {"encoding": "no such thing"},
        {"encoding": "rot13"},
        {"encoding": "utf\0-8"},
        {"encoding": None},
        {"encoding": "latin-1"},  # of a table, whose text is decoded
        {"weight": "x"},
        {"weight": 3},
        {"weight": "*"},
        {"weight": "no such column"},
        {"weight": "w", "privacy_id": "who"},
        {"weight": "w", "strict": True, "nulls": "never", "other": "never"},
        {"weight": "flag"},
        {"strict": 1},
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    source = TABLES["pyarrow"]({"x": ["never", "former"], "w": [1, 2], "who": [1, 2], "flag": [True, False]})
    with pytest.raises(InvalidInputError) as caught:
        count(source, "x", LABELS, **options)
    assert "\n" not in str(caught.value)


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [[3, 0, 5, 7], [3.0, 0.0, 5.0, 7.0], ["3", "0", "5", "7"], ["3.0", "00", "5.00", "7"]])
def test_a_table_that_is_already_counted(table: Table, weights: list[Any]) -> None:
    source = table({"x": ["never", "zebra", "never", None], "freq": weights})
    counts = count(source, "x", LABELS, nulls="unknown", weight="freq")  # the zebra stands for nobody
    assert counts.counts.tolist() == [8, 0, 7]
    assert (counts.total, counts.unit) == (15, "record")
    with pytest.raises(SourceError, match="nulls"):
        count(source, "x", LABELS, weight="freq")


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.integers(0, 2**40)), min_size=1, max_size=20))
def test_weights_count_as_that_many_rows(rows: list[tuple[str, int]]) -> None:
    expected = [sum(weight for label, weight in rows if label == category) for category in LABELS]
    source = TABLES["pyarrow"]({"x": [label for label, _ in rows], "freq": [weight for _, weight in rows]})
    assert count(source, "x", LABELS, weight="freq").counts.tolist() == expected


@pytest.mark.parametrize(
    "weights",
    [
        [3, -1],
        [3, None],
        [3.0, 0.5],
        [3.0, float("nan")],
        [3.0, float("inf")],
        [3.0, -1.0],
        [3, 2**53 + 1],
        [2**62, 2**62],
        [1e300, 1.0],
        ["3", "-1"],
        ["3", "0.5"],
        ["3", "1e3"],
        ["3", "three"],
        ["3", " 4"],
        ["3", ""],
        ["3", "9" * 400],
        ["3", None],
        ["3", "١"],
    ],
    ids=str,
)
def test_weights_that_are_none_are_refused(table: Table, weights: list[Any]) -> None:
    source = table({"x": ["never", "former"], "freq": weights})
    with pytest.raises(SourceError, match=r"weight 'freq' must .*2\*\*53"):
        count(source, "x", LABELS, weight="freq")


def test_weights_that_add_up_to_too_much_are_refused_where_n_is_public_and_cut_where_it_is_private(table: Table) -> None:
    for weights in ([2**53, 1], [2**52] * 2, [float(2**52)] * 2, [2**53] * 1024, [2**53] * 2048):
        counts = count(table({"x": ["never"] * len(weights), "freq": weights}), "x", LABELS, weight="freq")
        with pytest.raises(InvalidInputError, match=r"from 1 to 2\*\*53"):
            dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), counts.total, 1)
        assert dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), epsilon=1)._checked(counts).tolist() == [2**53, 0, 0]
    exact = count(table({"x": ["never", "never", "former"], "freq": [2**52, 2**52 - 2, 1]}), "x", LABELS, weight="freq")
    assert exact.counts.tolist() == [2**53 - 2, 1, 0]


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame, lambda columns: duckdb.from_arrow(pa.table(columns))])
@pytest.mark.parametrize("large", [2**63, 2**64 - 1])
def test_unsigned_numbers_that_no_signed_one_is(make: Any, large: int) -> None:
    numbers = np.array([3, 7, large], dtype=np.uint64)
    with pytest.raises(SourceError, match=r"weight 'freq' must .*2\*\*53"):
        count(make({"x": ["never", "former", "former"], "freq": numbers}), "x", LABELS, weight="freq")
    assert count(make({"x": numbers}), "x", [3, 7, 9], other=9).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("engine", ["DuckDB", "Ibis", "polars, lazy"])
def test_engines_count_strictly(engine: str) -> None:
    source = TABLES[engine]({"who": ["a", "a", None, None, "b"], "x": ["never", "zebra", "never", None, "zebra"]})
    options: dict[str, Any] = {"nulls": "unknown", "other": "former", "strict": True}
    assert count(source, "x", LABELS, **options).counts.tolist() == [2, 2, 1]
    assert count(source, "x", LABELS, "who", **options).counts.tolist() == [1, 1, 2]


@pytest.mark.parametrize("name", ["survey.csv", "survey.json", "survey.parquet"])
def test_weights_in_files(tmp_path: Path, name: str) -> None:
    rows: dict[str, list[Any]] = {"x": ["never", "former", "never"], "freq": [4, 5, 6]}
    if name.endswith(".parquet"):
        TABLES["polars"](rows).write_parquet(tmp_path / name)
    elif name.endswith(".json"):
        (tmp_path / name).write_text('[{"x": "never", "freq": 4}, {"x": "former", "freq": 5.0}, {"x": "never", "freq": "6"}]')
    else:
        csv_file(tmp_path / name, "x,freq", "never,4", "former,5", "never,6")
    assert count(tmp_path / name, "x", LABELS, weight="freq").counts.tolist() == [10, 5, 0]


# --- encodings and streams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "shift_jis", "iso2022_jp"])
@pytest.mark.parametrize("delimiter", mostly_slow([",", ";", "\t", "|"], 2))
def test_encodings(tmp_path: Path, encoding: str, delimiter: str) -> None:
    word = "猫" if "jis" in encoding or "jp" in encoding else "Köhler"
    rows = [delimiter.join(row) for row in (("who", "x"), ("1", word), ("2", f'"a{delimiter}\nb"'), ("3", word), ("4", ""))]
    file = csv_file(tmp_path / "survey.csv", *rows, encoding=encoding)
    (tmp_path / "survey.csv.gz").write_bytes(gzip.compress(file.read_bytes()))
    categories = [word, f"a{delimiter}\nb", "none"]
    for source in (file, tmp_path / "survey.csv.gz", io.BytesIO(file.read_bytes())):
        assert count(source, "x", categories, nulls="none", encoding=encoding).counts.tolist() == [2, 1, 1]
    by_person = count(file, "x", categories, "who", nulls="none", encoding=encoding)
    assert by_person.counts.tolist() == [2, 1, 1]


def test_the_wrong_encoding_is_told(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "survey.csv", "x", "Köhler", encoding="latin-1")
    for source in (file, io.BytesIO(file.read_bytes())):
        with pytest.raises(SourceError, match=r"is not (UTF-8|utf-8) text.*--encoding"):
            count(source, "x", LABELS)
    with pytest.raises(SourceError, match="not ascii text"):
        count(file, "x", LABELS, encoding="ascii")
    (tmp_path / "survey.json").write_text('[{"x": "never"}]')
    with pytest.raises(InvalidInputError, match="encoding is for CSV files"):
        count(tmp_path / "survey.json", "x", LABELS, encoding="latin-1")


def test_a_pattern_of_files_in_another_encoding(tmp_path: Path) -> None:
    csv_file(tmp_path / "a.csv", "x,who", "Köhler,1", encoding="latin-1")
    csv_file(tmp_path / "b.csv", "who,x", "2,Köhler", encoding="latin-1")
    assert count(tmp_path / "*.csv", "x", ["Köhler", "other"], encoding="latin-1").counts.tolist() == [2, 0]
    csv_file(tmp_path / "c.csv", "who,y", "2,Köhler", encoding="latin-1")
    with pytest.raises(InvalidInputError, match="no column 'x'"):
        count(tmp_path / "*.csv", "x", ["Köhler", "other"], encoding="latin-1")


def test_a_stream_stays_open_and_is_read_once(tmp_path: Path) -> None:
    stream = io.BytesIO(b"x\nnever\nformer\n")
    assert count(stream, "x", LABELS).counts.tolist() == [1, 1, 0]
    assert not stream.closed
    for text in (io.StringIO("x\nnever\n"), open(csv_file(tmp_path / "a.csv", "x", "never")), io.FileIO(tmp_path / "a.csv")):  # noqa: SIM115, PTH123
        with text, pytest.raises(InvalidInputError, match="one of bytes"):
            count(text, "x", LABELS)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("who,x\n1,never,3\n", "more or fewer cells"),
        ("who,x\n1\n", "more or fewer cells"),
        ('who,x\n1,"never\n', "a quote is not closed"),
        ('who,x\n1,"ne"ver\n', "a quote is not closed or followed"),
        ("", "empty"),
        ("who,y\n1,never\n", "no column 'x'"),
        ("x,x\n1,never\n", "more than once"),
        ("who,x\n1," + "n" * 200_000 + "\n", "too long|outside the declared"),
    ],
)
def test_broken_streams_are_told_what_is_wrong(content: str, says: str) -> None:
    for encoding in ("utf-8", "latin-1"):
        with pytest.raises(DiscreetError, match=says) as caught:
            count(io.BytesIO(content.encode()), "x", LABELS, encoding=encoding)
        assert caught.value.__context__ is None


def test_readers_agree(tmp_path: Path) -> None:
    """DuckDB's reader and Python's, which reads other encodings and streams."""
    rows = [
        "who,x",
        '1,"never"',
        "2,never",
        "3,",
        '4,""',
        '5,"a ""word"", and more"',
        '6," never"',
        "7,#never",
        '8,ne"ver',
        '9,"two\nlines"',
    ]
    for end in ("\n", "\r\n"):
        (tmp_path / "survey.csv").write_bytes((end.join(rows) + end).encode())
        categories = ["never", 'a "word", and more', " never", "#never", 'ne"ver', "two\nlines", "none"]
        found = [
            count(source, "x", categories, nulls="none", encoding=encoding).counts.tolist()
            for source, encoding in (
                (tmp_path / "survey.csv", "utf-8"),
                (tmp_path / "survey.csv", "latin-1"),
                (io.BytesIO((tmp_path / "survey.csv").read_bytes()), "utf-8"),
            )
        ]
        assert found == [[2, 1, 1, 1, 1, 1, 2]] * 3


# --- blank lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_blank_line_is_a_row_of_missing_values(tmp_path: Path, end: str, place: int, suffix: str) -> None:
    lines = ["who,x", "1,never", "2,former"]
    content = end.join([*lines[:place], "", *lines[place:], ""]).encode()
    file = tmp_path / f"survey{suffix}"
    file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    for source in (file, io.BytesIO(content)):
        with pytest.raises(SourceError, match="a blank line"):
            count(source, "x", LABELS)
    assert count(file, "x", LABELS, nulls="unknown").counts.tolist() == [1, 1, 1]
    with pytest.raises(SourceError, match="a blank line"):
        count(file, "x", LABELS, "who", nulls="unknown")


def test_a_blank_line_within_a_cell_is_none(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "survey.csv", "remark,x", '"one\n\ntwo",never', "none,former")
    assert count(file, "x", LABELS).counts.tolist() == [1, 1, 0]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["1,never", "2,former", "", '3,"never"', '"a\n\nb",never']), max_size=12))
def test_every_line_counts(lines: list[str]) -> None:
    content = "".join(f"{line}\n" for line in ["who,x", "0,never", *lines]).encode()
    found = count(io.BytesIO(content), "x", LABELS, nulls="unknown")
    assert found.counts.tolist() == [1 + sum("never" in line for line in lines), lines.count("2,former"), lines.count("")]


# --- the command line -------------------------------------------------------------------------------------------------


def released(*arguments: str | Path, given: bytes | None = None) -> dc.Release:
    result = invoke("release", *arguments, "-e", "1", "--json", given=given)
    assert result.exit_code == 0, result.output
    return dc.Release.from_json(result.stdout)


@pytest.fixture
def exact() -> Iterator[None]:
    """A draw that repeats the counts, so that a release shows what was counted."""
    with planted(dc.LatticeGeometric, None):
        yield


def test_every_option_of_the_command(tmp_path: Path, exact: None) -> None:
    file = csv_file(tmp_path / "counted.csv", "antwort;anzahl", "Köhler;30", "köhler;2", "a=b;5", " x;1", "NA;3", ".;1", encoding="latin-1")
    (tmp_path / "labels.txt").write_bytes("\ufeffKöhler\r\na, b\r\n".encode())
    found = released(
        *(file, "-c", "antwort", "--categories", f"@{tmp_path / 'labels.txt'}", "--map", "köhler=Köhler", "--map", "a=b=a, b", "--map"),
        *(" x=a, b", "--na-values", "NA,.", "--nulls", "a, b", "--encoding", "latin-1", "--weight", "anzahl"),
    )
    assert (found.prior.categories, found.counts) == (("Köhler", "a, b"), (32, 10))


@pytest.mark.parametrize("more", [[], ["--privacy-id", "who"], ["--strict", "--nulls", "never", "--other", "former"]])
def test_standard_input(tmp_path: Path, exact: None, more: list[str]) -> None:
    content = b"who,x\n1,never\n2,former\n3,never\n"
    file = csv_file(tmp_path / "survey.csv", *content.decode().splitlines())
    asked = ["-c", "x", "--categories", "never,former", *more]
    assert released("-", *asked, given=content) == released(file, *asked)
    Ledger(tmp_path / "ledger.db").create("s", 1, unit="person" if "--privacy-id" in more else "record")
    released("-", *asked, "--ledger", tmp_path / "ledger.db", "--dataset", "s", given=content)
    assert [line.note for line in Ledger(tmp_path / "ledger.db").history("s")] == ["x of standard input"]


def test_standard_input_is_not_written_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at in the middle of reading, when most of the rows have gone to the engine."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[bytes] = []

    class Watched(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            seen.extend(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
            return super().read1(-1 if size is None else size)

        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 1_000_000 and not seen:
                seen.append(b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()))
            return super().readline(-1 if size is None else size)

    content = b"who,x\n" + b"".join(b"hunter2-%d,never\n" % number for number in range(100_000))
    for strict in (False, True):
        count(Watched(content), "x", LABELS, "who", strict=strict, nulls="unknown", other="unknown")
    assert b"hunter2" not in b"".join(seen)
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_labels_is_none_of_the_files_that_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "years").mkdir()
    survey = csv_file(tmp_path / "years" / "2024.csv", "x", "never", "former")
    csv_file(tmp_path / "labels.txt", "never", "former")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for text, file in (
        ("@years/2024.csv", "years/*.csv"),
        ("@years/2024.csv", "~/**/20*.csv"),
        ("@~/years/2024.csv", str(survey)),
        (f"@{survey}", "-"),
        ("@years/../years/2024.csv", "-"),
    ):
        with survey.open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            with pytest.raises(InvalidInputError, match="is also the private data"):
                parse_labels(text, "--categories", file)
            assert parse_labels("@labels.txt", "--categories", file) == ["never", "former"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--map", "Never"], "--map must be VALUE=CATEGORY, with one of --categories after the =; got 'Never'"),
        (["--map", "Never=nevr"], "--map must be VALUE=CATEGORY"),
        (["--map", "=never"], "--map must be VALUE=CATEGORY"),
        (["--map", "Never=never", "--map", "Never=former"], "'Never' is mapped twice"),
        (["--map", "never=former"], "declared as two things"),
        (["--na-values", "never"], "declared as two things"),
        (["--na-values", '"NA'], "--na-values must be one line"),
        (["--encoding", "klingon"], "encoding must be the name of a text encoding"),
        (["--categories", "@nowhere.txt"], "cannot be read (No such file or directory)"),
        (["--categories", "@."], "cannot be read"),
        (["--categories", "@survey.csv"], "is also the private data"),
        (["--categories", "@latin.txt"], "cannot be read (not UTF-8 text)"),
        (["--categories", "@empty.txt"], "--categories needs at least two"),
        (["--categories", "@gap.txt"], "has one without a name"),
        (["--weight", "freq", "--privacy-id", "who"], "--privacy-id and --weight do not go together"),
        (["--weight", "x"], "weight must be another column"),
        (["--weight", "nothing"], "no column 'nothing'"),
        (["--weight", "who"], "weight 'who' must be a whole number from 0"),
        (["--strict"], "--other and --nulls"),
        (["--strict", "--other", "never", "--nulls", "never", "--weight", "freq"], "strict and weight do not go together"),
        (["--strict", "--other", "never", "--nulls", "never", "--encoding", "utf-16"], "cannot be read strictly"),
    ],
)
def test_wrong_options_of_the_command_spend_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Sequence[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path / "survey.csv", "who,x,freq", "P1,never,3", "P2,former,4")
    csv_file(tmp_path / "latin.txt", "Köhler", "x", encoding="latin-1")
    csv_file(tmp_path / "gap.txt", "never", "", "former")
    csv_file(tmp_path / "empty.txt")
    book = Ledger(tmp_path / "ledger.db")
    book.create("s", 1)
    asked = ["survey.csv", "-c", "x", "--categories", "never,former", "-e", "1", "--ledger", "ledger.db", "--dataset", "s"]
    result = invoke("release", *asked, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert says in result.stderr
    assert book.history("s") == ()


def test_the_promise_of_weights_and_of_ids_is_said(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "survey.csv", "who,x,freq", "P1,never,3", "P2,former,4")
    asked: list[str | Path] = ["release", file, "-c", "x", "--categories", "never,former", "-e", "1"]
    assert "each row as many times as 'freq' says: a record is one unit of its weight" in invoke(*asked, "--weight", "freq").output.replace(
        "\n", ""
    )
    assert "n is the number of distinct 'who', and published" in invoke(*asked, "--privacy-id", "who").output
    told = " ".join(invoke("release", "--help").output.replace("│", " ").split())
    assert "With --public total the number of distinct ids is published." in told
    assert "Protected is then one unit of weight, not a row." in told


def test_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    main, other = pty.openpty()
    with open(other) as terminal, open(main):  # noqa: PTH123 - descriptors
        monkeypatch.setattr("sys.stdin", terminal)
        with pytest.raises(InvalidInputError, match="pipe one in"), opened("-"):
            pass


# --- what an engine would read in its own way -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        ('"never" ,1', "former,2"),
        ("1;2", '"never" '),
        ("never,1,", "former,2"),
        ("former,2", "never,1,"),
        ("never,1,", "former,2,"),
    ],
)
@pytest.mark.parametrize("final", ["\n", "", "\r\n"])
def test_a_blank_after_a_quote_and_a_cell_too_many_are_refused_by_path_too(tmp_path: Path, rows: tuple[str, ...], final: str) -> None:
    path = tmp_path / "a.csv"
    between = final or "\n"
    path.write_bytes((between.join(("smoking,who", *rows)) + final).encode())
    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(SourceError, match="reading the CSV file failed"):
            count(source, "smoking", LABELS)


def test_a_blank_before_a_quote_is_part_of_the_cell(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "a.csv", "who,smoking", '1, "never"', "2,former")
    assert count(path, "smoking", ["never", "former", ' "never"']).counts.tolist() == [0, 1, 1]


@pytest.mark.parametrize("final", ["", "\n"])
def test_an_empty_last_cell_is_a_null(tmp_path: Path, final: str) -> None:
    for rows in (("1,", "2,never", "3,"), ('"1",', "2,never", "3,")):
        path = tmp_path / "a.csv"
        path.write_text("who,smoking\n" + "\n".join(rows) + final, encoding="utf-8")
        assert count(path, "smoking", LABELS, nulls="unknown").counts.tolist() == [1, 0, 2]


def test_columns_that_differ_in_capital_letters_are_not_taken_for_one_another(tmp_path: Path) -> None:
    answers = {"X": ["a"] * 3, "x": ["b"] * 3, "x_1": ["a", "b", "b"]}
    pq.write_table(pa.table(answers), tmp_path / "one.parquet")
    for name in ("x", "x_1"):
        with pytest.raises(InvalidInputError, match="differ in capital letters only"):
            count(tmp_path / "one.parquet", name, ["a", "b"])
    assert count(tmp_path / "one.parquet", "X", ["a", "b"]).counts.tolist() == [3, 0]
    pq.write_table(pa.table({"x_1": ["a"]}), tmp_path / "another.parquet")
    with pytest.raises(InvalidInputError, match="differ in capital letters only"):
        count(tmp_path / "*.parquet", "x_1", ["a", "b"])
    strictly: dict[str, Any] = {"nulls": "b", "other": "b", "strict": True}
    for name, expected in (("X", [3, 0]), ("x", [0, 3]), ("x_1", [1, 2])):
        assert count(tmp_path / "one.parquet", name, ["a", "b"], **strictly).counts.tolist() == expected


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_folder_called_like_an_address_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """The path that is looked up must be the one that is read: DuckDB takes file:/a.csv for /a.csv, and file:a.csv for a.csv."""
    frame = pl.DataFrame({"smoking": ["never", "former"]})
    for folder, rows in (("file:", frame), (".", frame.head(1))):
        (tmp_path / folder).mkdir(exist_ok=True)
        target = tmp_path / folder / f"a.{ending}"
        write: dict[str, Any] = {"csv": rows.write_csv, "jsonl": rows.write_ndjson, "parquet": rows.write_parquet}
        write[ending](target)
    monkeypatch.chdir(tmp_path)
    Path(f"file:a.{ending}").write_bytes(Path(f"file:/a.{ending}").read_bytes())
    for name in (f"file:/a.{ending}", f"file:a.{ending}"):
        assert count(name, "smoking", ["never", "former"]).total == 2
