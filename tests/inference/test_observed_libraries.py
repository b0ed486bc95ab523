"""Whether `dc.observed` reads what other libraries publish by the law that they draw from. Oracle: the libraries themselves.

Each draws the noise of many counts that are 0. A chi-squared test with every tail as one cell compares them with our likelihood; it fails
for a right one with a probability of 1e-9, and must refute a scale that is a tenth off, which it misses with less.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from tests.places import PEERS

DRAWS = 40_000
CATEGORIES = 10
FALSE_ALARM = 1e-9
LEAST_EXPECTED = 200
"""Draws that are expected in every cell: then the statistic has its limiting law."""


def refuted(drawn: Sequence[int], expected: dict[int, float]) -> bool:
    """Whether a chi-squared test refutes these probabilities of all that was drawn."""
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-12)
    seen = Counter(drawn)
    found = stats.chisquare([seen[z] for z in expected], [len(drawn) * p for p in expected.values()])
    return bool(found.pvalue < FALSE_ALARM)


def reads_otherwise(drawn: Sequence[int], noise: Any, steps: str = "") -> bool:
    """Whether the likelihood by which published counts with this noise are read is not the law of what was drawn."""
    cell = dc.observed([0, 0], noise=noise, steps=steps, prior=dc.Beta(1, 1)).mechanism.noise
    assert cell is not None
    least = 0 if steps == "clamped:0" else -500
    law = {z: exp(cell.observation(z)(np.zeros(1))[0] + cell.log_constant(1)) for z in range(least, 501)}
    often = [z for z, p in law.items() if len(drawn) * p >= LEAST_EXPECTED]
    low, high = min(often), max(often)
    inner = {z: law[z] for z in range(low + 1, high)}
    ends = {z: sum(p for other, p in law.items() if (other <= low if z == low else other >= high)) for z in (low, high)}
    return refuted(np.clip(drawn, low, high).tolist(), inner | ends)


def opendp() -> Any:
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


def opendp_laplace(scale: float) -> list[int]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return list(dp.m.make_laplace(*space, scale=scale)([0] * DRAWS))


def opendp_gaussian(scale: float) -> list[int]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    return list(dp.m.make_gaussian(*space, scale=scale)([0] * DRAWS))


def diffprivlib_geometric(scale: float) -> list[int]:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib needs scikit-learn below 1.9", exc_type=ImportError)
    mechanism = mechanisms.Geometric(epsilon=1.0 / scale, sensitivity=1)
    return [mechanism.randomise(0) for _ in range(DRAWS)]


def geometric(scale: float) -> Any:
    return dc.noise.Geometric(epsilon=1.0 / scale)


def gaussian(scale: float) -> Any:
    return dc.noise.DiscreteGaussian(sigma=scale)


@pytest.mark.parametrize("scale", [0.8, 4.0])
@pytest.mark.parametrize(("draw", "read"), [(opendp_laplace, geometric), (opendp_gaussian, gaussian), (diffprivlib_geometric, geometric)])
def test_counts_of_other_libraries_are_read_by_the_law_of_their_noise(
    draw: Callable[[float], list[int]], read: Callable[[float], Any], scale: float
) -> None:
    drawn = draw(scale)
    assert not reads_otherwise(drawn, read(scale))
    assert reads_otherwise(drawn, read(1.1 * scale))


@pytest.mark.parametrize("name", ["Geometric", "GeometricTruncated", "GaussianDiscrete"])
def test_mechanisms_of_diffprivlib_say_their_noise(name: str) -> None:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib needs scikit-learn below 1.9", exc_type=ImportError)
    known: dict[str, Any] = {"lower": 0, "upper": sys.maxsize} if name.endswith("Truncated") else {}
    known |= {"delta": 1e-3} if name.startswith("Gaussian") else {}
    mechanism = getattr(mechanisms, name)(epsilon=0.9, sensitivity=2, **known)
    noise, steps = dc.noise.of(mechanism), "clamped:0" if "lower" in known else ""
    drawn = [mechanism.randomise(0) for _ in range(DRAWS if steps else DRAWS // 4)]
    assert not reads_otherwise(drawn, noise, steps)
    assert reads_otherwise(drawn, dc.noise.Laplace(scale=1), steps)


def test_what_diffprivlib_cuts_from_above_is_refused() -> None:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib needs scikit-learn below 1.9", exc_type=ImportError)
    with pytest.raises(dc.RefusedError, match="cut from above"):
        dc.noise.of(mechanisms.GeometricTruncated(epsilon=1, sensitivity=1, lower=0, upper=100))
    assert dc.noise.of(mechanisms.Laplace(epsilon=0.5, sensitivity=1)) == dc.noise.Laplace(scale=2)
    with pytest.raises(dc.RefusedError, match="with a delta"):
        dc.noise.of(mechanisms.Laplace(epsilon=0.5, delta=0.1, sensitivity=1))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (3, "said must be the table of OpenDP"),
        ("laplace noise", "must name the mechanism of one count"),
        ({"distribution": ["Integer Laplace"] * 2, "scale": [1.0, 2.0]}, "of one kind of count"),
        ({"distribution": ["Integer Laplace"], "scale": [0.0]}, "scale must be"),
    ],
)
def test_what_says_no_noise_is_refused_in_one_line(said: Any, reason: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=reason) as caught:
        dc.noise.of(said)
    assert "\n" not in str(caught.value)


def test_noise_on_real_numbers_is_refused() -> None:
    with pytest.raises(dc.RefusedError, match="Integer Laplace and Integer Gaussian are"):
        dc.noise.of({"distribution": ["Float Gaussian"], "scale": [2.0]})


OPENDP = """
import json, warnings
import opendp.prelude as dp, polars as pl
warnings.simplefilter("ignore")
dp.enable_features("contrib")
groups = [str(i) for i in range(%d)]
found = {}
for name, loss in {"pure": dp.loss_of(epsilon=0.7), "zcdp": dp.loss_of(rho=0.1)}.items():
    for signed in (True, False):
        context = dp.Context.compositor(
            data=pl.LazyFrame({"g": ["none"]}), privacy_unit=dp.unit_of(contributions=1), privacy_loss=loss, split_evenly_over=1
        )
        keys = pl.LazyFrame({"g": groups})
        query = context.query().group_by("g").agg(dp.len(signed=signed)).with_keys(keys)
        said = query.summarize().to_dict(as_series=False)
        drawn = query.release().collect()["len"].to_list()
        found[name + ("" if signed else " without a sign")] = {"said": said, "drawn": drawn}
print(json.dumps(found))
"""
PIPELINEDP = """
import json
import pipeline_dp as p
found = {}
for kind in (p.NoiseKind.LAPLACE, p.NoiseKind.GAUSSIAN):
    accountant = p.NaiveBudgetAccountant(total_epsilon=0.7, total_delta=1e-3)
    report = p.report_generator.ExplainComputationReport()
    params = p.AggregateParams(
        metrics=[p.Metrics.COUNT], noise_kind=kind, max_partitions_contributed=1, max_contributions_per_partition=1
    )
    extractors = p.DataExtractors(
        privacy_id_extractor=lambda row: row, partition_extractor=lambda row: -1, value_extractor=lambda row: 0
    )
    result = p.DPEngine(accountant, p.LocalBackend()).aggregate(
        [0], params, extractors, public_partitions=list(range(%d)), out_explain_computation_report=report
    )
    accountant.compute_budgets()
    drawn = [metrics.count for _, metrics in result]
    found[kind.value] = {"said": report.text(), "drawn": drawn}
print(json.dumps(found))
"""
TUMULT = """
import json
import pandas as pd
from pyspark.sql import SparkSession
from tmlt.analytics import AddMaxRows, AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session
spark = SparkSession.builder.master("local[1]").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
data = spark.createDataFrame(pd.DataFrame({"g": ["none"]}))
keys = KeySet.from_dict({"g": [str(i) for i in range(%d)]})
found = {}
for name, budget, rows in [("pure", PureDPBudget(0.7), 1), ("zcdp", RhoZCDPBudget(0.1), 1), ("two rows", PureDPBudget(1.4), 2)]:
    session = Session.from_dataframe(budget, "data", data, AddOneRow() if rows == 1 else AddMaxRows(rows))
    noisy = session.evaluate(QueryBuilder("data").groupby(keys).count(), budget).toPandas()
    found[name] = {"said": [type(budget).__name__, str(budget.value), rows], "drawn": noisy["count"].tolist()}
print(json.dumps(found))
"""


def elsewhere(script: str, folder: Path) -> Any:
    """What a script prints that runs with the libraries of tests/peers.txt."""
    if not PEERS.exists():
        pytest.skip("the libraries of tests/peers.txt are not installed: make test-slow does that")
    (folder / "draw.py").write_text(script % (DRAWS // 8))
    (folder / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 1\nspark.ui.enabled false\nspark.driver.host 127.0.0.1\n")
    spark = {"PYSPARK_PYTHON": str(PEERS), "SPARK_CONF_DIR": str(folder)}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | spark
    done = subprocess.run([PEERS, "draw.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_counts_that_opendp_releases_are_read_by_its_summary(tmp_path: Path) -> None:
    found = elsewhere(OPENDP, tmp_path)
    assert len(found) == 4
    for name, one in found.items():
        noise, steps = dc.noise.of(one["said"]), "clamped:0" if "without" in name else ""
        assert str(noise).partition(":")[0] == ("gaussian" if name.startswith("zcdp") else "geometric")
        assert not reads_otherwise(one["drawn"], noise, steps), name
        assert reads_otherwise(one["drawn"], dc.noise.Geometric(epsilon="0.35"), steps), name


@pytest.mark.slow
def test_counts_that_pipelinedp_makes_are_read_by_its_report(tmp_path: Path) -> None:
    found = elsewhere(PIPELINEDP, tmp_path)
    assert set(found) == {"laplace", "gaussian"}
    for name, one in found.items():
        noise = dc.noise.of(one["said"])
        assert any(count % 1 for count in one["drawn"])  # real numbers, on a fine grid
        assert str(noise).startswith("rounded-gaussian" if name == "gaussian" else "laplace")
        release = dc.observed(one["drawn"][:2], noise=noise, prior=dc.Beta(1, 1), n=5)
        assert release.raw == tuple(round(count) for count in one["drawn"][:2])
        drawn = [round(count) for count in one["drawn"]]
        assert not reads_otherwise(drawn, noise), name
        assert reads_otherwise(drawn, dc.noise.Laplace(scale=3)), name


@pytest.mark.slow
def test_counts_that_tumult_answers_are_read_by_the_budget(tmp_path: Path) -> None:
    if sys.version_info >= (3, 13):
        pytest.skip("there is no Tumult Analytics for this version of Python")
    found = elsewhere(TUMULT, tmp_path)
    assert set(found) == {"pure", "zcdp", "two rows"}
    for name, one in found.items():
        kind, value, rows = one["said"]
        noise = dc.noise.of(type(kind, (), {"value": value})(), rows)
        assert not reads_otherwise(one["drawn"], noise), name
        assert reads_otherwise(one["drawn"], dc.noise.Geometric(epsilon="0.35")), name


def test_discrete_noise_is_not_that_of_rounded_laplace() -> None:
    assert reads_otherwise(diffprivlib_geometric(0.8), dc.noise.Laplace(scale=0.8))


def answer(epsilon: float) -> dict[int, float]:
    """The probabilities of one person's answer who is next to certainly of category 0: the evidence of a single answer."""
    noise, prior = dc.noise.RandomizedResponse(epsilon=epsilon), dc.Dirichlet([10**9] + [1] * (CATEGORIES - 1))
    alone = np.eye(CATEGORIES, dtype=np.int64).tolist()
    return {said: exp(dc.observed(y, noise=noise, prior=prior).noise_aware().log_evidence) for said, y in enumerate(alone)}


def test_answers_that_opendp_randomized_are_read_by_their_law() -> None:
    epsilon = 4.0
    prob = exp(epsilon) / (exp(epsilon) + CATEGORIES - 1)
    machine = opendp().m.make_randomized_response(list(range(CATEGORIES)), prob=prob)
    assert machine.map(1) == pytest.approx(epsilon)
    drawn = [machine(0) for _ in range(DRAWS // 2)]
    assert not refuted(drawn, answer(epsilon))
    assert refuted(drawn, answer(1.1 * epsilon))
