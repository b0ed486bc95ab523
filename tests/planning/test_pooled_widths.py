"""Plans for groups that are read together. Oracle: widths that `pooled()` finds for releases of simulated tables, one after the other."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Floats
from discreet.planning.width_plans import WidthPlan
from tests.cli.support import assert_refused, invoke


def planned(k: int = 2, **options: Any) -> WidthPlan:
    found = dc.plan(dc.Dirichlet.uniform(k), **options)
    assert isinstance(found, WidthPlan)
    return found


def read_widths(groups: int, n: int, epsilon: Fraction, strength: float, tables: int, seed: int) -> Floats:
    """By table the mean width of the intervals with pooling, and of those without."""
    rng, found = np.random.default_rng(seed), []
    made: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(2), [n] * groups, epsilon, by={"group": list(range(groups))})
    stop = -np.expm1(-float(epsilon))
    for _ in range(tables):
        mean = rng.random()
        x = rng.binomial(n, rng.beta(strength * mean, strength * (1.0 - mean), groups))
        z = x + rng.geometric(stop, groups) - rng.geometric(stop, groups)
        raw = np.stack([z, n - z], axis=1)
        read: Any = dc.Release(made, made.guarantee, raw, made.report(raw)).noise_aware()
        found.append([float(np.diff(np.asarray(each.figures()), axis=2)[:, 0].mean()) for each in (read.pooled(), read)])
    return np.array(found)


@pytest.mark.parametrize("world", [(3, 8, "1", 20, 15), pytest.param((12, 30, "0.3", 50, 40), marks=pytest.mark.slow)])
def test_the_planned_widths_are_those_of_simulated_releases(world: tuple[int, int, str, int, int]) -> None:
    groups, n, epsilon, strength, tables = world
    widths = read_widths(groups, n, Fraction(epsilon), strength, tables, 5)
    error = widths.std(axis=0, ddof=1) / np.sqrt(tables)
    found, other = (planned(n=n, epsilon=each, pooled=groups, expect_strength=strength) for each in (epsilon, 3 * Fraction(epsilon)))
    assert found.alone is not None
    for which, plan in enumerate((found.width, found.alone)):
        assert abs(plan - widths[:, which].mean()) < 4.0 * np.hypot(plan.standard_error, error[which])
    assert other.width < found.width - 3.0 * np.hypot(found.width.standard_error, other.width.standard_error)  # another noise is seen


def test_the_epsilon_that_pooling_asks_for_is_smaller() -> None:
    known: Any = {"n": 8, "width": "0.55"}
    together, alone = planned(**known, pooled=6, expect_strength=40, expect=["0.3", "0.7"]), planned(**known, expect=["0.3", "0.7"])
    assert together.epsilon < 0.7 * alone.epsilon
    assert together.bracket is not None
    assert together.bracket[0] <= together.epsilon
    assert together.width <= 0.55 + 2.0 * together.width.standard_error
    assert together.alone is not None
    assert together.alone > together.width > together.plain


def test_groups_that_are_alike_gain_more() -> None:
    known: Any = {"n": 8, "epsilon": "0.5", "expect": ["0.3", "0.7"]}
    unlike, alike = (planned(**known, pooled=5, expect_strength=each) for each in ("0.5", 500))
    assert unlike.alone is not None
    assert alike.alone is not None
    assert alike.width / alike.alone < unlike.width / unlike.alone


@pytest.mark.parametrize(
    "options", [{"expect_strength": Fraction(20)}, pytest.param({"k": 3, "public": "nothing"}, marks=pytest.mark.slow)]
)
def test_the_command_says_what_python_finds(options: dict[str, Any]) -> None:
    found = planned(n=6, epsilon=1, pooled=3, **options)
    words = ["plan", "--n", "6", "--epsilon", "1", "--pooled", "3", "--prior", f"uniform:{options.get('k', 2)}"]
    words += ["--public", options.get("public", "total")] + (["--expect-strength", "20"] if "expect_strength" in options else [])
    said = json.loads(invoke(*words, "--json").stdout)
    assert found.alone is not None
    assert (said["width"], said["pooled"], said["width_by_itself"]) == (float(found.width), 3, float(found.alone))
    assert "in each of 3 groups that are read together" in found.sentence
    if found.public == "nothing":
        assert found.sentence in invoke(*words).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--pooled", "1", "--epsilon", "1"], "2 or more, got 1"),
        (["--pooled", "3", "--error", "0.2"], "leave out --error"),
        (["--pooled", "3", "--curve"], "leave out --curve"),
        (["--expect-strength", "3", "--width", "20%"], "say how many there are with --pooled"),
        (["--pooled", "3", "--epsilon", "1", "-m", "LaplaceHistogram"], "which LatticeGeometric releases"),
        (["--pooled", "3", "--by", "sex=f,m", "--epsilon", "1"], "leave out --pooled"),
    ],
)
def test_what_is_not_planned_together_is_refused_in_one_line(words: list[str], says: str) -> None:
    assert_refused(invoke("plan", "--n", "8", *words), says)
