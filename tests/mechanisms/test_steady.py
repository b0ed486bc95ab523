"""Steady draws end at multiples of a public quantum of time. The clock is made up: no test times anything."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import EntropyError
from discreet.mechanisms import Mechanism, samplers
from discreet.mechanisms.reports import Projected
from discreet.sampling import SeededBits

QUANTUM, SHORTEST = 1.0 / 16.0, 1.0 / 64.0


class Clock:
    """A clock that only sleeping and work move on; who sleeps may be woken early."""

    def __init__(self, early: float = 1.0) -> None:
        self.time, self.slept, self._early = 1000.0, 0, early

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        assert self.slept < 1000
        self.time += seconds * self._early if seconds > 1e-6 else seconds


class SlowBits(SeededBits):
    """Bits that take time, or fail after some."""

    def __init__(self, clock: Clock, seconds: float, *, fail: bool = False) -> None:
        super().__init__(1)
        self._clock, self._seconds, self._fail = clock, seconds, fail

    def bits(self, count: int) -> int:
        self._clock.time += self._seconds
        if self._fail:
            raise EntropyError("none left")
        return super().bits(count)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return _installed(Clock(), monkeypatch)


def _installed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(samplers, "monotonic", lambda: clock.time)
    monkeypatch.setattr(samplers, "sleep", clock.sleep)
    return clock


def smooth(n: int = 20) -> dc.HellingerSmooth:
    return dc.HellingerSmooth(dc.Dirichlet.uniform(2), n, 1)


@pytest.mark.parametrize(("seconds", "quanta"), [(0.0, 1), (0.01, 1), (QUANTUM, 1), (0.07, 2), (0.3, 5)])
def test_a_steady_draw_ends_at_the_next_multiple(clock: Clock, seconds: float, quanta: int) -> None:
    smooth().release([12, 8], source=SlowBits(clock, seconds))
    assert clock.time == 1000.0 + quanta * QUANTUM


def test_whoever_is_woken_early_goes_on_sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _installed(Clock(early=0.5), monkeypatch)
    smooth().release([12, 8], source=SlowBits(clock, 0.01))
    assert clock.slept > 2
    assert clock.time >= 1000.0 + QUANTUM


def test_a_draw_that_fails_ends_at_a_multiple_too(clock: Clock) -> None:
    with pytest.raises(EntropyError):
        smooth().release([12, 8], source=SlowBits(clock, 0.01, fail=True))
    assert clock.time == 1000.0 + QUANTUM


def test_a_simulation_does_not_wait(clock: Clock) -> None:
    smooth().release([12, 8], steady=False)
    smooth().prepare([12, 8]).draw(steady=False)
    assert not clock.slept


NOISY = [
    dc.LatticeGeometric(dc.Beta(1, 1), 20, 1),
    dc.LatticeGeometric(dc.Beta(1, 1), None, 1),
    dc.LaplaceHistogram(dc.Beta(1, 1), 20, 1),
    dc.LaplaceDimension(dc.Beta(1, 1), 20, 1),
    dc.LaplaceZhang(dc.Beta(1, 1), 20, 1),
]


@pytest.mark.parametrize("mechanism", NOISY, ids=repr)
def test_noise_is_drawn_in_whole_quanta_too(clock: Clock, mechanism: Mechanism) -> None:
    mechanism.release([12, 8])
    assert clock.time == 1000.0 + mechanism._time_quantum == 1000.0 + SHORTEST


def test_a_table_is_drawn_in_whole_quanta(clock: Clock) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), [20, 3], 1, by={"g": ["a", "b"]})
    mechanism.release([[12, 8], [1, 2]])
    assert clock.time == 1000.0 + SHORTEST


def test_the_report_is_part_of_the_time(clock: Clock) -> None:
    class SlowReport(Projected):
        """A report that takes time, which its quantum must not leave out."""

        def one(self, raw: Any) -> Any:
            clock.time += SHORTEST * 1.5
            return super().one(raw)

    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 20, 1)
    evolve(mechanism.prepare([12, 8]), mechanism=evolve(mechanism, report=SlowReport(20))).draw()  # type: ignore[misc]
    assert clock.time == 1000.0 + 2 * SHORTEST


def test_the_record_of_a_steady_draw_is_that_of_another(clock: Clock) -> None:
    assert smooth().release([12, 8], source=SeededBits(3)) == smooth().release([12, 8], source=SeededBits(3), steady=False)
    assert clock.slept


def test_the_ledger_draws_steadily(clock: Clock, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", epsilon=2)
    ledger.release("survey", smooth(), [12, 8])
    assert clock.time == 1000.0 + QUANTUM


@pytest.mark.parametrize("with_ledger", [False, True])
def test_the_command_line_draws_steadily(clock: Clock, tmp_path: Path, with_ledger: bool) -> None:
    data = tmp_path / "survey.csv"
    data.write_text("answer\n" + "yes\n" * 12 + "no\n" * 8)
    words = ["release", str(data), "--column", "answer", "--categories", "yes,no", "--epsilon", "1", "-m", "EHDS", "--yes"]
    if with_ledger:
        dc.Ledger(tmp_path / "ledger.db").create("survey", epsilon=2)
        words += ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "survey"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert clock.time == 1000.0 + QUANTUM


# --- the quantum ------------------------------------------------------------------------------------------------------

FAMILY: list[Callable[..., Mechanism]] = [dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta]


@pytest.mark.parametrize("cls", FAMILY)
@pytest.mark.parametrize(("k", "n"), [(2, 10), (2, 10**12), (3, 50), (3, 5000), (12, 300)])
def test_the_quantum_is_one_of_few_and_known_before_any_data(cls: Callable[..., Mechanism], k: int, n: int) -> None:
    quantum = cls(dc.Dirichlet.uniform(k), n, 1)._time_quantum
    assert quantum in [QUANTUM * 2**power for power in range(12)]
    assert quantum == cls(dc.Dirichlet.uniform(k), n, 1)._time_quantum


def test_every_dataset_takes_the_same_time_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source whose bits take as long as the data are lopsided: what it adds to the draw is not seen."""
    mechanism, seen = dc.HellingerSmooth(dc.Dirichlet.uniform(3), 4, 1), set()
    for counts in mechanism._outcomes().tolist():
        clock = _installed(Clock(), monkeypatch)
        mechanism.release(counts, source=SlowBits(clock, max(counts) / 100.0))
        seen.add(clock.time - 1000.0)
    assert seen == {QUANTUM}


def test_the_quantum_grows_with_the_tables_that_the_worst_data_need() -> None:
    quanta = [dc.HellingerSmooth(dc.Dirichlet.uniform(3), n, 1)._time_quantum for n in (100, 1000, 10**5, 10**7)]
    assert quanta == sorted(quanta)
    assert quanta[0] < quanta[1] < quanta[2] < quanta[3]


@pytest.mark.parametrize(
    ("plain", "seconds"),
    [
        (dc.HellingerSmooth(dc.Beta(1, 1), 1000, 1), 0.093),
        (dc.HellingerSmooth(dc.Dirichlet.uniform(3), 60, 1), 0.345),
        (dc.LatticeGeometric(dc.Dirichlet.uniform(5), None, "0.001"), 0.138),
        (dc.LatticeGeometric(dc.Dirichlet.uniform(100), 10**5, "0.001"), 0.208),
    ],
    ids=repr,
)
def test_the_quantum_counts_the_search_for_a_report(plain: Mechanism, seconds: float) -> None:
    """Each search was measured to take so long, on a machine of two cores: the quantum is three times as long."""
    assert dc.Remapped(plain)._time_quantum >= plain._time_quantum
    assert dc.Remapped(plain)._time_quantum >= 3.0 * seconds


def test_the_quantum_of_noise_grows_with_cells_and_with_what_is_attempted_together() -> None:
    def quantum(k: int, n: int | list[int] | None, groups: int) -> float:
        by = {"g": list(range(groups))}
        return dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, "0.001", by=by)._time_quantum

    assert quantum(3, None, 10) == SHORTEST
    assert quantum(3, None, 10) < quantum(3, None, 10**4) < quantum(3, None, 10**5)
    assert quantum(1000, None, 20) < quantum(1000, [9] * 20, 20)
    assert quantum(3, 10**6, 10**5) >= 3 * 0.07  # what was measured, for a tenth of the cells that took 0.6 seconds
