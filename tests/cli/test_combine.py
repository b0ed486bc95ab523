"""`discreet combine`: as whoever was given several records meets it."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from tests.cli import support
from tests.inference.coverage import release_of
from tests.support import lowered, says_interval

invoke = partial(support.invoke, columns=100)

PRIOR = dc.Beta(1, 1, categories=["yes", "no"])


@pytest.fixture
def records(tmp_path: Path) -> list[Path]:
    releases = [release_of(dc.LatticeGeometric(PRIOR, 20, 0.5), raw) for raw in ((9, 11), (6, 14))]
    releases.append(release_of(dc.LatticeGeometric(dc.Beta(2, 1, categories=["yes", "no"]), epsilon=2), (8, 13)))
    paths = [tmp_path / f"{place}.json" for place in range(3)]
    for path, release in zip(paths, releases, strict=True):
        path.write_text(release.to_json())
    return paths


def _read(paths: list[Path]) -> list[dc.Release]:
    return [dc.Release.from_json(path.read_text()) for path in paths]


@pytest.mark.parametrize("same_data", [True, False])
def test_what_is_printed_is_the_combined_posterior(records: list[Path], same_data: bool) -> None:
    flag = "--same-data" if same_data else "--new-data"
    posterior = dc.combine(_read(records[:2]), same_data=same_data)
    shown = " ".join(invoke("combine", *records[:2], flag, "--mass", "0.9").stdout.split())
    (low, high), _ = posterior.interval(0.9)
    assert says_interval(shown, low, high)
    assert "the exact posterior" in shown
    assert "Reading them spends nothing" in shown
    fields = json.loads(invoke("combine", *records[:2], flag, "--json").stdout)
    assert fields["monte_carlo_error"] is None
    assert [row["category"] for row in fields["categories"]] == ["yes", "no"]
    assert fields["categories"][0]["mean"] == pytest.approx(posterior.mean()[0])


def test_private_totals_and_draws_are_told(records: list[Path]) -> None:
    shown = invoke("combine", records[0], records[2], "--new-data", "--prior", "1,1").stdout
    assert "Records" in shown
    assert "in all, estimated from the noisy counts: about 41" in shown
    with lowered(POOLED_PRODUCTS=1):
        assert "Monte Carlo error" in invoke("combine", *records[:2], "--new-data").stdout


def test_a_copy_is_shown_as_a_notice(records: list[Path]) -> None:
    copy = records[0].with_name("copy.json")
    copy.write_text(records[0].read_text())
    result = invoke("combine", records[0], copy, "--same-data", "--json")
    assert json.loads(result.stdout)["same_data"]
    assert result.stderr.startswith("notice: two of these releases have the same mechanism and the same outcome")
    assert len(result.stderr.strip().splitlines()) == 1
    assert "notice" not in invoke("combine", *records[:2], "--same-data").stderr


@pytest.mark.parametrize("words", [("combine", "0.json", "1.json", "--same-data"), ("contrast", "0.json", "a", "b")], ids=lambda w: w[0])
def test_what_takes_minutes_is_said_before_it_starts(tmp_path: Path, words: tuple[str, ...]) -> None:
    prior = dc.Dirichlet([1, 2, 3], categories=["a", "b", "c"])
    for place, n in enumerate((445, 445)):
        (tmp_path / f"{place}.json").write_text(release_of(dc.HellingerSmooth(prior, n, 1), (100 + place, 145, 200 - place)).to_json())
    named = [str(tmp_path / word) if word.endswith(".json") else word for word in words]
    result = invoke(*named)
    assert result.exit_code == 2
    assert "9,936,301,761 pairs of possible counts" in result.stderr
    assert f"discreet {words[0]} ... --slow computes them" in result.stderr
    for place in range(2):
        (tmp_path / f"{place}.json").write_text(release_of(dc.HellingerSmooth(prior, 20, 1), (6 + place, 5, 9 - place)).to_json())
    with lowered(QUICK_PAIRS=100):
        assert invoke(*named, "--slow").exit_code == 0


def test_tables_are_shown_by_group(tmp_path: Path) -> None:
    by = {"region": ["north", "south"]}
    mechanism = dc.LatticeGeometric(PRIOR, (20, 30), 1, by=by)
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        path.write_text(mechanism.release(np.array([[5, 15], [10, 20]])).to_json())
    fields = json.loads(invoke("combine", *paths, "--same-data", "--json").stdout)
    assert [row["group"] for row in fields["categories"]] == [["north"], ["north"], ["south"], ["south"]]
    assert "south" in invoke("combine", *paths, "--same-data").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("0.json", "1.json"), "say --same-data"),
        (("0.json", "--same-data"), "two or more releases, got 1; one is shown by discreet show"),
        (("0.json", "3.json", "--same-data"), "these say n = 20 and 30: with --new-data they are about different records"),
        (("0.json", "0.json", "--same-data"), "given twice"),
        (("0.json", "2.json", "--same-data"), "different priors"),
        (("0.json", "missing.json", "--same-data"), "cannot be read"),
        (("0.json", "1.json", "--same-data", "--mass", "2"), "between 0 and 1"),
    ],
)
def test_errors_are_one_line(records: list[Path], words: tuple[str, ...], said: str) -> None:
    folder = records[0].parent
    (folder / "3.json").write_text(release_of(dc.LatticeGeometric(PRIOR, 30, 0.5), (10, 20)).to_json())
    result = invoke("combine", *(folder / word if word.endswith(".json") else word for word in words))
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
