"""Public rules of spelling, which are fixed before anyone looks and stand in the record by name, and lists of mapped values.

Oracle: the same rows, spelt as the categories are declared.
"""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from tests.data.test_sources import TABLES, Table

LABELS = ("never", "Óften", "οδος")
WRITTEN = ["never", " Never\t", "NEVER", "óFTEN ", "óften", "ΟΔΟΣ", "οδοσ", "  ", "", None]
BOTH = ["ignore case", "trim"]


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param]


def test_every_engine_compares_by_the_rules(table: Table) -> None:
    rows = table({"answer": WRITTEN, "g": ["A", " a", "b", "B", "b ", "a", "A ", "a", "a", "b"]})
    assert dc.count(rows, "answer", [*LABELS, "none"], spelling=BOTH, nulls="none").counts.tolist() == [3, 2, 2, 3]
    found = dc.count(rows, "answer", [*LABELS, "none"], spelling=BOTH, nulls="none", by={"g": ["a", "b"]})
    assert found.counts.tolist() == [[2, 0, 2, 2], [1, 2, 0, 1]]


@pytest.mark.parametrize(("rules", "expected"), [((), 1), (["trim"], 2), (["ignore case"], 2), (BOTH, 4)])
def test_each_rule_does_what_it_is_called(rules: list[str], expected: int) -> None:
    rows = pa.table({"answer": ["yes", "yes ", "YES", "\tYes"]})
    assert dc.count(rows, "answer", ["yes", "no"], other="no", spelling=rules).counts.tolist() == [expected, 4 - expected]


@pytest.mark.parametrize(
    ("categories", "options", "says"),
    [
        (["a", "A"], {"spelling": ["ignore case"]}, "the rules of spelling make some the same"),
        (["a", " a"], {"spelling": ["trim"]}, "the rules of spelling make some the same"),
        (["a", "b"], {"spelling": ["ignore case"], "mapping": {"A": "b"}}, "declared as two things"),
        (["a", "b"], {"spelling": "trim"}, "spelling .* 'trim', 'ignore case'"),
        (["a", "b"], {"spelling": ["accents"]}, "spelling must be"),
        (["a", "b"], {"spelling": ["trim"], "strict": True, "other": "b", "nulls": "b"}, "strict and spelling do not go together"),
        (["a", "b"], {"spelling": ["ignore case"], "by": {"g": ["x", "X"]}}, "the rules of spelling make some the same"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(categories: list[str], options: dict[str, Any], says: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=says):
        dc.count(pa.table({"answer": ["a"], "g": ["x"]}), "answer", categories, **options)


def test_the_record_names_the_rules() -> None:
    counts = dc.count(pa.table({"answer": ["A", "b "]}), "answer", ["a", "b"], spelling=BOTH)
    found = dc.LatticeGeometric(dc.Dirichlet([1, 1], ["a", "b"]), 2, 1).release(counts, about=dc.About())
    assert found.about is not None
    assert found.about.counting == dc.CountingRule("answer", spelling=("trim", "ignore case"))
    body = json.loads(found.to_json())
    assert (body["version"], body["about"]["counting"]["spelling"]) == (5, ["trim", "ignore case"])
    assert dc.Release.from_json(found.to_json()) == found
    for wrong in ("trim", ["ignore case", "trim"], ["accents"], [1], [["trim"]], None):
        body["about"]["counting"]["spelling"] = wrong
        with pytest.raises(dc.InvalidInputError):
            dc.Release.from_json(json.dumps(body))


def release(path: Path, *more: str) -> Result:
    words = ["release", str(path), "-c", "answer", "--categories", "a,b", "-e", "1", *more]
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, words)


def test_the_command_has_the_rules_and_lists_of_mapped_values(tmp_path: Path) -> None:
    path, listed = tmp_path / "data.csv", tmp_path / "spellings.txt"
    path.write_text("answer\nA\n b\nalpha=1\n beta\n", encoding="utf-8")
    listed.write_text("\ufeffalpha=1=a\n\n beta=b\n", encoding="utf-8")
    refused = release(path)
    assert refused.exit_code == 2
    every = "--trim, --ignore-case and --ignore-accents compare without blanks around them, capital letters and accents"
    assert every in refused.stderr
    assert "spellings that you find by looking are corrected by --corrections FILE, which is never published" in refused.stderr
    one = "not shown: --trim compares without blanks around them, and --na-values"
    assert one in release(path, "--ignore-case", "--ignore-accents").stderr
    assert "not shown: --na-values names marks" in release(path, "--trim", "--ignore-case", "--ignore-accents").stderr
    clash = release(path, "--ignore-case", "--map", "A=b").stderr
    assert "a VALUE of --map or one of --na-values, and only once; --ignore-case makes some the same" in clash
    done = release(path, "--trim", "--ignore-case", "--map", f"@{listed}")
    assert done.exit_code == 0, done.output
    assert "blanks around answers and groups left out; capital and small letters as the same" in done.stderr
    counting = json.loads(done.stdout)["about"]["counting"]
    assert counting["mapping"] == [["alpha=1", "a"], [" beta", "b"]]
    assert counting["spelling"] == ["trim", "ignore case"]
    own = release(path, "--map", f"@{path}")
    assert "is also the private data" in own.stderr
    assert release(path, "--map", "@nowhere.txt").stderr.startswith("error: --map @nowhere.txt cannot be read")


def test_an_empty_text_is_a_missing_answer_everywhere(tmp_path: Path, table: Table) -> None:
    rows = {"answer": ["a", "", "b", None]}
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    for source in (table(rows), tmp_path / "a.parquet"):
        assert dc.count(source, "answer", ["a", "b", "none"], nulls="none").counts.tolist() == [1, 1, 2]
        assert dc.count(source, "answer", ["a", "b", ""], nulls="b").counts.tolist() == [1, 2, 1]
        with pytest.raises(dc.SourceError, match="has nulls"):
            dc.count(source, "answer", ["a", "b"])


def test_what_is_wrong_is_said_in_words_that_help() -> None:
    with pytest.raises(dc.SourceError, match=r"whole numbers: .* bands"):
        dc.count(pa.table({"age": [1, 2, 37]}), "age", [1, 2])


NUMBERS = "the column holds numbers: declare every one that can occur, or make bands"
WORDS = ("old", "zebra", "37 years", "x37", "-", "1.2.3")


def _said(source: Path | BytesIO, categories: list[str], **options: Any) -> str:
    with pytest.raises(dc.SourceError) as refused:
        dc.count(source, "age", categories, **options)
    assert not any(private in str(refused.value) for private in ("37", "4.5", "zebra"))
    return str(refused.value)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_texts_that_are_all_numbers_are_called_so(name: str, tmp_path: Path) -> None:
    """Where no declared category is a number, in files that an engine reads; one other word among them and nothing is said."""

    def written(*ages: str | None) -> Path:
        frame = pl.DataFrame({"age": ages, "sex": ["f"] * len(ages)}, schema={"age": pl.String, "sex": pl.String})
        writers: dict[str, Callable[[Path], object]] = {"a.csv": frame.write_csv, "a.jsonl": frame.write_ndjson}
        writers.get(name, frame.write_parquet)(tmp_path / name)
        return tmp_path / name

    source = written("37", " 4.5", "-1e5", "2,5", None)
    assert NUMBERS in _said(source, ["young", "old"])
    assert NUMBERS in _said(source, ["young", "old"], nulls="old")
    assert NUMBERS not in _said(source, ["young", "old"], other="old")  # of missing answers it says nothing
    assert NUMBERS not in _said(source, ["37", "old"])
    named = written("37", " 4.5", "-1e5", "2,5", None, "young")
    assert dc.count(named, "age", ["young", "old"], nulls="young", other="old").counts.tolist() == [2, 4]
    for word in WORDS:
        assert NUMBERS not in _said(written("37", "4.5", word), ["young", "old"])


@pytest.mark.parametrize("is_stream", [False, True])
def test_texts_that_are_all_numbers_are_called_so_where_python_reads_the_rows(is_stream: bool, tmp_path: Path) -> None:
    """In files of other encodings, and in streams; wherever the column is, and a blank line is an empty text."""

    def written(*ages: str) -> Path | BytesIO:
        text = "\n".join(["sex;age", *(f"f;{age}" for age in ages), ""])
        if is_stream:
            return BytesIO(text.encode("latin-1"))
        (tmp_path / "a.csv").write_text(text, "latin-1")
        return tmp_path / "a.csv"

    def said(*ages: str, categories: tuple[str, ...] = ("young", "old"), **options: Any) -> str:
        return _said(written(*ages), list(categories), encoding="latin-1", **options)

    found = ("37", " 4.5", "-1e5", "2,5", "")
    assert NUMBERS in said(*found)
    assert NUMBERS in said(*found, nulls="old")
    assert NUMBERS not in said(*found, other="old")
    assert NUMBERS not in said(*found, categories=("37", "old"))
    options: dict[str, Any] = {"encoding": "latin-1", "nulls": "young", "other": "old"}
    assert dc.count(written(*found, "young"), "age", ["young", "old"], **options).counts.tolist() == [2, 4]
    for word in WORDS:
        assert NUMBERS not in said("37", word, "4.5")


def test_one_word_in_any_of_many_files_is_no_number(tmp_path: Path) -> None:
    for name, age in (("a.csv", "37"), ("b.csv", "4.5")):
        (tmp_path / name).write_text(f"age\n{age}\n", "latin-1")
    assert NUMBERS in _said(tmp_path / "*.csv", ["young", "old"], encoding="latin-1")
    (tmp_path / "a.csv").write_text("age\nzebra\n", "latin-1")
    assert NUMBERS not in _said(tmp_path / "*.csv", ["young", "old"], encoding="latin-1")


def test_nobody_looks_for_numbers_unless_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def look(_: object, column: str) -> bool:
        looks.append(column)
        return False

    monkeypatch.setattr("discreet.data.count.holds_numbers", look)
    source = tmp_path / "a.parquet"
    pl.DataFrame({"age": ["old", "37"]}).write_parquet(source)
    for strict in (False, True):
        dc.count(source, "age", ["young", "old"], nulls="young", other="old", strict=strict)
    dc.count(source, "age", ["old", "37"])
    dc.count(pl.DataFrame({"age": ["old", "young"]}), "age", ["young", "old"])
    pl.DataFrame({"age": ["old", "young"]}).write_parquet(source)
    dc.count(source, "age", ["young", "old"])
    assert not looks
    _said(source, ["young", "middle"])
    assert looks == ["age"]


CORRECTIONS = '[answer]\n"alpha" = "a"\n[g]\n"nroth" = "north"\n'


def test_corrections_are_applied_in_python_and_shell_and_never_published(tmp_path: Path) -> None:
    """The counts of the release are those of corrected data, at an ε at which noise is 0 but for a chance below 1e-15."""
    path, corrections = tmp_path / "data.csv", tmp_path / "c.toml"
    path.write_text("answer,g\nÁ,north\nb,south\nalpha,nroth\nb,north\n", encoding="utf-8")
    corrections.write_text(CORRECTIONS, encoding="utf-8")
    rules = ["ignore case", "ignore accents"]
    by = {"g": ["north", "south"]}
    for given in (corrections, {"answer": {"alpha": "a"}, "g": {"nroth": "north"}}):
        counts = dc.count(path, "answer", ["a", "b"], spelling=rules, by=by, corrections=given)
        assert counts.counts.tolist() == [[2, 1], [0, 1]]
        assert counts.rule is not None
        assert (counts.rule.corrections, counts.rule.mapping) == (True, ())
    options = ["--by", "g=north,south", "--ignore-case", "--ignore-accents", "-e", "80"]
    assert release(path, *options).exit_code == 2
    done = release(path, *options, "--corrections", str(corrections), "--yes")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    assert body["raw"] == [[2, 1], [0, 1]]
    assert body["about"]["counting"]["corrections"] is True
    assert "curator's corrections of spellings allowed" in done.stderr
    for secret in ("alpha", "nroth", "c.toml"):
        assert secret not in done.output
    unused = dc.count(pa.table({"answer": ["a", "b"]}), "answer", ["a", "b"], corrections={})
    assert unused.rule is not None
    assert unused.rule.corrections


@pytest.mark.parametrize(
    ("text", "says"),
    [("[answer", "it is no TOML"), ('[answer]\nx = "c"\n', "declared value"), ('[who]\nx = "a"\n', "by columns"), (None, "cannot be read")],
)
def test_corrections_that_fit_nothing_are_refused_in_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    path, corrections = tmp_path / "data.csv", tmp_path / "c.json"  # also what a record may be called
    path.write_text("answer\na\nb\n")
    if text is not None:
        corrections.write_text(text)
    refused = release(path, "--corrections", str(corrections))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert says in refused.stderr
    assert "is also the corrections" in release(path, "--corrections", str(corrections), "--output", str(corrections)).stderr
