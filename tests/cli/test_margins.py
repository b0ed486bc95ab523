"""Groups of a table put together in the shell: `show --over` and `contrast --over`, and the plan of a table."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.cli.support import assert_refused, invoke

BY = {"sex": ["m", "f"], "dept": ["A", "B", "C"]}
COUNTS = np.array([[512, 313], [120, 205], [22, 351], [89, 19], [202, 391], [24, 317]])
"""Admitted and rejected: men in three departments, then women."""
SURE = {"sizes": 60, "total": 60, "nothing": 40}
"""An ε at which no noise is drawn, but for a chance below 1e-11."""


@pytest.fixture(params=["sizes", "total", "nothing"])
def public(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def record(tmp_path: Path, public: str) -> Path:
    prior = dc.Dirichlet.uniform(categories=["yes", "no"])
    n: Any = {"sizes": COUNTS.sum(axis=1).tolist(), "total": int(COUNTS.sum()), "nothing": None}[public]
    (path := tmp_path / "table.json").write_text(dc.LatticeGeometric(prior, n, SURE[public], by=BY).release(COUNTS).to_json())
    return path


def share(weights: Any) -> list[float]:
    """The expected share of yes of both sexes, with the weights of the groups: by hand, from counts without noise."""
    means = (COUNTS[:, 0] + 1) / (COUNTS.sum(axis=1) + 2)
    by_sex = np.asarray(weights, dtype=float).reshape(2, 3)
    return [float((w / w.sum()) @ m) for w, m in zip(by_sex, means.reshape(2, 3), strict=True)]


SIZES = COUNTS.sum(axis=1)
ALIKE = np.tile(SIZES.reshape(2, 3).sum(axis=0), 2)


@pytest.mark.parametrize(
    ("weights", "given", "known"),
    [
        ("own", SIZES, ["sizes", "total"]),
        ("alike", ALIKE, ["sizes"]),
        ("A=1,B=2,C=3", np.tile([1, 2, 3], 2), ["sizes", "total", "nothing"]),
    ],
)
def test_show_puts_groups_together(record: Path, public: str, weights: str, given: Any, known: list[str]) -> None:
    result = invoke("show", record, "--over", "dept", "--weights", weights, "--json")
    if public not in known:
        assert_refused(result, "--weights A=60,B=40")
        return
    cells = json.loads(result.stdout)["cells"]
    assert [(cell["group"], cell["category"]) for cell in cells[::2]] == [({"sex": "m"}, "yes"), ({"sex": "f"}, "yes")]
    assert [cell["reported_count"] for cell in cells] == [654, 869, 315, 727]
    # Where the shares of the groups have a posterior, means are from 4,000 draws or more: 1 point is more than ten standard errors.
    within = 0.01 if (weights, public) == ("own", "total") else 1e-6
    for cell, mean in zip(cells[::2], share(given), strict=True):
        assert cell["mean"] == pytest.approx(mean, abs=within)
        assert cell["low"] < mean < cell["high"]
    if weights != "own":  # the control: other weights are another answer
        assert abs(share(given)[0] - share(SIZES)[0]) > 0.02
    said = " ".join(invoke("show", record, "--over", "dept", "--weights", weights).stdout.split())
    assert "over dept: " in said
    assert ("standardised" in said) == (weights != "own")


def test_contrast_compares_what_is_left(record: Path, public: str) -> None:
    words = ["contrast", record, "f", "m", "yes", "--over", "dept", "--weights", "A=1,B=2,C=3"]
    found = json.loads(invoke(*words, "--json").stdout)
    men, women = share(np.tile([1, 2, 3], 2))
    assert found["difference"]["mean"] == pytest.approx(women - men, abs=0.01)
    assert (found["over"], found["weights"]) == (["dept"], "A=1,B=2,C=3")
    said = " ".join(invoke(*words).stdout.split())
    assert "f against m" in said
    assert "(from draws)" in said
    assert "0.999999" not in said  # 10,000 draws that agree are not as sure
    within = json.loads(invoke(*words[:5], "--over", "dept", "--weights", "mantel-haenszel", "--json").stdout)
    odds = dc.Release.from_json(record.read_text()).noise_aware().mantel_haenszel("f", "m", "yes", over="dept").odds_ratio
    assert within["odds_ratio"]["median"] == odds.median() > 1.0
    assert_refused(invoke("show", record, "--over", "dept", "--weights", "mantel-haenszel"), "discreet contrast takes it")
    if public == "sizes":
        crude, adjusted = (
            json.loads(invoke(*words[:5], "--over", "dept", "--weights", how, "--json").stdout)["difference"]["median"]
            for how in ("own", "alike")
        )
        assert crude < 0 < adjusted  # Simpson's paradox
        assert_refused(invoke("contrast", record, "f", "m", "yes", "--over", "dept,sex"), "--over leaves no columns")


def test_all_groups_together(record: Path, public: str) -> None:
    result = invoke("show", record, "--over", "dept,sex", "--json")
    if public == "nothing":
        assert_refused(result, "sizes of groups are private")
        return
    assert json.loads(result.stdout)["cells"][0]["mean"] == pytest.approx(COUNTS[:, 0].sum() / COUNTS.sum(), abs=0.01)


@pytest.mark.parametrize("public", ["sizes"], indirect=True)
@pytest.mark.parametrize("over", ["dept", "dept,sex"])
def test_groups_put_together_are_written_as_they_are_shown(record: Path, over: str, tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    result = invoke("show", record, "--over", over, "--json", "--output", place)
    assert result.exit_code == 0, result.output
    cells = json.loads(result.stdout)["cells"]
    with place.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [list(row)[:-4] for row in rows] == [["sex", "category"] if over == "dept" else ["category"]] * len(cells)
    for name in ("mean", "low", "high"):
        assert [float(row[name]) for row in rows] == [cell[name] for cell in cells]
    crossed = tmp_path / "crossed.csv"
    assert invoke("show", record, "--over", over, "--output", crossed, "--layout", "cross", "--only", "yes").exit_code == 0
    with crossed.open(encoding="utf-8-sig") as file:
        assert [float(row["yes"]) for row in csv.DictReader(file)] == [cell["mean"] for cell in cells if cell["category"] == "yes"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--over", "region"], "--over must name columns of the groups, which are sex and dept"),
        (["--over", "dept,dept"], "each column once"),
        (["--weights", "alike"], "--weights says how much groups count that --over puts together"),
        (["--over", "dept", "--weights", "A=1"], "--weights must be own, alike or a number of at least 0 for each of A, B and C"),
        (["--over", "dept", "--weights", "A=1,B=-2,C=3"], "--weights must be own, alike"),
        (["--over", "dept", "--weights", "A=0,B=0,C=0"], "--weights must be own, alike"),
        (["--over", "dept,sex", "--weights", "A=1,B=2,C=3"], "for one column of --over"),
        (["--over", "dept", "--about", "records"], "--over is for shares of the population"),
        (["--over", "dept", "--reference", "m,A", "--category", "yes"], "--over puts them together"),
    ],
)
@pytest.mark.parametrize("public", ["sizes"], indirect=True)
def test_what_cannot_be_put_together_is_said_in_one_line(record: Path, words: list[str], says: str) -> None:
    assert_refused(invoke("show", record, *words), says)


def test_two_releases_and_one_variable_are_not_put_together(tmp_path: Path) -> None:
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["yes", "no"]), 100, 1)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(made.release([60, 40]).to_json())
    assert_refused(invoke("show", tmp_path / "a.json", "--over", "sex"), "this record has none")
    two = ["contrast", tmp_path / "a.json", tmp_path / "b.json", "--category", "yes", "--over", "sex"]
    assert_refused(invoke(*two), "for two releases leave it out")


# --- the plan of a table ----------------------------------------------------------------------------------------------


def test_the_plan_of_a_table_is_that_of_its_groups_under_each_promise() -> None:
    words = ["plan", "--by", "sex=f,m", "--n", "300", "--epsilon", "0.5", "--expect-groups", "1/3,2/3"]
    found = json.loads(invoke(*words, "--json").stdout)
    assert [(row["group"], row["n"]) for row in found["rows"]] == [("f", 100), ("m", 200)]
    prior = dc.Dirichlet.uniform(2)
    for row in found["rows"]:
        alone: dict[str, Any] = {
            "sizes": dc.plan(prior, n=row["n"], epsilon="0.5"),
            "total": dc.plan(prior, n=row["n"], epsilon="0.25", public="nothing"),
            "nothing": dc.plan(prior, n=row["n"], epsilon="0.5", public="nothing"),
        }
        assert row["widths"] == pytest.approx({name: float(one.width) for name, one in alone.items()})
        assert row["width_without_privacy"] == pytest.approx(float(alone["sizes"].plain))
        assert row["widths"]["total"] > 1.05 * row["widths"]["nothing"]  # half the ε is seen
    printed = invoke(*words, columns=80).stdout
    assert max(len(line) for line in printed.splitlines() if line.startswith(("┏", "┃", "│"))) <= 80  # nobody wraps the words below
    assert [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")] == ["f", "m"]
    assert "each of 2" in invoke(*words[:-2]).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--by", "sex=f,m", "--n", "3"], "give --n and --epsilon of the whole table"),
        (["--expect-groups", "1,0", "--n", "3", "--epsilon", "1"], "declare them with --by"),
        (["--by", "sex=f,m", "--n", "300", "--epsilon", "1", "--expect-groups", "10%,20%"], "--expect-groups must have a share"),
        (["--by", "sex=f,m", "--n", "300", "--epsilon", "1", "--public", "nothing"], "leave out --public"),
        (["--by", "sex=f,m", "--n", "300", "--epsilon", "1", "--public", "sizes"], "leave out --public"),
        (["--by", "sex=f,m", "--n", "300", "--epsilon", "1", "--width", "4%"], "leave out --width"),
    ],
)
def test_what_is_not_planned_of_a_table_is_refused(words: list[str], says: str) -> None:
    assert_refused(invoke("plan", *words), says)


def test_groups_of_too_many_sizes_are_refused() -> None:
    by = {"town": [str(i) for i in range(60)]}
    shares = [f"{2 * (i + 1)}/{60 * 61}" for i in range(60)]
    with pytest.raises(dc.TooLargeError, match="60 different sizes"):
        dc.table_widths(dc.Dirichlet.uniform(2), 366_000, 1, by, shares)


def test_weights_beyond_floats_are_shares(record: Path) -> None:
    """Oracle: the same weights, written smaller."""
    large, small = (
        invoke("show", record, "--over", "dept", "--weights", weights, "--json").stdout
        for weights in ("A=1e400,B=1e400,C=2e400", "A=1,B=1,C=2")
    )
    assert json.loads(large)["cells"] == json.loads(small)["cells"]
