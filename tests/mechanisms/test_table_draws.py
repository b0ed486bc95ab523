"""Draws of tables: the joint law of the noise under all three promises, reports by brute force, and nothing but the source of bits."""

from collections.abc import Hashable
from functools import cache
from itertools import product
from math import exp, inf, log, prod
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.sampling import SeededBits
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, DryBits, Law, forbid_other_randomness
from tests.support import lattice

BY = {"region": ["north", "south"]}
PRIOR = {k: dc.Dirichlet.uniform(categories="abc"[:k]) for k in (2, 3)}
SHAPES: dict[str, tuple[int, list[tuple[str, str]]]] = {
    "2x2": (2, []),
    "2x3": (3, []),
    "2x3, one impossible": (3, [("north", "b")]),
    "2x3, one left": (3, [("north", "a"), ("north", "c")]),
    "2x3, an empty group": (3, [("south", "a"), ("south", "b"), ("south", "c")]),
}
PUBLIC = ("sizes", "total", "nothing")
EPSILON = "1.5"
DRAWS = 5_000
REACH = {2: 16, 3: 14, 4: 12, 5: 8, 6: 8}
"""By the cells of a block: noise that is larger in all is counted together; it is rare."""


def world(shape: str, public: str, epsilon: Any = EPSILON, records: int = 4) -> tuple[LatticeGeometric, np.ndarray[Any, Any]]:
    """A mechanism and a table of its space, with so many records in every cell that can occur."""
    k, impossible = SHAPES[shape]
    free = LatticeGeometric(PRIOR[k], None, epsilon, by=BY, impossible=impossible)
    counts = np.where(free._table.cells.possible, records, 0)
    n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[public]
    return LatticeGeometric(PRIOR[k], n, epsilon, by=BY, impossible=impossible), counts


@cache
def law(shape: str, public: str, epsilon: Any = EPSILON) -> Law:
    """The law of the noise, all cells in a row, straight from the definition: e^-ε for each step, where steps keep what is public."""
    made, _ = world(shape, public, epsilon)
    cells = [*zip(*np.nonzero(made._table.cells.possible), strict=True)]
    rate = float(made.epsilon)
    blocks = [[i for i, (g, _) in enumerate(cells) if g == group] for group in (0, 1)] if public == "sizes" else [[*range(len(cells))]]
    parts = []
    for block in blocks:
        points = [d for d in _within(len(block), REACH.get(len(block), 0)) if public == "nothing" or sum(d) == 0]
        parts.append({d: exp(-rate * sum(map(abs, d)) / (1 if public == "nothing" else 2)) for d in points})
    totals = [_total(len(block), rate, public) for block in blocks]
    shares = [{d: weight / total for d, weight in part.items()} for part, total in zip(parts, totals, strict=True)]
    return Law({sum(key, ()): prod(share[d] for share, d in zip(shares, key, strict=True)) for key in product(*shares)})


def _within(cells: int, reach: int) -> list[tuple[int, ...]]:
    """All integer vectors of this length whose absolute values add up to at most `reach`."""
    points: list[tuple[int, ...]] = [()]
    for _ in range(cells):
        points = [(*p, d) for p in points for d in range(sum(map(abs, p)) - reach, reach - sum(map(abs, p)) + 1)]
    return points


def _total(cells: int, rate: float, public: str) -> float:
    """The sum of all weights of a block, by convolving those of its cells as far as any matter."""
    line = np.exp(-rate * np.abs(np.arange(-200, 201)) / (1 if public == "nothing" else 2))
    sums = np.array([1.0])
    for _ in range(cells):
        sums = np.convolve(sums, line)
    return float(sums.sum() if public == "nothing" else sums[len(sums) // 2])


def noise(made: LatticeGeometric, counts: np.ndarray[Any, Any], seed: int, draws: int) -> list[Hashable]:
    """Noise of so many draws of the sampler, which is what a release adds its report to."""
    source, possible, sampler = SeededBits(seed), made._table.cells.possible, made._sampler(counts)
    return [tuple((sampler.draw(source) - counts)[possible].tolist()) for _ in range(draws)]


@pytest.mark.parametrize("public", PUBLIC)
def test_a_release_is_a_draw_of_the_sampler(public: str) -> None:
    made, counts = world("2x3, one impossible", public)
    for seed in range(20):
        drawn = made.release(counts, source=SeededBits(seed), steady=False).raw
        np.testing.assert_array_equal(drawn, made._sampler(counts).draw(SeededBits(seed)))


@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("shape", SHAPES)
def test_log_prob_is_the_definition(shape: str, public: str) -> None:
    made, counts = world(shape, public)
    possible, expected = made._table.cells.possible, law(shape, public).probability
    for key in [*expected][:: 1 + len(expected) // 40]:
        raw = counts.copy()
        raw[possible] += np.array(key)
        assert made.log_prob(counts, raw) == pytest.approx(log(expected[key]), abs=1e-11)
    moved = counts.copy()
    moved[tuple(np.argwhere(possible)[0])] += 1
    assert (made.log_prob(counts, moved) == -inf) == (public != "nothing")
    if not possible.all():
        outside = counts.copy()
        outside[tuple(np.argwhere(~possible)[0])] += 1
        outside[tuple(np.argwhere(possible)[-1])] -= 1
        assert made.log_prob(counts, outside) == -inf


@pytest.mark.slow
@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("shape", SHAPES)
def test_drawn_tables_have_their_joint_law_and_a_scale_off_by_a_tenth_is_caught(shape: str, public: str) -> None:
    """A false alarm has probability `FALSE_ALARM`, 1e-5, in each of the 15 cases."""
    right, off = law(shape, public), float(EPSILON) * float(WRONG)
    assert right.p_value(noise(*world(shape, public), seed=1, draws=DRAWS)) > FALSE_ALARM
    assert right.power(law(shape, public, off), DRAWS) > POWER
    assert right.p_value(noise(*world(shape, public, off), seed=2, draws=DRAWS)) < FALSE_ALARM


@pytest.mark.parametrize("public", PUBLIC)
def test_a_short_run_has_the_joint_law(public: str) -> None:
    right = law("2x3, one impossible", public)
    assert right.p_value(noise(*world("2x3, one impossible", public), seed=3, draws=1000)) > FALSE_ALARM
    double = world("2x3, one impossible", public, "3")
    assert right.p_value(noise(*double, seed=4, draws=1000)) < FALSE_ALARM


@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("shape", ["2x3, one impossible", "2x2"])
def test_simulated_tables_have_the_law_of_their_reports(shape: str, public: str) -> None:
    """`simulate` gives reported counts: with so many records in every cell none is cut, and reports are outcomes."""
    k, impossible = SHAPES[shape]
    free = LatticeGeometric(PRIOR[k], None, EPSILON, by=BY, impossible=impossible)
    counts = np.where(free._table.cells.possible, 10**6, 0)
    n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[public]
    made = LatticeGeometric(PRIOR[k], n, EPSILON, by=BY, impossible=impossible)
    reports = made.simulate(counts, 2000, rng=5)
    assert reports.shape == (2000, 2, k)
    drawn = [tuple((report - counts)[made._table.cells.possible].tolist()) for report in reports]
    assert law(shape, public).p_value(drawn) > FALSE_ALARM
    assert law(shape, public, "0.75").p_value(drawn) < FALSE_ALARM


# --- reports ----------------------------------------------------------------------------------------------------------


def nearest(row: tuple[int, ...], total: int) -> set[tuple[int, ...]]:
    """All counts with this total that are nearest to a row of noisy ones."""
    points = lattice(total, len(row)) if len(row) > 1 else np.array([[total]])
    distance = ((points - np.array(row)) ** 2).sum(axis=1)
    return {tuple(point) for point in points[distance == distance.min()].tolist()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("public", PUBLIC)
def test_reports_are_the_nearest_tables(shape: str, public: str) -> None:
    made, counts = world(shape, public, "0.3", records=1)
    possible, source = made._table.cells.possible, SeededBits(6)
    prepared = made.prepare(counts)
    for _ in range(20):
        release = prepared.draw(source, steady=False)
        raw, report = np.asarray(release.raw), np.asarray(release.counts)
        assert not report[~possible].any()
        if public == "nothing":
            np.testing.assert_array_equal(report, np.where(raw < 0, 0, raw))
            continue
        blocks = [np.argwhere(possible)] if public == "total" else [np.argwhere(possible & (np.arange(2)[:, None] == g)) for g in (0, 1)]
        for block in blocks:
            if len(block):
                at = tuple(block.T)
                assert tuple(report[at].tolist()) in nearest(tuple(raw[at].tolist()), int(counts[at].sum()))


def test_a_group_without_records_is_reported_without() -> None:
    """It has noise like all others, because nothing but its size may show."""
    made = LatticeGeometric(PRIOR[3], [0, 9], 1, by=BY)
    releases = [made.release([[0, 0, 0], [3, 3, 3]], source=SeededBits(seed), steady=False) for seed in range(20)]
    assert all(np.asarray(release.counts)[0].tolist() == [0, 0, 0] for release in releases)
    assert any(np.asarray(release.raw)[0].any() for release in releases)
    assert all(np.asarray(release.raw).sum(axis=1).tolist() == [0, 9] for release in releases)


# --- where the randomness comes from ----------------------------------------------------------------------------------


@pytest.mark.parametrize("public", PUBLIC)
def test_a_table_is_drawn_from_the_bit_source_alone(public: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, counts = world("2x3, one impossible", public)
    forbid_other_randomness(monkeypatch)
    assert made.release(counts, source=SeededBits(5)) == made.release(counts, source=SeededBits(5))
    assert len({made.release(counts, steady=False).raw.tobytes() for _ in range(30)}) > 1


@pytest.mark.parametrize("public", PUBLIC)
def test_a_source_that_runs_dry_releases_no_table(public: str) -> None:
    made, counts = world("2x2", public)
    with pytest.raises(dc.EntropyError):
        made.release(counts, source=DryBits())
