"""A study as a value: what its file declares, the exact split of ε, and what is refused in one line."""

import re
import warnings
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from pathlib import Path
from traceback import walk_tb

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.data.count import tallied
from discreet.errors import BudgetError, InvalidInputError, SourceError
from discreet.ledger.budgets import Loss
from discreet.ledger.ledger import Ledger
from discreet.requests.studies.release import ready_tables
from discreet.requests.studies.study import Study, StudyTable
from tests.requests.study_support import STUDY, written


def test_a_study_is_read_as_it_is_written(tmp_path: Path) -> None:
    study = dc.Study.load(written(tmp_path))
    assert (study.title, study.dataset, study.id, study.public) == ("Health survey 2026", "survey", "participant", "total")
    assert study.epsilon == 1
    smoking, exercise = study.tables
    assert (smoking.name, smoking.column, dict(smoking.by)) == ("smoking", "smoking", {"age": ("18-34", "35-54", "55+")})
    assert exercise.categories == ("0 to under 1", "1 to under 3", "3 to under 7", "7 and more")
    assert study.epsilons == {"smoking": Fraction(2, 3), "exercise": Fraction(1, 3)}
    with pytest.raises(FrozenInstanceError):
        study.epsilon = Fraction(2)  # type: ignore[misc]


@given(
    st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6), st.lists(st.fractions(Fraction(1, 1000), 1000), min_size=1, max_size=8)
)
def test_the_parts_add_up_to_epsilon_exactly(epsilon: Fraction, weights: list[Fraction]) -> None:
    tables = tuple(StudyTable(f"t-{chr(97 + i)}", "x", ("a", "b"), weight=weight) for i, weight in enumerate(weights))
    study = Study(tables, epsilon, "x.csv")
    assert sum(study.epsilons.values()) == epsilon
    assert all(part / study.epsilons["t-a"] == weight / weights[0] for part, weight in zip(study.epsilons.values(), weights, strict=True))


HEAD = '[study]\nsource = "x.csv"\nepsilon = 1\n'
TABLE = '[tables.a]\ncolumn = "x"\ncategories = ["a", "b"]\n'
BAD = {
    "no tables": (HEAD, "at least one table"),
    "an unknown key": (HEAD + "colour = 1\n" + TABLE, "unknown key 'colour'"),
    "an unknown key of a table": (HEAD + TABLE + "colour = 1\n", "tables.a has an unknown key 'colour'"),
    "an unknown part": (HEAD + TABLE + "[others]\n", "unknown key 'others'"),
    "a table twice": (HEAD + TABLE + TABLE, "cannot be read"),
    "tables that look the same": (HEAD + TABLE + TABLE.replace("[tables.a]", "[tables.A]"), "called alike"),
    "a table in other letters": (HEAD + TABLE + TABLE.replace("[tables.a]", '[tables."а"]'), "called alike"),
    "the name of the manifest": (HEAD + TABLE.replace("tables.a", "tables.Study"), "a table must be called"),
    "a path as a name": (HEAD + TABLE.replace("tables.a", 'tables."../a"'), "a table must be called"),
    "a part of 0": (HEAD + TABLE + "weight = 0\n", "tables.a.weight is 0, and so is its part of epsilon"),
    "a negative weight": (HEAD + TABLE + "weight = -1\n", "tables.a.weight must not be negative"),
    "a weight that is text": (HEAD + TABLE + 'weight = "much"\n', "weight"),
    "bands that fall": (HEAD + TABLE.replace('categories = ["a", "b"]', "bands = [0, 3, 1]"), "tables.a.bands must rise"),
    "bands and categories": (HEAD + TABLE + "bands = [0, 1]\n", "tables.a must have either categories or bands"),
    "neither": (HEAD + '[tables.a]\ncolumn = "x"\n', "tables.a must have either categories or bands"),
    "tables.a has no column": (HEAD + '[tables.a]\ncategories = ["a", "b"]\n', "tables.a has no column"),
    "study has no source": ("[study]\nepsilon = 1\n" + TABLE, "study has no source"),
    "study has no epsilon": ('[study]\nsource = "x.csv"\n' + TABLE, "study has no epsilon"),
    "an epsilon of 0": (HEAD.replace("= 1", "= 0") + TABLE, "study.epsilon must be greater than 0"),
    "an infinite epsilon": (HEAD.replace("= 1", "= inf") + TABLE, "epsilon"),
    "id and rows": (HEAD + 'id = "i"\nrows = "one per person"\n' + TABLE, "study.id and study.rows do not go together"),
    "other rows": (HEAD + 'rows = "two"\n' + TABLE, "study.rows must be 'one per person'"),
    "something else public": (HEAD + 'public = "all"\n' + TABLE, "study.public must be"),
    "another rule": (HEAD + 'normalize = ["dots"]\n' + TABLE, "study.normalize must be"),
    "a text that is a number": (HEAD + "title = 3\n" + TABLE, "study.title must be text"),
    "one category": (HEAD + TABLE.replace('"a", "b"', '"a"'), "tables.a.categories must name at least two categories"),
    "categories that are floats": (HEAD + TABLE.replace('"a", "b"', "1.5, 2.5"), "tables.a.categories must be a list"),
    "groups that are the column": (HEAD + TABLE + 'by.x = ["a", "b"]\n', "tables.a.by must name other columns"),
    "another category": (HEAD + TABLE + 'other = "c"\n', "tables.a.other must be"),
    "groups that are a text": (HEAD + TABLE + 'by.y = "low"\n', "tables.a.by.y must be a list"),
    "cells without groups": (HEAD + TABLE + 'impossible = [["x", "a"]]\n', "tables.a.impossible and tables.a.other_groups are about"),
    "no TOML": ("[study\n", "cannot be read"),
    "no study": (TABLE, "[study]"),
    "tables that are none": (HEAD + "[tables]\na = 1\n", "[tables.NAME]"),
    "a category of missing numbers without bands": (
        HEAD + TABLE + 'missing = "none"\n',
        "tables.a.missing is the category of missing numbers",
    ),
    "a category of missing numbers that is a band": (
        HEAD + TABLE.replace('categories = ["a", "b"]', 'bands = [0, 1]\nmissing = "1 and more"'),
        "tables.a.missing must be the name of a category of its own",
    ),
    "strict and sizes": (HEAD + 'strict = true\npublic = "sizes"\n' + TABLE, "do not go together"),
}


@pytest.mark.parametrize("which", BAD)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, which: str) -> None:
    text, says = BAD[which]
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        Study.load(tmp_path / "study.toml")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not SPOKEN_ELSEWHERE.search(str(refused.value))
    assert "tables.a: tables.a" not in str(refused.value)


SPOKEN_ELSEWHERE = re.compile(r"--[a-z]|\b(privacy_id|one_row_per_person|spelling|mapping)\b|\w=(\.|\[| |$)")
"""Options of the shell, and names and arguments of Python that no study has."""


@pytest.mark.parametrize(
    ("study", "more", "says"),
    [
        ("", "p99,Never,1,55+", 'study.normalize = ["spaces", "case", "accents"] compare without'),
        ("", "p99,Never,1,55+", "with tables.smoking.other; rows are never dropped"),
        ("", "p99,Never,1,55+", "tables.smoking.na_values names marks of missing answers"),
        ("", "p99,Never,1,55+", "are corrected by study.corrections"),
        ("", "p99,never,,55+", "tables.exercise.missing makes a category of its own"),
        ("", "p99,never,1,", "with tables.smoking.other_groups; rows"),
        ("", ",never,1,55+", "study.id 'participant' is null in some rows"),
        ('id = "smoking"', "", "tables.smoking: study.id must be another column than the one to count"),
        ('id = "age"', "", "tables.smoking.by must name other columns than the one to count, study.id"),
        ("strict = true", "", "so tables.smoking.other and tables.smoking.nulls must both name a declared category"),
        ('encoding = "ascii"', "p99,néver,1,55+", "name its encoding with study.encoding"),
        ('note = "no id"', "", "tables.smoking: the budget of 'survey' protects persons"),
    ],
)
def test_refusals_speak_of_the_keys_of_the_study(tmp_path: Path, study: str, more: str, says: str) -> None:
    """Every refusal is one line by the file's own keys, and nothing is spent."""
    text = (STUDY.replace('id = "participant"', "") if study.startswith(("id", "note")) else STUDY).replace(
        "epsilon = 1.0", f"epsilon = 1.0\n{study}"
    )
    path, ledger = written(tmp_path, text, *([more] if more else [])), Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 2, unit="person")
    with pytest.raises((InvalidInputError, SourceError, BudgetError)) as refused:
        Study.load(path).release(ledger, tmp_path / "published")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not SPOKEN_ELSEWHERE.search(str(refused.value))
    assert not ledger.history("survey")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"[study]\ntitle = '\xe9'")
    for name in ("none.toml", "latin.toml", ""):
        with pytest.raises(InvalidInputError, match="cannot be read"):
            Study.load(tmp_path / name)


@pytest.mark.parametrize("make", [pd.read_csv, pl.read_csv, pl.scan_csv, lambda path: duckdb.connect().read_csv(str(path))])
def test_any_engine_counts_a_study(tmp_path: Path, make: object) -> None:
    study = Study.load(written(tmp_path))
    found = study.release(None, tmp_path / "published", source=make(tmp_path / "survey.csv"))  # type: ignore[operator]
    assert {name: record.n for name, record in found.items()} == {"smoking": 60, "exercise": 60}


def ledger_of(folder: Path, **options: object) -> Ledger:
    ledger = Ledger(folder / "ledger.db")
    ledger.create("survey", 2, unit="person", **options)  # type: ignore[arg-type]
    return ledger


def test_a_release_is_one_line_of_exactly_epsilon(tmp_path: Path) -> None:
    study, ledger = Study.load(written(tmp_path)), ledger_of(tmp_path)
    found = study.release(ledger, tmp_path / "published")
    [line] = ledger.history("survey")
    assert line.loss == line.guarantee == Loss(Fraction(1))
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == ["exercise.json", "smoking.json", "study.json"]
    for name, record in found.items():
        assert dc.Release.from_json((tmp_path / "published" / f"{name}.json").read_text()) == record
        assert record.mechanism.epsilon == study.epsilons[name]
        assert record.about is not None
        assert record.about.title == study.title
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_request_never_draws_again(tmp_path: Path) -> None:
    study, ledger = Study.load(written(tmp_path)), ledger_of(tmp_path)
    first = study.release(ledger, tmp_path / "published")
    assert study.release(ledger, tmp_path / "published") == first
    assert len(ledger.history("survey")) == 1
    other = Study.load(written(tmp_path, STUDY.replace('"never", "former"', '"former", "never"')))
    with pytest.raises(InvalidInputError, match="holds another study"):
        other.release(ledger, tmp_path / "published")
    study.release(ledger, tmp_path / "next")  # which is another request, and pays
    assert ledger.remaining("survey").epsilon == 0
    with pytest.raises(BudgetError):
        study.release(ledger, tmp_path / "third")
    assert not [path for path in tmp_path.iterdir() if "third" in path.name]


def test_files_of_others_where_a_study_works_stay(tmp_path: Path) -> None:
    study, ledger = Study.load(written(tmp_path)), ledger_of(tmp_path)
    kept = tmp_path / ".published.drawing" / "notes.json"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(InvalidInputError, match="no study put there"):
        study.release(ledger, tmp_path / "published")
    assert (kept.read_text(), ledger.history("survey")) == ("mine", ())
    kept.unlink()
    study.release(ledger, tmp_path / "published")
    assert not kept.parent.exists()


def test_a_second_budget_for_the_same_file_is_warned_of_before_the_charge(tmp_path: Path) -> None:
    study, ledger = Study.load(written(tmp_path)), ledger_of(tmp_path)
    ledger.create("other", 2, unit="person")
    study.release(ledger, tmp_path / "published")
    again = replace(study, dataset="other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dc.SecondBudgetWarning, match="was charged to 'survey' before"):
            again.release(ledger, tmp_path / "next")
    assert not ledger.history("other")
    with pytest.warns(dc.SecondBudgetWarning) as caught:
        again.release(ledger, tmp_path / "next")
    assert caught[0].filename == __file__


def test_a_budget_that_hides_presence_is_charged_by_its_own_neighbours(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, STUDY.replace('"total"', '"nothing"')))
    ledger = ledger_of(tmp_path)  # replacing one is removing one and adding another
    study.release(ledger, tmp_path / "published")
    [line] = ledger.history("survey")
    assert (line.loss, line.guarantee, str(line.neighbours)) == (Loss(Fraction(2)), Loss(Fraction(1)), "add or remove one")


def test_public_sizes_are_charged_within_the_columns(tmp_path: Path) -> None:
    study, ledger = Study.load(written(tmp_path, STUDY.replace('"total"', '"sizes"'))), ledger_of(tmp_path, within=["age"])
    found = study.release(ledger, tmp_path / "published")
    assert ledger.history("survey")[0].loss.epsilon == 1
    assert found["smoking"].guarantee.neighbours.within == ("age",)
    assert found["exercise"].guarantee.neighbours.within == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("p99,Never,1,55+", "outside the declared categories"),
        ("p99,never,,55+", "nulls"),
        ("p99,never,1,", "age"),
        (",never,1,55+", "null"),
    ],
)
def test_what_has_no_place_is_refused_before_the_charge(tmp_path: Path, line: str, says: str) -> None:
    study, ledger = Study.load(written(tmp_path, STUDY, line)), ledger_of(tmp_path)
    with pytest.raises(SourceError, match=rf"^tables\.\w+: .*{says}"):
        study.release(ledger, tmp_path / "published")
    assert not ledger.history("survey")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "study.toml", "survey.csv"]


def test_normalizing_is_in_the_record_and_corrections_are_not(tmp_path: Path) -> None:
    head = 'epsilon = 1.0\nnormalize = ["spaces", "case", "accents"]\ncorrections = "corrections.toml"'
    path = written(tmp_path, STUDY.replace("epsilon = 1.0", head), 'p98," NÉVER",1,55+', "p99,nevvver,1,18 to 34")
    study = Study.load(path)
    with pytest.raises(SourceError):
        study.release(None, tmp_path / "published")
    (tmp_path / "corrections.toml").write_text('[smoking]\nnevvver = "never"\n[age]\n"18 to 34" = "18-34"\n')
    found = study.release(None, tmp_path / "published")
    rule = found["smoking"].about.counting  # type: ignore[union-attr]
    assert isinstance(rule, dc.CountingRule)
    assert (rule.spelling, rule.corrections, rule.mapping) == (("trim", "ignore case", "ignore accents"), True, ())
    published = "".join(path.read_text() for path in (tmp_path / "published").iterdir())
    assert "nevvver" not in published
    assert "18 to 34" not in published
    assert "corrections.toml" not in published


def test_allowed_corrections_are_said_whether_used_or_not(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, STUDY.replace("epsilon = 1.0", 'epsilon = 1.0\ncorrections = "c.toml"')))
    unused = study.release(None, tmp_path / "unused")
    (tmp_path / "c.toml").write_text('[smoking]\nnevvver = "never"\n')
    used = study.release(None, tmp_path / "used")
    for found in (unused, used):
        assert {record.about.counting.corrections for record in found.values()} == {True}  # type: ignore[union-attr]
    assert (tmp_path / "used" / "study.json").read_bytes() == (tmp_path / "unused" / "study.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[other]\na = "b"\n', "by columns"),
        ('[smoking]\na = "b"\n', "declared value"),
        ("[", "cannot be read"),
        ('[hours]\na = "b"\n', "by columns"),
        ('[smoking]\nNev = "never"\nnev = "former"\n', "alike by the rules of spelling"),
    ],
)
def test_corrections_that_fit_nothing_are_refused(tmp_path: Path, text: str, says: str) -> None:
    head = 'epsilon = 1.0\nnormalize = ["case"]\ncorrections = "c.toml"'
    study = Study.load(written(tmp_path, STUDY.replace("epsilon = 1.0", head)))
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InvalidInputError, match=says):
        study.release(None, tmp_path / "published")


def test_no_repr_and_no_error_shows_what_is_private(tmp_path: Path) -> None:
    """Neither the corrections nor, in the frames that an error of a dry run carries, what was counted."""
    head = 'epsilon = 1.0\ncorrections = "c.toml"'
    study = Study.load(written(tmp_path, STUDY.replace("epsilon = 1.0", head), "p99,nevvvver,1,55+"))
    (tmp_path / "c.toml").write_text('[smoking]\nnevvver = "never"\n')
    assert "nevvver" not in repr(study.questions(study.read_corrections()))
    with pytest.raises(SourceError) as caught:
        ready_tables(study)
    errors: list[BaseException | None] = [caught.value, caught.value.__context__, caught.value.__cause__]
    frames = [frame for error in errors if error is not None for frame, _ in walk_tb(error.__traceback__)]
    assert "_settled" in {frame.f_code.co_name for frame in frames}
    assert not {name for frame in frames for name in frame.f_locals} & {"tallies", "tally", "counts", "found"}


def test_corrections_that_the_study_does_not_allow_are_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("")
    with pytest.raises(InvalidInputError, match="does not allow corrections"):
        Study.load(written(tmp_path)).check(corrections=tmp_path / "c.toml")


def test_check_says_what_is_in_the_way_and_its_repr_nothing(tmp_path: Path) -> None:
    more = ["p1,Neverr,1,55+", "p1,Neverr,1,55+", "p99,never,,55+", "p97,never,1,fifty", ",never,1,55+", "p96,never,-3,55+"]
    found = Study.load(written(tmp_path, STUDY, *more)).check()
    assert found.would_be_refused
    assert found.ids_are_missing
    assert found.persons_have_several_rows
    assert [table.undeclared for table in found.tables] == [{"smoking": ["Neverr"], "age": ["fifty"]}, {"hours": ["-3"]}]
    text = str(found)
    assert text.startswith("private: do not publish")
    assert "'Neverr'" in text
    assert "Neverr" not in repr(found)
    assert not any(str(number) in text.replace("-3", "").replace("'p", "") for number in (60, 61, 66))


def test_check_tells_numbers_and_what_would_be_released(tmp_path: Path) -> None:
    study = STUDY.replace("bands = [0, 1, 3, 7]", 'categories = ["few", "many"]')
    found = Study.load(written(tmp_path, study)).check()
    assert [table.holds_numbers for table in found.tables] == [False, True]
    assert [table.refusal is None for table in found.tables] == [True, False]


def test_missing_numbers_of_a_study_may_have_a_category(tmp_path: Path) -> None:
    text = STUDY.replace("bands = [0, 1, 3, 7]", 'bands = [0, 1, 3, 7]\nmissing = "no answer"\nby.hours2 = {bands = [0, 1], missing = "?"}')
    path = written(tmp_path, text.replace("\nby.hours2", "\n#"), "p99,never,,55+")
    found = Study.load(path).release(None, tmp_path / "published")
    assert found["exercise"].prior.categories == ("0 to under 1", "1 to under 3", "3 to under 7", "7 and more", "no answer")
    path.write_text(text)
    assert Study.load(path).tables[1].by == {"hours2": ("0 to under 1", "1 and more", "?")}


def test_a_plan_is_what_the_planner_says_of_each_table(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path))
    found = study.plan(n=3000)
    smoking = dc.plan(dc.Dirichlet.uniform(3), n=1000, epsilon=Fraction(1, 3), public="nothing")
    exercise = dc.plan(dc.Dirichlet.uniform(4), n=3000, epsilon=Fraction(1, 3))
    assert [table.width for table in found.declared] == [float(smoking.width), float(exercise.width)]  # type: ignore[union-attr]
    assert sum(table.epsilon for table in found.even) == study.epsilon
    prices = [table.price for table in found.even]
    assert max(prices) - min(prices) <= max(0.02, 0.5 * abs(found.declared[0].price - found.declared[1].price))


def test_a_plan_knows_the_public_sizes_of_groups(tmp_path: Path) -> None:
    found = Study.load(written(tmp_path, STUDY.replace('"total"', '"sizes"'))).plan(n=3000)
    smoking = dc.plan(dc.Dirichlet.uniform(3), n=1000, epsilon=Fraction(2, 3))
    exercise = dc.plan(dc.Dirichlet.uniform(4), n=3000, epsilon=Fraction(1, 3))
    assert [table.width for table in found.declared] == [float(smoking.width), float(exercise.width)]  # type: ignore[union-attr]


def test_months_and_years_are_declared_as_they_are_typed(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("ill,visited\nyes,2026-01-05\nno,2026-02-07\nno,\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nsource = "visits.csv"\nepsilon = 1\n[tables.ill]\ncolumn = "ill"\ncategories = ["yes", "no"]\n'
        'by.visited = "months:2026-01..2026-02 or no date"\n[tables.when]\ncolumn = "visited"\ncategories = "years:2025..2026 or no date"\n'
    )
    study = Study.load(tmp_path / "study.toml")
    found = [tally.settled().counts.tolist() for tally in tallied(study.path, study.questions())]
    assert found == [[[1, 0], [0, 1], [0, 1]], [0, 2, 1]]
    wrong = (tmp_path / "study.toml").read_text().replace("months:2026-01..2026-02 or no date", "monthly")
    (tmp_path / "wrong.toml").write_text(wrong)
    with pytest.raises(InvalidInputError, match=r"tables\.ill\.by\.visited"):
        Study.load(tmp_path / "wrong.toml")
