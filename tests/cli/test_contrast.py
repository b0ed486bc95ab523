"""`discreet contrast`, and `discreet show --reference`: as whoever was given a record meets them."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.inference.contrasts import independent_contrast
from discreet.inference.quantities import Quantity
from discreet.present.contrasts import in_points
from discreet.sampling import SeededBits
from discreet.text import chance, evenly, in_percent
from tests.cli import support
from tests.cli.support import CATEGORIES, PRIOR
from tests.support import lowered

invoke = partial(support.invoke, columns=80)

BY = {"region": ["north", "south"], "sex": ["f", "m"]}
COUNTS = np.array([[120, 40, 60], [90, 70, 80], [60, 10, 0], [40, 30, 30]])


def checked(rows: list[list[str]], quantities: list[Quantity], mass: float) -> None:
    """Medians and intervals as printed are those of the quantities: ratios in three digits, and differences in points.

    Differences have all as many decimals, and at least three digits of a width.
    """
    texts = [[row[0].strip(), *row[1].strip().split(" to ")] for row in rows]
    if quantities[0].logarithmic:
        exact = [(quantity.median(), *quantity.interval(mass)) for quantity in quantities]
        assert [[float(text) for text in row] for row in texts] == [pytest.approx(row, rel=0.0051) for row in exact]
        return
    decimals = {len(text.partition(".")[2]) for row in texts for text in row}
    assert len(decimals) == 1, texts
    exact = [in_points((quantity.median(), *quantity.interval(mass))) for quantity in quantities]
    unit = 10.0 ** -decimals.pop()
    assert [[float(text) for text in row] for row in texts] == [pytest.approx(row, abs=0.51 * unit) for row in exact]
    assert 100 * unit <= min(high - low for _, low, high in exact) < 1000 * unit


def test_numbers_of_a_row_have_the_same_digits() -> None:
    assert evenly([(0.1, -0.00004, 0.25)]) == [("0.100", "0.000 to 0.250")]
    assert evenly([(1.5, 1.0, 2.0), (30.0, 20.123, 40.0)]) == [("1.50", "1.00 to 2.00"), ("30.00", "20.12 to 40.00")]
    assert evenly([(5.0, 0.5, 5e7)]) == [("5.000e+00", "5.000e-01 to 5.000e+07")]
    assert evenly([(2e-9, 1e-9, 4e-9)]) == [("2.000e-09", "1.000e-09 to 4.000e-09")]
    assert evenly([(1.0, 1.0, 1.0)]) == [("1.0000", "1.0000 to 1.0000")]
    assert evenly([(1.0, 0.0, np.inf)]) == [("1.000e+00", "0.000e+00 to inf")]
    assert evenly([]) == []


def test_ratios_have_three_digits_each() -> None:
    assert evenly([(1.0, 0.0123, 25.7)], ratios=True) == [("1.00", "0.0123 to 25.7")]
    assert evenly([(0.99951, 9.996, 123456.0)], ratios=True) == [("1.00", "10.0 to 123000")]
    assert evenly([(1.0, 0.0, np.inf), (2.5e-7, 1e-300, 4e9)], ratios=True) == [
        ("1.00", "0 to inf"),
        ("2.50e-07", "1.00e-300 to 4.00e+09"),
    ]


@pytest.mark.parametrize(
    ("probability", "says"),
    [(0.73124, "0.7312"), (0.999967, "0.999967"), (0.00042, "0.00042"), (0.99998, "0.999980"), (2e-6, "0.0000020"), (0.5, "0.5000")],
)
def test_a_probability_keeps_two_digits_of_what_is_left(probability: float, says: str) -> None:
    assert chance(probability) == says


def test_a_probability_is_never_shown_as_0_or_1() -> None:
    assert [chance(value) for value in (0.0, 1e-9, 1.0 - 1e-9, 1.0)] == ["below 0.000001"] * 2 + ["above 0.999999"] * 2


def test_shares_have_two_digits_of_the_narrowest_interval() -> None:
    assert in_percent([(0.5, 0.4, 0.6), (0.03, 0.028, 0.0329)]) == [("50.00 %", "40.00 to 60.00 %"), ("3.00 %", "2.80 to 3.29 %")]
    assert in_percent([(1.0, 1.0, 1.0)]) == [("100.0 %", "100.0 to 100.0 %")]
    assert in_percent([(1e-9, 0.0, 3e-9)]) == [("0.000000 %", "0.000000 to 0.000000 %")]
    assert in_percent([]) == []


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (path := tmp_path / "table.json").write_text(
        dc.LatticeGeometric(PRIOR, COUNTS.sum(axis=1), 1, by=BY, impossible=[("south", "f", "current")]).release(COUNTS).to_json()
    )
    return path


@pytest.fixture
def single(tmp_path: Path) -> Path:
    (path := tmp_path / "single.json").write_text(dc.LatticeGeometric(PRIOR, 600, 1).release([300, 180, 120]).to_json())
    return path


def test_two_groups_of_a_table(table: Path) -> None:
    found = dc.Release.from_json(table.read_text()).noise_aware().contrast(("north", "f"), ("north", "m"), "never")
    shown = invoke("contrast", table, "north,f", "north,m", "never", "--mass", "0.9").stdout
    assert "never: north,f against north,m" in shown
    assert "90 % interval" in shown
    for quantity in (found.difference, found.ratio, found.odds_ratio):
        line = next(
            line.split("│") for line in shown.splitlines() if line.startswith((f"│ {quantity.name} ", f"│ {quantity.name}, points "))
        )
        checked([line[2:4]], [quantity], 0.9)
    assert "Promise   ε = 1 differential privacy by proof" in shown
    fields = json.loads(invoke("contrast", table, "north,f", "north,m", "never", "--json").stdout)
    assert (fields["first"], fields["second"], fields["category"], fields["mass"]) == (["north", "f"], ["north", "m"], "never", 0.95)
    assert fields["probability"] == pytest.approx(found.probability)
    assert (fields["odds_ratio"]["low"], fields["odds_ratio"]["high"]) == pytest.approx(found.odds_ratio.interval(0.95))
    assert fields["odds_ratio"]["mean"] is None  # infinite


def test_two_categories_of_one_variable(single: Path) -> None:
    found = dc.Release.from_json(single.read_text()).noise_aware().contrast("never", "current")
    shown = invoke("contrast", single, "never", "current")
    assert "never against current" in shown.stdout
    line = next(line.split("│") for line in shown.stdout.splitlines() if line.startswith("│ ratio "))
    checked([line[2:4]], [found.ratio], 0.95)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["north,f", "north,f", "never"], "a contrast compares two different groups, got ('north', 'f') twice"),
        (["north,f", "north,m"], "this record has groups by region,sex: name two of them and a category"),
        (["north,f", "south", "never"], "a group has a label for each of region, sex; got 'south'"),
        (["north,f", "south,f", "current"], "'current' is declared impossible in group ('south', 'f')"),
        (["north,f", "east,f", "never"], "region must be one of 'north', 'south'; got 'east'"),
        (["north,f", "north,m", "never", "--mass", "2"], "--mass must be a number between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(table: Path, words: list[str], says: str) -> None:
    result = invoke("contrast", table, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_record_without_groups_takes_two_categories(single: Path) -> None:
    assert "this record has no groups: name two of its categories" in invoke("contrast", single, "never", "former", "current").stderr
    assert "got 'never' twice" in invoke("contrast", single, "never", "never").stderr
    assert "--reference is for a record with groups" in invoke("show", single, "--reference", "a", "--category", "never").stderr


def test_show_compares_every_group_with_one(table: Path, tmp_path: Path) -> None:
    posterior = dc.Release.from_json(table.read_text()).noise_aware()
    asked = ["--reference", "north,m", "--category", "current"]
    picture = tmp_path / "forest.svg"
    result = invoke("show", table, *asked, "--plot", picture)
    assert result.exit_code == 0, result.output
    drawn = next(number for number, line in enumerate(result.stdout.splitlines()) if line.startswith("──"))
    assert max(map(len, result.stdout.splitlines())) <= 80
    words = [line.split() for line in result.stdout.splitlines()[drawn + 1 : drawn + 3]]
    assert [line[:2] for line in words] == [["north", "f"], ["south", "m"]]
    lines = [["", *line[:3], " ".join(line[3:6]), line[6], " ".join(line[7:10])] for line in words]
    found = [posterior.contrast(group, ("north", "m"), "current") for group in (("north", "f"), ("south", "m"))]
    checked([line[3:5] for line in lines], [contrast.difference for contrast in found], 0.95)
    checked([line[5:7] for line in lines], [contrast.odds_ratio for contrast in found], 0.95)
    assert "…" not in result.stdout
    assert "Promise" in result.stdout
    assert picture.read_bytes().startswith(b"<?xml")
    fields = json.loads(invoke("show", table, *asked, "--json").stdout)
    assert (fields["reference"], fields["category"]) == (["north", "m"], "current")
    assert [row["group"] for row in fields["contrasts"]] == [["north", "f"], ["south", "m"]]
    assert {*fields["contrasts"][0]} == {"group", "difference", "odds_ratio", "probability"}


def test_groups_by_three_columns_are_compared_within_80_columns(tmp_path: Path) -> None:
    by = {"Class": ["1st", "Crew"], "Sex": ["Male", "Female"], "Age": ["Child", "Adult"]}
    counts = [[0, 5], [118, 57], [0, 1], [4, 140], [12, 11], [670, 192], [3, 8], [3, 20]]
    made = dc.LatticeGeometric(dc.Dirichlet([1, 1], categories=["No", "Yes"]), n=sum(map(sum, counts)), epsilon="0.5", by=by)
    path = tmp_path / "titanic.json"
    path.write_text(made.release(counts, source=SeededBits(7), steady=False).to_json())
    result = invoke("show", path, "--reference", "Crew,Male,Adult", "--category", "Yes")
    assert "> 0.999999" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_show_says_how_many_groups_it_does_not_compare(table: Path) -> None:
    with lowered(GROUPS_COMPARED=1):
        result = invoke("show", table, "--reference", "north,f", "--category", "never", "--json")
    assert "2 more groups are not compared" in result.stderr
    assert len(json.loads(result.stdout)["contrasts"]) == 1


def test_a_reference_needs_a_category(table: Path) -> None:
    for option in (["--reference", "north,f"], ["--category", "never"]):
        result = invoke("show", table, *option)
        assert result.exit_code == 2
        assert "--reference and --category belong together" in result.stderr


def test_one_category_in_two_releases_about_different_records(single: Path, tmp_path: Path) -> None:
    other = tmp_path / "2025.json"
    other.write_text(dc.LatticeGeometric(dc.Dirichlet([1, 2, 3], categories=CATEGORIES), epsilon=2).release([500, 100, 200]).to_json())
    posteriors = [dc.Release.from_json(path.read_text()).noise_aware() for path in (other, single)]
    found = independent_contrast(*(posterior.marginal("current") for posterior in posteriors), priors=((3, 3), (1, 2)))
    fields = json.loads(invoke("contrast", other, single, "-c", "current", "--json").stdout)
    assert (fields["first"], fields["second"], fields["category"], fields["group"]) == ("2025.json", "single.json", "current", None)
    for name in ("difference", "ratio", "odds_ratio"):
        assert (fields[name]["low"], fields[name]["high"]) == pytest.approx(getattr(found, name).interval(0.95))
    assert fields["ratio"]["mean"] is None  # infinite, by the prior parameter 1 of the second; the first has 3
    back = json.loads(invoke("contrast", single, other, "-c", "current", "--json").stdout)
    assert back["ratio"]["mean"] == pytest.approx(1.0 / fields["ratio"]["median"], rel=0.1)
    drawn = [posterior.sample(40_000, rng=seed)[:, 2] for seed, posterior in enumerate(posteriors)]  # another way to the same numbers
    assert fields["difference"]["mean"] == pytest.approx(np.mean(drawn[0] - drawn[1]), abs=0.005)
    assert [fields["difference"]["low"], fields["difference"]["high"]] == pytest.approx(
        np.quantile(drawn[0] - drawn[1], [0.025, 0.975]), abs=0.01
    )
    words = invoke("contrast", other, single, "--category", "current", columns=300).stdout
    assert "current: 2025.json against single.json" in words
    assert "about different records" in words
    assert "2025.json: ε = 2 differential privacy" in words
    assert "single.json: ε = 1 differential privacy" in words


def test_one_group_in_two_tables(table: Path, single: Path, tmp_path: Path) -> None:
    other = tmp_path / "2025.json"
    other.write_text(dc.LatticeGeometric(PRIOR, epsilon=1, by=BY).release(COUNTS + 5).to_json())
    found = [dc.Release.from_json(path.read_text()).noise_aware()["north", "f"] for path in (table, other)]
    expected = independent_contrast(*(posterior.marginal("never") for posterior in found)).difference.interval(0.9)
    asked = ["--category", "never", "--group", "north,f", "--mass", "0.9"]
    fields = json.loads(invoke("contrast", table, other, *asked, "--json").stdout)
    assert (fields["difference"]["low"], fields["difference"]["high"]) == pytest.approx(expected)
    assert fields["group"] == ["north", "f"]
    assert "never in north,f:" in invoke("contrast", table, other, *asked).stdout
    for paths in ((table, single), (single, table)):
        refused = invoke("contrast", *paths, *asked)
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert "one of these records is a table and one is of one variable" in refused.stderr
    mine = json.loads(invoke("contrast", table, other, *asked, "--prior", "500,1,1", "--json").stdout)
    assert mine["difference"]["high"] - mine["difference"]["low"] < expected[1] - expected[0]


def test_two_draws_with_one_outcome_are_compared_with_a_notice(single: Path, tmp_path: Path) -> None:
    """Two years can have the same outcome by chance; a record does not say whether it is a copy."""
    (same := tmp_path / "2024.json").write_text(single.read_text())
    done = invoke("contrast", single, same, "-c", "never", "--json")
    assert (done.exit_code, done.stderr.count("\n")) == (0, 1)
    assert "if they are copies of one draw" in done.stderr
    low, high = (json.loads(done.stdout)["difference"][end] for end in ("low", "high"))
    assert low == pytest.approx(-high)
    assert low < 0.0


def test_two_releases_that_cannot_be_compared_are_refused_in_one_line(table: Path, single: Path, tmp_path: Path) -> None:
    (link := tmp_path / "link.json").symlink_to(single)
    (another := tmp_path / "another.json").write_text(dc.LatticeGeometric(PRIOR, epsilon=1, by=BY).release(COUNTS + 5).to_json())
    (other := tmp_path / "other.json").write_text(dc.LatticeGeometric(PRIOR, 600, 1).release([100, 200, 300]).to_json())
    refused: list[tuple[list[str | Path], str]] = [
        ([single, other], "say what to compare: RECORD GROUP GROUP CATEGORY"),
        ([single, single, "-c", "never"], "is given twice"),
        ([single, link, "-c", "never"], "is given twice"),
        ([single, other, "-c", "sometimes"], "category must be one of 'never', 'former', 'current'; got 'sometimes'"),
        ([single, other, "-c", "never", "--group", "north"], "--group is for tables"),
        ([single, table, "-c", "never"], "one of these records is a table and one is of one variable"),
        ([another, table, "-c", "never"], "a record has groups by region and sex: name one of them with --group"),
        ([table, "north,f", "north,m", "never", "-c", "never"], "the category is named twice"),
        ([table, "north,f", "north,m", "never", "--group", "north,f"], "--group is for two releases"),
    ]
    for words, says in refused:
        done = invoke("contrast", *words)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), (words, done.output)
        assert says in done.stderr
    named = [invoke("contrast", table, "north,f", "north,m", *category, "--json").stdout for category in (["never"], ["-c", "never"])]
    assert named[0] == named[1] != ""
