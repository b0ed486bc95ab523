"""What `release()` returns has the law that was proved private, for every mechanism, and comes from the bit source alone."""

import _asyncio
import asyncio
import gc
import random
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import discreet as dc
from discreet.mechanisms.base import Mechanism
from discreet.sampling import CandidateSampler, SeededBits
from tests.sampling.support import DryBits, forbid_other_randomness
from tests.support import mostly_slow

DRAWS = 4_000
FALSE_ALARM = 1e-6
"""Of each test; fewer than 100 are made here, so one run in ten thousand at most is a false alarm."""
CERTAIN = 0.999
LEAST_EXPECTED = 8.0

BETA, DIRICHLET = dc.Beta(1, "0.4"), dc.Dirichlet(["1", "0.3", "2"])
TWO, THREE = [7, 3], [2, 4, 2]
FAMILIES: dict[str, Callable[[Any, int, Any], Mechanism]] = {
    "LaplaceZhang": dc.LaplaceZhang,
    "LaplaceDimension": dc.LaplaceDimension,
    "LaplaceHistogram": dc.LaplaceHistogram,
    "LaplaceHistogram, literal": lambda prior, n, epsilon: dc.LaplaceHistogram(prior, n, epsilon, consistent=False),
    "LaplaceHistogram, nearest": lambda prior, n, epsilon: dc.LaplaceHistogram(prior, n, epsilon, rounding="nearest"),
    "HellingerGlobal": dc.HellingerGlobal,
    "HellingerLocal": dc.HellingerLocal,
    "HellingerSmooth": dc.HellingerSmooth,
    "HellingerSmoothDelta": lambda prior, n, epsilon: dc.HellingerSmoothDelta(prior, n, epsilon, delta="1e-4"),
    "LatticeGeometric": dc.LatticeGeometric,
    "LatticeGeometric, cut": lambda prior, n, epsilon: dc.LatticeGeometric(prior, n, epsilon, projection="cut"),
    "Remapped": lambda prior, n, epsilon: dc.Remapped(dc.LatticeGeometric(prior, n, epsilon)),
    "Calibrated": lambda prior, n, epsilon: dc.Calibrated(dc.HellingerSmooth(prior, n, epsilon)),
}


def probabilities(mechanism: Mechanism, counts: list[int]) -> dict[tuple[int, ...], float]:
    law = mechanism.law(counts)
    return {tuple(row): float(p) for row, p in zip(law.counts.tolist(), law.probability, strict=True)}


def pooled(expected: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> list[tuple[set[tuple[int, ...]], float, float]]:
    """Cells of outcomes with enough expected draws each, and their probabilities under both laws."""
    cells, cell, p, q = [], set(), 0.0, 0.0
    for outcome in sorted(expected, key=lambda o: -expected[o]):
        cell.add(outcome)
        p, q = p + expected[outcome], q + other.get(outcome, 0.0)
        if p * DRAWS >= LEAST_EXPECTED:
            cells.append((cell, p, q))
            cell, p, q = set(), 0.0, 0.0
    if cell:
        last, last_p, last_q = cells.pop()
        cells.append((last | cell, last_p + p, last_q + q))
    return cells


def statistic(draws: list[tuple[int, ...]], cells: list[tuple[set[tuple[int, ...]], float, float]]) -> float:
    total = 0.0
    for cell, p, _ in cells:
        seen = sum(draw in cell for draw in draws)
        total += (seen - DRAWS * p) ** 2 / (DRAWS * p)
    return total


def released(mechanism: Mechanism, counts: list[int], seed: int) -> list[tuple[int, ...]]:
    source = SeededBits(seed)
    return [mechanism.release(counts, source=source, allow_nonprivate=True, steady=False).counts for _ in range(DRAWS)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("prior", "counts"), [(BETA, TWO), (DIRICHLET, THREE)], ids=["k=2", "k=3"])
def test_released_counts_have_the_law_and_a_scale_off_by_a_tenth_is_caught(name: str, prior: Any, counts: list[int]) -> None:
    mechanism, off = (FAMILIES[name](prior, sum(counts), epsilon) for epsilon in ("2", "2.2"))
    cells = pooled(probabilities(mechanism, counts), probabilities(off, counts))
    limit = float(chi2.ppf(1 - FALSE_ALARM, len(cells) - 1))
    assert statistic(released(mechanism, counts, seed=1), cells) < limit
    noncentrality = DRAWS * sum((q - p) ** 2 / p for _, p, q in cells)
    if ncx2.sf(limit, len(cells) - 1, noncentrality) > CERTAIN:
        assert statistic(released(off, counts, seed=2), cells) > limit


@pytest.mark.parametrize("name", FAMILIES)
def test_a_release_uses_no_other_randomness_than_the_bit_source(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanisms = [(FAMILIES[name](prior, sum(counts), 1), counts) for prior, counts in ((BETA, TWO), (DIRICHLET, THREE))]
    for mechanism, _ in mechanisms:
        _ = mechanism.guarantee
    forbid_other_randomness(monkeypatch)
    for mechanism, counts in mechanisms:
        first = mechanism.release(counts, source=SeededBits(5), allow_nonprivate=True)
        second = mechanism.release(counts, source=SeededBits(5), allow_nonprivate=True)
        assert first == second


@pytest.mark.parametrize("name", FAMILIES)
def test_a_source_that_runs_dry_releases_nothing(name: str) -> None:
    with pytest.raises(dc.EntropyError):
        FAMILIES[name](BETA, 10, 1).release(TWO, source=DryBits(), allow_nonprivate=True)


def test_what_is_too_large_to_draw_is_refused_before_it_is_drawn() -> None:
    mechanism = dc.HellingerSmooth(dc.Dirichlet.uniform(10), 10**8, 1)
    counts = [10**7] * 10
    with pytest.raises(dc.TooLargeError, match="LatticeGeometric"):
        mechanism.prepare(counts)
    assert dc.LatticeGeometric(dc.Dirichlet.uniform(10), 10**8, 1).prepare(counts).guarantee.epsilon == 1.0


# --- what stays behind ------------------------------------------------------------------------------------------------


NUMBERS = {int, float, np.int64, np.float64}


def searched() -> list[object]:
    """
    All objects that the collector knows but frames, and but the module `_asyncio`: where it is asked for its referents after a future was
    freed, the next collection never ends on Python 3.12 before 3.12.6 (python/cpython#122695). Its dictionary is an object of its own.
    """
    return [thing for thing in gc.get_objects() if thing is not _asyncio and not issubclass(type(thing), FrameType)]


def kept(secrets: list[str]) -> set[str]:
    """The kinds of all objects that hold one of these numbers or the next, which is a prior of 1 more; as such or in an array."""
    gc.collect()
    numbers = {int(secret) + more for secret in secrets for more in (0, 1)}

    def holds(value: Any) -> bool:
        kind = type(value)
        if kind in NUMBERS:
            return value in numbers
        if kind is tuple:  # tuples of numbers are not among the collector's objects
            return any(type(item) in NUMBERS and item in numbers for item in value)
        return issubclass(type(value), np.ndarray) and value.dtype.kind in "iuf" and bool(np.isin(list(numbers), value).any())

    holders = [holder for holder in searched() if holder is not numbers]
    if not any(map(holds, gc.get_referents(*holders))):
        return set()
    return {type(holder).__name__ for holder in holders if any(map(holds, gc.get_referents(holder)))}


def test_what_is_kept_can_be_searched_for_after_a_future_was_freed() -> None:
    async def wait() -> None:
        await asyncio.sleep(0.001)

    asyncio.run(wait())
    found = searched()
    assert not any(thing is _asyncio for thing in found)
    assert any(thing is vars(_asyncio) for thing in found)
    gc.get_referents(*found)
    gc.collect()  # does not end on Python 3.12.1 if the module was asked


def new_secrets(k: int) -> list[str]:
    """Random counts that no object of this process holds, written as text: an object that holds one of them later got it from the test."""
    while True:
        secrets = [str(random.SystemRandom().randrange(10**5, 2 * 10**5)) for _ in range(k)]
        if not kept(secrets):
            return secrets


def samplers() -> list[str]:
    gc.collect()
    return [type(thing).__name__ for thing in gc.get_objects() if CandidateSampler in type(thing).__mro__]


@pytest.mark.parametrize(
    ("name", "k"),
    [
        pytest.param(name, k, marks=[] if (name, k) in {("LatticeGeometric", 2), ("HellingerSmooth", 2)} else [pytest.mark.slow])
        for name in sorted(set(FAMILIES) - {"Calibrated"})
        for k in (2, 3)
    ],
)
def test_nothing_private_stays_behind(name: str, k: int) -> None:
    """
    The first use loads the libraries that a release needs, with all their constants, and fills public tables; the secrets are chosen after
    it. The second use then adds no number of their size but those that it keeps, because n is at least twice as large.
    """

    def used(secrets: list[str]) -> Mechanism:
        counts = [int(secret) for secret in secrets]
        mechanism = FAMILIES[name](dc.Dirichlet.uniform(k), sum(counts), 1)
        mechanism.release(counts, allow_nonprivate=True)
        if k == 2:
            mechanism.simulate(counts, 3, 1)
        return mechanism

    used(["150000"] * k)
    secrets = new_secrets(k)
    mechanism = used(secrets)
    assert kept(secrets) == set()
    assert samplers() == []
    numbers = re.findall(r"[\d.]+", repr(vars(mechanism)))
    assert not set(secrets) & set(numbers)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("name", ["HellingerLocal", "HellingerSmooth", "LaplaceZhang", "LatticeGeometric"])
def test_no_private_fraction_is_hashed(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on, `fractions` remembers the last numbers that were hashed, which a release must not leave behind."""
    counts, as_before = [1_009, 2_003, 3_001, 4_007][:k], Fraction.__hash__
    hashed: list[Fraction] = []

    def noted(self: Fraction) -> int:
        hashed.append(self)
        return as_before(self)

    monkeypatch.setattr(Fraction, "__hash__", noted)
    FAMILIES[name](dc.Dirichlet.uniform(k), sum(counts), 1).release(counts, allow_nonprivate=True)
    assert not {count + more for count in counts for more in (-1, 0, 1)} & {int(one) for one in hashed}


@pytest.mark.slow
@pytest.mark.parametrize("public", mostly_slow(["nothing", "sizes", "total"], 1))
def test_nothing_of_a_private_table_stays_behind(public: str, tmp_path: Path) -> None:
    """As above: the secrets are chosen after a first use, among the numbers that nothing holds."""

    def used(secrets: list[str], path: Path) -> tuple[Mechanism, dc.Release]:
        counts = np.array([int(secret) for secret in secrets]).reshape(2, 3)
        n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[public]
        mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), n, "1e-9", by={"region": ["north", "south"]})
        release = mechanism.release(counts)
        release.to_parquet(path)
        dc.Release.from_parquet(path)
        mechanism.simulate(counts, 3, 1)
        return mechanism, release

    used(["150000"] * 6, tmp_path / "first.parquet")
    secrets = new_secrets(6)
    mechanism, release = used(secrets, tmp_path / "table.parquet")
    assert kept(secrets) == set(), release  # the noise is so large that no outcome is likely to be one of these numbers
    assert not any(secret in repr(vars(mechanism)) for secret in secrets)
    prepared = mechanism.prepare(np.array([int(secret) for secret in secrets]).reshape(2, 3))
    assert kept(secrets) != set(), type(prepared)  # the same search, where there is something to find


@pytest.mark.slow
def test_a_sampler_that_is_kept_would_be_found() -> None:
    secrets = new_secrets(3)
    counts = [int(secret) for secret in secrets]
    sampler = dc.HellingerGlobal(dc.Dirichlet.uniform(3), sum(counts), 1)._sampler(counts)
    assert samplers() == [type(sampler).__name__]
    assert len(kept(secrets)) >= 3


@pytest.mark.parametrize("wrapper", [dc.Remapped, dc.Calibrated])
def test_no_sampler_stays_in_what_composition_and_calibration_keep(wrapper: Callable[[Any], Mechanism]) -> None:
    inner = dc.HellingerSmooth(DIRICHLET, 8, 1)
    inner.release(THREE)
    mechanism = wrapper(inner)
    mechanism.release(THREE)
    mechanism.law(THREE)
    accountant = dc.Accountant()
    accountant.add(mechanism)
    accountant.epsilon(1e-6)
    assert samplers() == []


def test_a_release_from_bits_that_are_not_secret_says_that_nothing_is_promised() -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 10, 1)
    assert mechanism.release(TWO).guarantee.basis == "proof"
    assert mechanism.release(TWO, source=SeededBits(1)).guarantee.basis == "none"
