"""What an attacker tried, kept: releases with extreme parameters end, in an error of ours before the spend or in a record."""

import subprocess
import sys

import pytest

import discreet as dc
from tests.mechanisms.attack import Case, attempt

SECONDS = 100
"""For one release in a busy process; the slowest take some ten alone. Only a hang takes longer, and this is no claim about speed."""
SEEDS = {"first": 11, "second": 12}
CASES = 250

CORNER = (30, *[0] * 99)
NAMED = [
    Case("HellingerGlobal", "", ("100",) * 100, CORNER, "10"),  # attempts succeeded with probability 2^-57
    Case("HellingerSmooth", "", ("1000",) * 20, CORNER[:20], "10"),
    Case("HellingerSmoothDelta", "", ("1e6",) * 4, (1, 0, 0, 0), "6.02e+14"),
    Case("LatticeGeometric", "Remapped", ("1e-17",) * 4, (40, 10, 5, 5), "1"),  # ValueError
    Case("LatticeGeometric", "Remapped", ("1.31e-94", "1.23e-95", "1.92e+08"), (146, 0, 0), "0.0735"),
    Case("LaplaceHistogram", "Remapped", ("2.87e+84",) * 4, (5861, 5860, 5860, 5860), "1.24"),  # OverflowError
    Case("LaplaceZhang", "Remapped", ("8.69e+21",) * 3, (161, 0, 0), "1.05e+11"),  # MemoryError: 797 GiB
    Case("LatticeGeometric", "Remapped", ("1e6",) * 30, (10**9, *[0] * 29), "0.136"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", NAMED, ids=lambda case: f"{case.wrapper}{case.name}, k = {len(case.counts)}")
def test_what_hung_or_failed_after_the_spend_is_released_or_refused_before_it(case: Case) -> None:
    assert attempt(case) in ("released", "refused")


def test_reports_of_tiny_priors_are_released_and_not_refused() -> None:
    assert [attempt(case) for case in NAMED[:5]] == ["released"] * 5


def test_a_report_that_needs_too_many_nodes_is_refused_before_the_spend_by_public_numbers() -> None:
    mechanism = NAMED[-1].mechanism()
    for counts in (NAMED[-1].counts, (10**9 - 29, *[1] * 29)):
        with pytest.raises(dc.TooLargeError, match="without Remapped"):
            mechanism.prepare(counts)


def test_a_study_mechanism_is_refused_before_the_spend_too() -> None:
    mechanism = dc.MetricExponential(dc.Beta(1, 1), 5, 1, dc.total_variation)
    with pytest.raises(dc.RefusedError, match="for study"):
        mechanism.prepare([3, 2], allow_nonprivate=True)


def run(seed: int, cases: int, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.mechanisms.attack", str(seed), str(cases), str(seconds)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_random_corners_are_released_or_refused(seed: int) -> None:
    found = run(seed, CASES, SECONDS)
    assert found.returncode == 0, f"{found.stdout.splitlines()[-1]}\n{found.stderr}"
    assert found.stdout.count(" released\n") > CASES // 2
    assert found.stdout.count(" refused\n") > CASES // 50


def test_a_release_that_does_not_end_is_found_out() -> None:
    """Twenty releases do not all end within a millisecond, so with this limit one of them hangs."""
    found = run(1, 20, 1e-3)
    assert found.returncode != 0
    assert "Timeout" in found.stderr
    assert found.stdout.startswith("Case(")
