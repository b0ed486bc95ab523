"""`discreet observe`: counts that others published become the record that `dc.observed` makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from tests.cli.support import CATEGORIES, assert_refused, invoke

PRIOR = dc.Dirichlet.uniform(categories=CATEGORIES)
BY = {"region": ["north", "south"]}
WIDE = "region,never,former,current,size\nnorth,120,33,7,160\nsouth,98,41,12,150\n"
LONG = """region;smoking;count;size
north;never;120;160
north;former;*;160
north;current;10;160
south;never;95;150
south;former;40;150
south;current;;150
"""
STEPS = "rounded:5,suppressed:10"
STEPPED = ("--noise", "laplace:2", "--steps", STEPS, "--by", "region", "-c", "smoking", "--count", "count", "--na-values", "*")


def kept(tmp_path: Path, text: str, *options: str, name: str = "counts.csv") -> dc.Release[Any]:
    """The record of a file with this text."""
    (tmp_path / name).write_text(text)
    output = tmp_path / "theirs.json"
    done = invoke("observe", tmp_path / name, *options, "--output", output)
    assert done.exit_code == 0, done.output
    return dc.read(output)


def test_a_column_for_each_category(tmp_path: Path) -> None:
    found = kept(tmp_path, WIDE, "--noise", "gaussian:4", "--by", "region", "--sizes", "size", "--source", "Office A", "--title", "Smoking")
    made = dc.observed(
        [[120, 33, 7], [98, 41, 12]],
        noise="gaussian:4",
        prior=PRIOR,
        by=BY,
        n=[160, 150],
        source="Office A",
        about=dc.About(title="Smoking"),
    )
    assert found == made


def test_a_row_for_each_count(tmp_path: Path) -> None:
    made = dc.observed(
        [[120, None, 10], [95, 40, None]], noise="laplace:2", steps=STEPS, prior=PRIOR, by=BY, n=310, size_prior="flat", source=""
    )
    assert kept(tmp_path, LONG, *STEPPED, "--n", "310") == made


def test_other_files_and_the_order_that_is_asked_for(tmp_path: Path) -> None:
    rows = [{"never": 120, "former": 33, "current": None, "all": 160}]
    options = ("--noise", "zcdp:1/32", "--steps", "suppressed:10", "--categories", "current,never,former", "--size-prior", "poisson:160")
    found = kept(tmp_path, "\n".join(map(json.dumps, rows)), *options, "--prior", "jeffreys", name="counts.jsonl")
    prior = dc.Dirichlet.jeffreys(categories=["current", "never", "former"])
    assert found == dc.observed(
        [None, 120, 33], noise="zcdp:1/32", steps="suppressed:10", prior=prior, size_prior="poisson:160", about=None
    )


def test_the_same_in_python_makes_the_same_record(tmp_path: Path) -> None:
    found = kept(tmp_path, LONG, *STEPPED, "--sizes", "size", "--date", "2024")
    printed = invoke("observe", tmp_path / "counts.csv", *STEPPED, "--sizes", "size", "--date", "2024", "--python").output
    known: dict[str, Any] = {}
    exec(printed, known)  # noqa: S102
    assert known["record"] == found
    assert known["text"] == found.to_json()


def test_the_record_goes_on_to_other_commands(tmp_path: Path) -> None:
    record = invoke(
        "observe", _written(tmp_path, WIDE), "--noise", "gaussian:4", "--by", "region", "--categories", ",".join(CATEGORIES)
    ).output
    shown = json.loads(invoke("show", "-", "--json", given=record).output)
    assert shown["promised_by"] == "whoever published the counts"
    assert shown["guarantee"]["epsilon"] is None
    theirs = tmp_path / "theirs.json"
    theirs.write_text(record)
    post: Any = dc.read(theirs).noise_aware()
    assert [cell["mean"] for cell in shown["cells"]] == pytest.approx(post.mean().ravel())
    contrast = json.loads(invoke("contrast", theirs, "north", "south", "current", "--json").output)
    assert contrast["probability"] == pytest.approx(post.contrast("north", "south", "current").probability)
    page = tmp_path / "theirs.html"
    assert invoke("report", theirs, "--output", page).exit_code == 0
    assert dc.read(page) == dc.read(theirs)


def test_a_count_that_was_not_published_is_shown_as_none(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text(LONG)
    shown = invoke("observe", tmp_path / "counts.csv", *STEPPED, "--sizes", "size", "--output", tmp_path / "theirs.json").output
    cells = [[part.strip() for part in line.split("│")] for line in shown.splitlines()]
    assert {(row[1], row[2]): row[3] for row in cells if len(row) > 5} == {
        ("north", "never"): "120",
        ("north", "former"): "–",
        ("north", "current"): "10",
        ("south", "never"): "95",
        ("south", "former"): "40",
        ("south", "current"): "–",
    }
    page = tmp_path / "theirs.html"
    assert invoke("report", tmp_path / "theirs.json", "--output", page).exit_code == 0
    assert page.read_text().count("<td>–</td>") == 2


def test_a_table_goes_to_parquet(tmp_path: Path) -> None:
    output, options = tmp_path / "theirs.parquet", ("--noise", "gaussian:4", "--by", "region", "--categories", ",".join(CATEGORIES))
    done = invoke("observe", _written(tmp_path, WIDE), *options, "--output", output)
    assert "promised by whoever published the counts" in " ".join(done.output.split())
    assert dc.read(output) == dc.observed([[120, 33, 7], [98, 41, 12]], noise="gaussian:4", prior=PRIOR, by=BY)


def test_columns_of_groups_are_named_together_or_one_by_one(tmp_path: Path) -> None:
    rows = "region,sex,never,former,current\nnorth,f,60,16,3\nnorth,m,60,17,4\nsouth,f,50,20,6\nsouth,m,48,21,6\n"
    together = kept(tmp_path, rows, "--noise", "gaussian:4", "--by", "region,sex")
    (tmp_path / "theirs.json").unlink()
    each = kept(tmp_path, rows, "--noise", "gaussian:4", "--by", "region", "--by", "sex")
    assert together == each
    assert each.by.columns == ("region", "sex")


def test_the_rows_of_a_matrix_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("1\n0.6,0,0,0.4\n0.3,0,0,0.7\n0,0,0,0.5,0.5\n")
    found = kept(tmp_path, "never,former,current\n120,33,0\n", "--noise", f"matrix:@{tmp_path / 'keys.txt'}")
    rows = [[1], ["0.6", 0, 0, "0.4"], ["0.3", 0, 0, "0.7"], [0, 0, 0, "0.5", "0.5"]]
    assert found == dc.observed([120, 33, 0], noise=dc.noise.Matrix(rows), prior=PRIOR)
    assert "a matrix with rows for counts up to 3" in " ".join(invoke("show", tmp_path / "theirs.json").output.split())


def _written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "counts.csv").write_text(text)
    return tmp_path / "counts.csv"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (WIDE, ["--noise", "gauss:4"], "--noise must be geometric:EPSILON"),
        (WIDE, ["--noise", "gaussian:4", "--by", "district"], "no column 'district'"),
        (WIDE, ["--noise", "gaussian:4", "--categories", "never,former,current"], "several counts of 'never': name all columns"),
        (WIDE, ["--noise", "gaussian:4", "--steps", "halved:2"], "a step must be"),
        (WIDE, ["--noise", "gaussian:4", "--steps", "rounded:5", "--by", "region", "--sizes", "size"], "look at the steps"),
        (WIDE, ["--noise", "gaussian:4", "--by", "region", "--sizes", "size", "--n", "310"], "leave one of them out"),
        (WIDE, ["--noise", "gaussian:4", "--by", "region", "--sizes", "never", "--column", "size"], "--column and --count belong together"),
        (WIDE, ["--noise", "gaussian:4", "--sizes", "size"], "name their columns with --by"),
        (WIDE, ["--noise", "gaussian:4", "--by", "region", "--prior", "1,2"], "--prior must be uniform, jeffreys or 4 numbers"),
        (LONG, [*STEPPED, "--sizes", "count"], "one whole number for each group"),
        (LONG.replace("south;current;;150\n", ""), [*STEPPED], "no count of 'south', 'current': give every combination"),
        (LONG.replace("south;never", ";never"), [*STEPPED], "no label in the column 'region'"),
        (LONG.replace("*", "few"), [*STEPPED], "must be a number"),
        ("never,former,current\n1,2,3\n", ["--noise", "gaussian:4", "--output", "a.parquet"], "is for tables"),
    ],
)
def test_what_is_no_table_of_published_counts_is_refused(text: str, options: list[str], said: str, tmp_path: Path) -> None:
    assert_refused(invoke("observe", _written(tmp_path, text), *options), said)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    counts = _written(tmp_path, WIDE)
    assert_refused(invoke("observe", counts, "--noise", "gaussian:4", "--output", tmp_path / "none" / "a.json"), "a folder that exists")
    (tmp_path / "a.json").write_text("mine")
    assert_refused(invoke("observe", counts, "--noise", "gaussian:4", "--by", "region", "--output", tmp_path / "a.json"), "exists")
    assert (tmp_path / "a.json").read_text() == "mine"
