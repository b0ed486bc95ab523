"""What a record says about itself: it is written and read exactly, refused before anything is spent, and never comes from the data."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.record.release import is_table
from tests.cli import support
from tests.support import lowered, planted

invoke = partial(support.invoke, columns=400)

PRIOR = dc.Dirichlet.uniform(categories=["never", "former", "current"])
WORDS = dc.About(title="Smoking in Northland", variable="Do you smoke?", source="Survey <of> adults & others", date="2024-05", note="مدخّن")
ROWS = "who,smoking,region\n1,never,north\n2,former,south\n2,current,south\n3,N,\n4,,north\n"
TABLE = pa.table({"smoking": ["never", "former", "NEVER"], "region": ["north", "south", "east"], "who": [1, 2, 3]})


def single(about: dc.About | None = WORDS, **options: Any) -> dc.Release:
    return dc.LatticeGeometric(PRIOR, epsilon=1, **options).release([3, 2, 1] if not options.get("by") else [[3, 2, 1]] * 2, about=about)


@pytest.mark.parametrize("options", [{"n": 6}, {}, {"by": {"region": ["north", "south"]}}, {"n": [6, 6], "by": {"x": [1, 2]}}])
def test_words_are_written_and_read_exactly(options: dict[str, Any], tmp_path: Path) -> None:
    with_words, without = single(**options), single(None, **options)
    assert with_words.about == dc.About(**json.loads(with_words.to_json())["about"])
    assert with_words.about is not None
    assert with_words.about.software == f"discreet {dc.__version__}"
    assert json.loads(with_words.to_json())["version"] == 4
    assert json.loads(without.to_json())["version"] in (1, 2, 3)
    assert "about" not in json.loads(without.to_json())
    for found in (with_words, without):
        assert dc.Release.from_json(found.to_json()) == found
    if is_table(with_words):
        with_words.to_parquet(tmp_path / "table.parquet")
        assert dc.Release.from_parquet(tmp_path / "table.parquet") == with_words
        changed = dc.Release(with_words.mechanism, with_words.guarantee, with_words.raw, with_words.counts, dc.About(title="another"))
        assert changed != with_words


BAD_TEXTS = ["", "   ", "x" * 1001, "two\nlines", "tab\t", "\x1b[31m", "\u202egnp", "\u2028", "\ud800", 7, b"title"]
BAD_DATES = ["", "today", "2024-13", "2024-02-30", "24", "2024/2023", "2024/2025/2026", "2024-5", "2024-05-31T10:00", 2024, "٢٠٢٤"]


@pytest.mark.parametrize(("name", "value"), [*(("title", text) for text in BAD_TEXTS), *(("date", text) for text in BAD_DATES)])
def test_what_is_not_one_plain_line_is_refused_and_read_nowhere(name: str, value: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=f"^{name} ") as refusal:
        dc.About(**{name: value})
    assert "\n" not in str(refusal.value)
    body = json.loads(single(n=6).to_json())
    body["about"][name] = value if isinstance(value, (str, int)) else None
    if body["about"][name] is not None:
        with pytest.raises(dc.InvalidInputError, match=f"^{name} "):
            dc.Release.from_json(json.dumps(body))


@pytest.mark.parametrize("date", ["2024", "2024-05", "2024-05-31", "2023/2024", "2023-12/2024-02-29"])
def test_dates_are_years_months_days_or_two_of_them(date: str) -> None:
    assert dc.About(date=date).date == date


def test_words_of_another_kind_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1)
    mechanism = dc.LatticeGeometric(PRIOR, n=3, epsilon=1)
    counted = dc.count(TABLE, "smoking", PRIOR.categories, mapping={"NEVER": "never"})
    refused: list[tuple[Any, Any]] = [("a title", counted), ({"title": "x"}, counted), (dc.About(counting="by hand"), counted)]
    for about, counts in refused:
        with pytest.raises(dc.InvalidInputError, match=r"^(about must be an About|counting is known)"):
            ledger.release("survey", mechanism, counts, about=about)
    with lowered(RULE_CHARACTERS=5), pytest.raises(dc.InvalidInputError, match=r"^mapping and na_values must have at most"):
        ledger.release("survey", mechanism, counted, about=WORDS)
    assert ledger.history("survey") == ()
    assert ledger.release("survey", mechanism, counted, about=WORDS).about == dc.About(
        **{name: getattr(WORDS, name) for name in ("title", "variable", "source", "date", "note")},
        counting=dc.CountingRule("smoking", mapping=(("NEVER", "never"),)),
        software=f"discreet {dc.__version__}",
    )


def test_the_rule_is_what_count_was_asked_and_not_what_it_found() -> None:
    options: dict[str, Any] = {
        "privacy_id": "who",
        "nulls": "never",
        "other": "former",
        "na_values": ["NA", "."],
        "mapping": {"NEVER": "never"},
        "by": {"region": ["north", "south"]},
        "other_groups": {"region": "south"},
        "strict": True,
    }
    rules = [dc.count(table, "smoking", PRIOR.categories, **options).rule for table in (TABLE, TABLE.slice(0, 1), TABLE.slice(0, 0))]
    expected = dc.CountingRule(
        "smoking", "who", None, "never", "former", ("NA", "."), (("NEVER", "never"),), (("region", "south"),), strict=True
    )
    assert rules == [expected] * 3
    counts: Any = dc.count(TABLE, "smoking", PRIOR.categories, **options)
    found = dc.LatticeGeometric(PRIOR, epsilon=1, by=counts.by).release(counts, about=dc.About())
    assert found.about is not None
    assert found.about.counting == expected
    assert dc.Release.from_json(found.to_json()) == found


def spoiled(change: Callable[[dict[str, Any]], object]) -> str:
    counts = dc.count(TABLE, "smoking", PRIOR.categories, mapping={"NEVER": "never"})
    body = json.loads(dc.LatticeGeometric(PRIOR, n=3, epsilon=1).release(counts, about=WORDS).to_json())
    change(body)
    return json.dumps(body)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.pop("about"),
        lambda body: body.update(about=None),
        lambda body: body.update(about=[]),
        lambda body: body.update(version=1),
        lambda body: body.update(version=5),
        lambda body: body["about"].pop("title"),
        lambda body: body["about"].update(author="me"),
        lambda body: body["about"].update(counting=[]),
        lambda body: body["about"].update(counting={}),
        lambda body: body["about"].update(counting="two\nlines"),
        lambda body: body["about"]["counting"].update(column=None),
        lambda body: body["about"]["counting"].update(column=""),
        lambda body: body["about"]["counting"].update(column=7),
        lambda body: body["about"]["counting"].update(privacy_id="who"),  # the unit is a record
        lambda body: body["about"]["counting"].update(weight=["w"]),
        lambda body: body["about"]["counting"].update(nulls="another"),
        lambda body: body["about"]["counting"].update(strict=1),
        lambda body: body["about"]["counting"].update(mapping=[["a"]]),
        lambda body: body["about"]["counting"].update(mapping=[["a", "another"]]),
        lambda body: body["about"]["counting"].update(mapping=[[{"type": "date", "value": "2024-01-01"}, "never"]]),
        lambda body: body["about"]["counting"].update(mapping={"a": "never"}),
        lambda body: body["about"]["counting"].update(na_values=[[]]),
        lambda body: body["about"]["counting"].update(other_groups=[["region", "north"]]),  # a record without groups
        lambda body: body["about"]["counting"].update(other_groups=[[1, "north"]]),
    ],
)
def test_a_record_whose_words_are_not_such_is_refused_in_one_line(change: Callable[[dict[str, Any]], object]) -> None:
    assert dc.Release.from_json(spoiled(lambda _: None)).about is not None
    with pytest.raises(dc.InvalidInputError) as refusal:
        dc.Release.from_json(spoiled(change))
    assert "\n" not in str(refusal.value)


# --- in the shell -----------------------------------------------------------------------------------------------------


ASKED = ["--column", "smoking", "--categories", "never,former,current", "--epsilon", "1", "--privacy-id", "who", "--public", "nothing"]
MAPPED = ["--map", "N=never", "--nulls", "current", "--na-values", "NA", "--by", "region=north,south", "--other-group", "region=south"]


def test_release_writes_and_show_tells_the_words(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(ROWS)
    said = ["--title", "Smoking", "--variable", "Do you smoke?", "--source", "A survey", "--date", "2023/2024", "--note", "No note"]
    done = invoke("release", tmp_path / "survey.csv", *ASKED, *MAPPED, *said, "--output", tmp_path / "posterior.json")
    assert done.exit_code == 0, done.output
    shown = invoke("show", tmp_path / "posterior.json").stdout
    for line in (
        "Title     Smoking",
        "Variable  Do you smoke?",
        "Source    A survey",
        "Date      2023/2024",
        "Note      No note",
        "Counted   each person once, in the first declared group that any of their rows has, and there in the first of never, former, "
        "current that any of their rows says; the exact number of persons is not published; missing answers as 'current'; 'NA' as missing; "
        "'N' as 'never'; undeclared and missing region as 'south'",
    ):
        assert line in shown
        assert line in done.stderr
    fields = json.loads(invoke("show", tmp_path / "posterior.json", "--json").stdout)["about"]
    assert (fields["title"], fields["date"], fields["counting"]["mapping"]) == ("Smoking", "2023/2024", [["N", "never"]])


def test_no_word_depends_on_the_data_and_no_time_is_written(tmp_path: Path) -> None:
    records = []
    for number, rows in enumerate((ROWS, "who,smoking,region\n", ROWS + "7,current,north\n" * 9)):
        (tmp_path / f"{number}.csv").write_text(rows)
        with planted(dc.LatticeGeometric, (2, 1, 1)):
            records.append(invoke("release", tmp_path / f"{number}.csv", *ASKED, *MAPPED[:6], "--json").stdout)
    assert len(set(records)) == 1
    about = json.loads(records[0])["about"]
    assert (about["title"], about["source"], about["date"], about["variable"]) == (None, None, None, "smoking")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--title", ""], "--title must be one line of text, of 1 to 1,000 characters"),
        (["--source", "two\nlines"], "--source has a control character, a line break"),
        (["--note", "\u202etxt"], "--note has a control character"),
        (["--date", "yesterday"], "--date must be a year, a month or a day"),
        (["--output", "record.csv"], "--output must end in .json, or for a table in .parquet, got record.csv"),
        (["--output", "record"], "--output must end in .json, or for a table in .parquet, got record"),
    ],
)
def test_words_are_refused_before_the_data_are_read(options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dc.Ledger("ledger.db").create("survey", 1, unit="person")
    done = invoke("release", "no-such-file.csv", *ASKED, *options, "--ledger", "ledger.db", "--dataset", "survey")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert dc.Ledger("ledger.db").history("survey") == ()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"strict": np.bool_(True)},
        {"strict": "yes"},
        {"na_values": (10**1500,)},
        {"na_values": "NA"},
        {"na_values": None},
        {"mapping": (("a",),)},
        {"other_groups": (("g", "x"), ("g", "x"))},
    ],
    ids=str,
)
def test_a_rule_that_could_not_be_read_back_is_refused_before_anything_is_drawn(wrong: dict[str, Any]) -> None:
    about = dc.About(counting=dc.CountingRule("answer", **wrong))
    with pytest.raises(dc.InvalidInputError, match="counting rule"):
        dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).prepare([4, 5], about=about)
