"""docs/howto/coming_from.md says that other libraries do the same task, and with the same noise: their blocks run, and both are checked.

Two of them cannot be installed beside the others. `make test-slow` makes an environment of their own from tests/peers.txt.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, inf
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import discreet as dc
from tests.docs.test_blocks import ELSEWHERE, FENCE, execute, steps, with_survey
from tests.places import DOCS, PEERS, ROOT

PAGE = DOCS / "howto" / "coming_from.md"
REQUIRED = ROOT / "tests" / "peers.txt"
CATEGORIES = ("never", "former", "current")
EPSILON = 0.5
FARTHEST = 60
"""Noise of ε = 0.5 is farther off once in 10^13 counts. Whoever counts rows and not persons is farther off in each category."""
BLOCKS = {found[1]: block[2] for block in FENCE.finditer(PAGE.read_text()) if block[1] == "python" and (found := ELSEWHERE.match(block[2]))}
"""The blocks for an environment of their own, by what is installed there."""


def true_counts(privacy_id: str | None = None) -> dict[str, int]:
    counted = dc.count(ROOT / "examples" / "survey.csv", "smoking", CATEGORIES, privacy_id=privacy_id)
    return dict(zip(CATEGORIES, counted.counts.tolist(), strict=True))


def count_persons(noisy: Mapping[str, int]) -> bool:
    """Whether noisy counts are about persons, each once."""
    true = true_counts(privacy_id="participant")
    return noisy.keys() == true.keys() and all(abs(noisy[category] - true[category]) <= FARTHEST for category in CATEGORIES)


def test_counts_of_rows_are_told_from_counts_of_persons() -> None:
    assert count_persons(true_counts(privacy_id="participant"))
    assert all(
        abs(rows - persons) > FARTHEST
        for rows, persons in zip(true_counts().values(), true_counts(privacy_id="participant").values(), strict=True)
    )


def test_the_blocks_that_run_here_count_each_person_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("diffprivlib", reason="diffprivlib needs scikit-learn below 1.9: make setup", exc_type=ImportError)
    monkeypatch.chdir(with_survey(tmp_path))
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    counted = 0
    for step in steps(PAGE):
        execute(step, str(PAGE), namespace)
        if noisy := namespace.pop("noisy", None):
            assert count_persons(noisy), f"line {step.line}"
            counted += 1
    assert counted == 3
    theirs, release = namespace["theirs"], namespace["release"]
    assert "discreet promises nothing" in theirs.promise
    unclaimed = replace(release, guarantee=dc.Guarantee(inf, 1, basis="none"))
    with pytest.raises(dc.ClaimError):  # what another library drew is no record of discreet's own mechanisms
        dc.Release.from_json(unclaimed.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_the_blocks_that_run_elsewhere_count_each_person_once(name: str, tmp_path: Path) -> None:
    if not PEERS.exists():
        pytest.skip("the libraries of tests/peers.txt are not installed: make test-slow does that")
    if name.startswith("tmlt") and sys.version_info >= (3, 13):
        pytest.skip("there is no Tumult Analytics for this version of Python")
    (block := tmp_path / "block.py").write_text(BLOCKS[name] + "\nimport json\nprint(json.dumps(noisy))\n")
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 1\nspark.ui.enabled false\nspark.driver.host 127.0.0.1\n")
    # Spark's workers are to be of the same environment, and nothing of this one is to be seen there.
    spark = {"PYSPARK_PYTHON": str(PEERS), "SPARK_CONF_DIR": str(tmp_path)}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | spark
    done = subprocess.run(  # noqa: S603
        [PEERS, block], cwd=with_survey(tmp_path), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert count_persons(json.loads(done.stdout.splitlines()[-1]))


def test_what_the_page_installs_is_what_the_tests_install() -> None:
    assert set(BLOCKS) == {"opendp[polars]==0.16.0", "tmlt.analytics==0.21.0"}
    assert set(BLOCKS) <= {line.partition(";")[0] for line in REQUIRED.read_text().splitlines()}


# --- the same noise ---------------------------------------------------------------------------------------------------

DRAWS, REACH, FALSE_ALARM = 40_000, 9, 1e-9


def disagrees(drawn: Sequence[int], epsilon: float) -> bool:
    """Whether a chi-squared test refutes that z has probability proportional to e^{-ε|z|}; each tail is one cell."""
    q = exp(-epsilon)
    inner = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-REACH + 1, REACH)}
    expected = inner | dict.fromkeys((-REACH, REACH), (1 - sum(inner.values())) / 2)
    seen = Counter(max(-REACH, min(REACH, z)) for z in drawn)
    found = stats.chisquare([seen[z] for z in expected], [len(drawn) * p for p in expected.values()])
    return bool(found.pvalue < FALSE_ALARM)


def opendp_noise() -> list[int]:
    """What OpenDP adds to a histogram without records: the noise of docs/howto/coming_from.md."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    categories = [str(i) for i in range(1000)]  # many at once: a call takes longer than a draw
    histogram = space >> dp.t.then_count_by_categories(categories, null_category=False) >> dp.m.then_laplace(scale=1 / EPSILON)
    assert histogram.map(1) == EPSILON
    return [z for _ in range(DRAWS // len(categories)) for z in histogram([])]


def diffprivlib_noise() -> list[int]:
    """What diffprivlib adds to a count, before it cuts at 0."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib needs scikit-learn below 1.9", exc_type=ImportError)
    mechanism = mechanisms.GeometricTruncated(epsilon=EPSILON, sensitivity=1, lower=0, upper=2**40)
    return [mechanism.randomise(1000) - 1000 for _ in range(DRAWS)]


@pytest.mark.parametrize("draw", [opendp_noise, diffprivlib_noise])
def test_they_add_the_noise_that_discreet_adds(draw: Callable[[], list[int]]) -> None:
    drawn = draw()
    assert not disagrees(drawn, EPSILON)
    assert disagrees(drawn, EPSILON * 1.1)
