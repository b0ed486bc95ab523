"""Groups read together in the shell: `show --pooled`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.cli.support import assert_refused, invoke

BY = {"region": ["north", "south", "west"]}
RAW = np.array([(10, 20, 3), (12, 28, 0), (9, 11, 5)])


def written(path: Path, k: int, public: str = "sizes") -> Path:
    """A record of three groups with k categories."""
    raw = RAW[:, :k]
    n: Any = {"sizes": raw.sum(axis=1).tolist(), "total": int(raw.sum()), "nothing": None}[public]
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["yes", "no", "unsure"][:k]), n, 1, by=BY)
    path.write_text(dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw)).to_json())
    return path


@pytest.mark.parametrize(("k", "public"), [(2, "sizes"), (2, "nothing"), (3, "sizes")])
def test_fields_are_those_of_the_posterior(tmp_path: Path, k: int, public: str) -> None:
    path = written(tmp_path / "table.json", k, public)
    read: Any = dc.read(path)
    pooled = read.noise_aware().pooled()
    found = json.loads(invoke("show", path, "--pooled", "--json", "--mass", "0.9").stdout)
    figures, strength = pooled.figures(0.9), pooled.strength
    assert [cell["mean"] for cell in found["cells"]] == pytest.approx(figures.mean.ravel().tolist())
    assert [cell["low"] for cell in found["cells"]] == pytest.approx(figures.low.ravel().tolist())
    assert [cell["high"] for cell in found["cells"]] == pytest.approx(figures.high.ravel().tolist())
    low, high = strength.interval(0.9)
    assert found["pooled"]["strength"] == pytest.approx({"median": strength.median(), "low": low, "high": high})
    assert found["pooled"]["log_evidence"] == pytest.approx(pooled.log_evidence)
    assert found["pooled"]["standard_error"] == pytest.approx(pooled.standard_error().max())
    assert (found["pooled"]["effective_draws"] is None) == (k == 2)
    apart = json.loads(invoke("show", path, "--json", "--mass", "0.9").stdout)
    assert np.ptp([cell["mean"] for cell in found["cells"][::k]]) < np.ptp([cell["mean"] for cell in apart["cells"][::k]])


@pytest.mark.parametrize(("k", "says"), [(2, "half their step changed"), (3, "independent ones and the same every time")])
def test_words_say_the_model_its_prior_and_the_error_in_80_columns(tmp_path: Path, k: int, says: str) -> None:
    result = invoke("show", written(tmp_path / "table.json", k), "--pooled", columns=80)
    assert max(map(len, result.stdout.splitlines())) <= 80
    said = " ".join(result.stdout.split())
    assert "the shares of every group come from one Dirichlet(strength · mean)" in said
    assert "the common mean is uniform, and the strength s has P(s <= t) = t/(1 + t)" in said
    assert "as much as so many records that all groups share" in said
    assert says in said


def test_the_prior_is_said_as_it_is(tmp_path: Path) -> None:
    table: Any = dc.read(written(tmp_path / "table.json", 2)).noise_aware()
    said = str(table.pooled(strength=10, shape=2, mean=dc.Beta(2, 5)).hyperprior)
    assert said == "the common mean has a Dirichlet(2, 5), and the strength s has P(s <= t) = t^2/(10^2 + t^2)"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--about", "records"], "--pooled is for shares of the population, and --about records asks for those of the records"),
        (["--over", "region"], "--over is about the groups as they are, and --pooled reads them together"),
        (["--weights", "alike"], "--weights says how much groups count that --over puts together"),
        (["--prior", "1,1"], "--prior is about the groups as they are"),
        (["--reference", "north", "--category", "yes"], "--reference is about the groups as they are"),
        (["--plot", "picture.png"], "--plot is about the groups as they are"),
        (["--output", "table.csv"], "--output is about the groups as they are"),
    ],
)
def test_what_does_not_go_with_it_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(invoke("show", written(tmp_path / "table.json", 2), "--pooled", *words), says)
    assert [each.name for each in tmp_path.iterdir()] == ["table.json"]


def test_a_public_total_and_one_variable_are_refused_in_one_line(tmp_path: Path) -> None:
    assert_refused(invoke("show", written(tmp_path / "table.json", 2, "total"), "--pooled"), "only their total is public")
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["yes", "no"]), 100, 1)
    (path := tmp_path / "variable.json").write_text(made.release([60, 40]).to_json())
    assert_refused(invoke("show", path, "--pooled"), "--pooled reads the groups of a table together, and this record has none")
