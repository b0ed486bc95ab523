"""`--about records`: shares of these very records, as whoever was given the record of a register meets them."""

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.planning.curves import noise_width
from discreet.record.about import About, CountingRule
from discreet.sampling import SeededBits
from discreet.text import chance
from tests.cli import support
from tests.cli.support import CATEGORIES, PRIOR, assert_refused

invoke = partial(support.invoke, columns=80)
COUNTS, BY = [1400, 800, 500], {"region": ["north", "south"]}
GROUPS = [[400, 200, 100], [300, 150, 90]]
KINDS = {"sizes": [700, 540], "total": 1240, "nothing": None}


def written(path: Path, mechanism: dc.LatticeGeometric, counts: Any) -> dc.Release:
    release: dc.Release = mechanism.release(counts, source=SeededBits(5), steady=False)
    path.write_text(release.to_json())
    return release


@pytest.mark.parametrize("n", [2700, None])
def test_show_has_the_shares_of_the_records_and_the_interval_of_the_noise(n: int | None, tmp_path: Path) -> None:
    path = tmp_path / "register.json"
    release = written(path, dc.LatticeGeometric(PRIOR, n, "0.2"), COUNTS)
    records = release.noise_aware().records
    found = json.loads(invoke("show", str(path), "--about", "records", "--mass", "0.9", "--json").output)
    assert found["shares_of"] == "records"
    assert found["no_records"] == (None if n else pytest.approx(records.no_records))
    names = ("mean", "low", "high", "noise_low", "noise_high")
    shown = np.array([[row[name] for name in names] for row in found["categories"]])
    np.testing.assert_allclose(shown, np.c_[records.mean(), records.interval(0.9), release.noise_interval(0.9)])
    words = invoke("show", str(path), "--about", "records")
    text = " ".join(words.output.split())
    assert ("of these 2,700 records" if n else "given that there are any records: there are none with probability") in text
    assert "on average over the prior" in text
    assert "noise" in text
    assert max(map(len, words.output.splitlines())) <= 80
    assert n is not None or chance(records.no_records) in text


def test_a_group_that_cannot_occur_is_no_group_without_records(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    by = {"region": ["north", "south", "sea"]}
    nobody = [("sea", answer) for answer in CATEGORIES]
    release = written(path, dc.LatticeGeometric(PRIOR, None, "1", by=by, impossible=nobody), [[2, 3, 4], [40, 20, 10], [0, 0, 0]])
    found = json.loads(invoke("show", str(path), "--about", "records", "--json").output)
    largest = release.noise_aware().records.no_records[:2].max()
    assert 0.0 < largest < 0.1
    assert found["no_records"] == pytest.approx(largest)


@pytest.mark.parametrize("by", [None, BY])
def test_counts_of_others_say_their_noise_and_have_nothing_to_verify(by: Any, tmp_path: Path) -> None:
    path, counts = tmp_path / "theirs.json", GROUPS if by else COUNTS
    theirs = dc.observed(counts, noise="gaussian:4", steps=[dc.noise.clamped(at=0)], prior=PRIOR, by=by, source="Office A")
    path.write_text(theirs.to_json())
    assert "gaussian:4, then clamped:0" in invoke("show", str(path)).output
    assert_refused(invoke("verify", str(path)), "nothing to verify: whatever is promised is promised by Office A")


def test_randomized_answers_are_not_shown_where_to_ask_for_the_shares_of_records(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(dc.observed(COUNTS, noise="randomized:1", prior=PRIOR).to_json())
    shown = " ".join(invoke("show", str(path)).output.split())
    assert "Shares of the population they were drawn from Promise" in shown
    assert "the share of these very records is not computed" in " ".join(invoke("show", str(path), "--about", "records").output.split())


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_the_shares_of_the_records_of_each_group(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    release = written(path, dc.LatticeGeometric(PRIOR, KINDS[kind], "3", by=BY), GROUPS)
    records, noise = release.noise_aware().records, release.noise_interval(0.95)
    found = json.loads(invoke("show", str(path), "--about", "records", "--json").output)
    shown = np.array([[row[name] for name in ("mean", "low", "high", "noise_low", "noise_high")] for row in found["cells"]])
    exact = np.concatenate([records.mean()[..., None], records.interval(0.95), noise], axis=-1)
    np.testing.assert_allclose(shown, exact.reshape(-1, 5))
    assert (found["no_records"] is None) == (kind == "sizes")
    compared = invoke("contrast", str(path), "north", "south", CATEGORIES[0], "--about", "records", "--json")
    one = json.loads(compared.output)
    exact_contrast = records.contrast("north", "south", CATEGORIES[0])
    assert (one["probability"], one["equal"]) == (exact_contrast.probability, exact_contrast.equal)
    assert [one["difference"][name] for name in ("low", "high")] == list(exact_contrast.difference.interval(0.95))
    assert {name: one[name] for name in exact_contrast.more} == exact_contrast.more
    for name, law in (("ratio", exact_contrast.ratio), ("odds_ratio", exact_contrast.odds_ratio)):
        numbers = [law.median(), *law.interval(0.95)]
        assert [one[name][key] for key in ("median", "low", "high")] == [number if np.isfinite(number) else None for number in numbers]
        assert one[name]["mean"] is None
    words = " ".join(invoke("contrast", str(path), "north", "south", CATEGORIES[0], "--about", "records").output.split())
    assert ("the ratio is given that it is not 0/0" in words) == (exact_contrast.ratio.undefined > 0.0)


def test_what_a_ratio_of_few_records_is_given_is_said(tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    found = written(path, dc.LatticeGeometric(PRIOR, 6, "1"), [4, 1, 1]).noise_aware().records.contrast(*CATEGORIES[1:3])
    words = " ".join(invoke("contrast", str(path), *CATEGORIES[1:3], "--about", "records").output.split())
    assert f"the ratio is given that it is not 0/0, which has probability {chance(found.ratio.undefined)}" in words
    assert "to inf" in words


def test_what_is_said_without_it_is_whose_shares_they_are(tmp_path: Path) -> None:
    path = tmp_path / "sample.json"
    written(path, dc.LatticeGeometric(PRIOR, 2700, "0.2"), COUNTS)
    text = " ".join(invoke("show", str(path)).output.split())
    assert "of the population they were drawn from; show --about records has those of these 2,700 records" in text
    assert json.loads(invoke("show", str(path), "--json").output)["shares_of"] == "population"


def test_persons_are_counted_once_and_visits_not_at_all(tmp_path: Path) -> None:
    path, rule = tmp_path / "persons.json", CountingRule("smoking", privacy_id="patient")
    mechanism = dc.LatticeGeometric(PRIOR, 2700, "0.2")
    release = mechanism.release(COUNTS, unit="person", about=About(counting=rule))
    path.write_text(release.to_json())
    text = " ".join(invoke("show", str(path), "--about", "records").output.split())
    assert "of these 2,700 persons; each person counts once, by the rule of counting: these are shares of persons, not of visits" in text


def test_a_prior_that_moves_shares_out_of_the_noise_is_named(tmp_path: Path) -> None:
    """Fifty categories with one record each believed before, and 900 of 1,000 in one: by the prior the share is far below."""
    path, prior = tmp_path / "strong.json", dc.Dirichlet.uniform(50)
    release = written(path, dc.LatticeGeometric(prior, 1000, "0.2"), [902] + [2] * 49)
    mean, (low, high) = release.noise_aware().records.mean()[0], release.noise_interval(0.95)[0]
    assert mean < low < 0.902 < high, "the truth is in the interval of the noise alone"
    told = invoke("show", str(path), "--about", "records")
    assert "the prior outweighs the noisy counts: it moves the share of '0'" in told.stderr
    weak = tmp_path / "weak.json"
    written(weak, dc.LatticeGeometric(PRIOR, 2700, "0.2"), COUNTS)
    assert "outweighs" not in invoke("show", str(weak), "--about", "records").stderr


def test_two_registers_are_compared_exactly(tmp_path: Path) -> None:
    first, second = tmp_path / "2024.json", tmp_path / "2025.json"
    paths = ((first, 2700, COUNTS), (second, 2600, [1300, 800, 500]))
    releases = [written(path, dc.LatticeGeometric(PRIOR, n, 1), counts) for path, n, counts in paths]
    found = json.loads(invoke("contrast", str(first), str(second), "--category", CATEGORIES[0], "--about", "records", "--json").output)
    laws = [release.noise_aware().records.marginal(CATEGORIES[0]) for release in releases]
    assert found["difference"]["mean"] == pytest.approx(laws[0].mean() - laws[1].mean(), abs=1e-12)
    assert found["shares_of"] == "records"


def test_a_report_says_whose_shares_and_has_the_interval_of_the_noise(tmp_path: Path) -> None:
    path, pages = tmp_path / "register.json", [tmp_path / "records.html", tmp_path / "population.html"]
    release = written(path, dc.LatticeGeometric(PRIOR, 2700, "0.2"), COUNTS)
    invoke("report", str(path), "--output", str(pages[0]), "--about", "records")
    invoke("report", str(path), "--output", str(pages[1]))
    records, population = (" ".join(page.read_text().replace("\u00a0", " ").split()) for page in pages)
    low, high = 100 * release.noise_interval(0.95)[0]
    assert "Shares of these 2,700 records" in records
    assert f"{low:.1f} to {high:.1f} %" in records
    assert "discreet show records.html --about records" in records
    assert "on average over the prior" not in population
    assert "an average over the prior" in records
    assert "Shares of the population they were drawn from" in population
    assert "noise alone" not in population


def test_widths_of_intervals_of_the_noise_are_planned_exactly() -> None:
    prior = dc.Dirichlet.uniform(3)
    given = noise_width(prior, "LatticeGeometric", n=2700, epsilon=Fraction(1, 10), width=None)
    low, high = dc.LatticeGeometric(prior, 2700, "0.1").release([900, 900, 900]).noise_interval(0.95)[0]
    assert given.width == pytest.approx(high - low, abs=1e-12)


@pytest.mark.parametrize("width", ["4%", "0.7%", "30%"])
def test_the_least_epsilon_and_the_least_n_are_found(width: str) -> None:
    target, prior = float(width[:-1]) / 100, dc.Dirichlet.uniform(3)

    def wide(n: int, epsilon: float) -> float:
        low, high = dc.LatticeGeometric(prior, n, repr(epsilon)).noise.reach(1, 3, 0.5 * (1.0 - 0.95))
        return (high - low) / n

    found = json.loads(invoke("plan", "--about", "records", "--width", width, "--n", "2700", "--prior", "uniform:3", "--json").output)
    assert found["width"] == wide(2700, found["epsilon"]) <= target
    assert wide(2700, found["epsilon"] * 0.99) > target
    found = json.loads(invoke("plan", "--about", "records", "--width", width, "--epsilon", "0.1", "--prior", "uniform:3", "--json").output)
    assert wide(found["n"], 0.1) <= target < wide(found["n"] - 1, 0.1)
    assert "whatever the data are" in invoke("plan", "--about", "records", "--n", "2700", "--epsilon", "0.1").output


REFUSED = {
    "--about must be population": ["show", "{}", "--about", "sample"],
    "--plot is for shares of the population": ["show", "{}", "--about", "records", "--plot", "{}.png"],
    "--reference is for shares of the population": ["show", "{}", "--about", "records", "--reference", "north", "--category", "never"],
    "leave out --price": ["plan", "--about", "records", "--n", "100", "--price", "1.1"],
    "leave out --curve": ["plan", "--about", "records", "--n", "100", "--curve"],
    "where n is public": ["plan", "--about", "records", "--n", "100", "--epsilon", "1", "--public", "nothing"],
    "depends on the data": ["plan", "--about", "records", "--n", "100", "--epsilon", "1", "--mechanism", "HellingerLocal"],
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_has_no_answer_is_refused_in_one_line(says: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, dc.LatticeGeometric(PRIOR, 2700, "0.2"), COUNTS)
    assert_refused(invoke(*(word.format(path) for word in REFUSED[says])), says)
