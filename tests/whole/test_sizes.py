"""Any n to 10^12 and any k to 1,000: every call answers or says in one line what is not computed, in seconds and little memory."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms import MECHANISMS
from tests.places import ROOT
from tests.support import mostly_slow
from tests.whole.size_cases import API, COMMANDS, CONTROLS, WRAPPED

MEGABYTES = 1024
"""What a call may hold at most. Its child is killed by the limit on its data before the machine suffers."""
NAMES = [cls.__name__ for cls in MECHANISMS]
LONG = ("interval", "mean", "plot", "plot prior", "sample", "discreet show")
"""Everything about each of many categories takes long: up to 100 of them here."""
PARTS = 2
"""The fuzz runs in so many tests, to be run side by side."""
ROUNDS = 1
"""How often each call is tried."""

Case = dict[str, Any]


def outcomes(cases: list[Case]) -> list[Case]:
    """What came of the cases, each in a child of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.whole.size_cases"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    return [json.loads(line) for line in found.stdout.splitlines()]


def faults(cases: list[Case]) -> list[str]:
    """Cases that neither answered nor refused, or took too much memory, each with what came of it."""
    found = outcomes(cases)
    assert len(found) == len(cases)
    return [json.dumps(case) for case in found if case["outcome"].startswith("fault") or case["megabytes"] > MEGABYTES]


def case(call: str, n: int, prior: list[float], epsilon: float, **others: Any) -> Case:
    usual = {
        "mechanism": "LatticeGeometric",
        "planned": "LatticeGeometric",
        "papers": "LatticeGeometric",
        "target": 0.05,
        "data": "falling",
    }
    return {"call": call, "n": n, "prior": prior, "epsilon": epsilon, **usual, **others}


def test_faults_are_noticed() -> None:
    """The controls: memory, time, a warning and an error of another library each make a fault."""
    found = outcomes([{**case(call, 1, [1.0, 1.0], 1.0), "limit": 2} for call in CONTROLS])
    assert [each["outcome"].startswith("fault") for each in found] == [True] * len(CONTROLS)


ONCE_TOO_LARGE = [
    case("predictive", 10**12, [1.0] * 10, 0.1, mechanism="LaplaceZhang"),
    case("predictive", 10**12, [1.0] * 100, 0.1),
    case("predictive", 10**9, [1.0] * 2, 0.1, mechanism="LaplaceHistogram"),
    case("predictive", 10**6, [1.0] * 5, 1.0, mechanism="HellingerSmooth"),
    case("worst", 10**9, [1.0] * 2, 0.1),
    case("given", 10**12, [0.5] * 2, 1e-3, mechanism="HellingerSmooth"),
    case("given", 10**12, [0.5] * 1000, 1.0, mechanism="LaplaceHistogram"),
    case("law", 10**9, [1.0] * 2, 1.0),
    case("law", 10, [1.0] * 12, 1000.0, mechanism="LaplaceZhang"),
    case("error_law", 10**8, [1.0] * 2, 1.0),
    case("loss_profile", 10**12, [1.0] * 2, 1.0),
    case("privacy_loss", 45_000, [1.0, 2.0], 1.0, mechanism="HellingerGlobal"),
    case("privacy_loss", 2, [float(a) for a in range(1, 86)], 1.0, mechanism="HellingerGlobal"),
    case("optimal", 1, [1.0] * 100, 1.0),
    case("optimal", 20, [1.0] * 2, 1000.0),
    case("audit", 10**6, [1.0] * 1000, 1.0),
    case("accountant", 10**12, [1.0] * 3, 1.0),
    case("mean", 10**6, [1.0] * 50, 1e-6),
    case("smooth_sensitivity", 10**12, [1.0] * 1000, 1.0),
    case("simulate", 10**12, [1e6] * 100, 1.0, mechanism="Remapped(LatticeGeometric)"),
    case("private compare", 10**12, [1.0] * 3, 0.1),
    case("private compare", 10**6, [1e6, 3.0], 1e-3),
    case("private given", 10**9, [0.5] * 1000, 1e-3),
    case("private remap", 10**12, [1.0] * 300, 0.01),
    case("discreet verify", 10**12, [1.0] * 1000, 1e-9, papers="HellingerSmoothDelta"),
]


@pytest.mark.parametrize("part", mostly_slow([slice(0, None, 3), slice(1, None, 3), slice(2, None, 3)], 1), ids=str)
def test_some_sizes_that_once_took_all_memory_or_minutes(part: slice) -> None:
    assert not faults(ONCE_TOO_LARGE[part])


# --- the whole command line and library -------------------------------------------------------------------------------

NAMED = [
    case("discreet compare", 10**9, [1.0] * 2, 0.1),
    case("discreet compare", 10**9, [1.0] * 10, 0.1),
    case("discreet compare", 10**6, [1.0] * 2, 0.1),
    case("discreet compare", 10**12, [1.0] * 1000, 1e-9),
    case("discreet plan --epsilon", 1, [1.0] * 5, 0.5),
    case("discreet compare", 3_800, [0.5] * 2, 1e-8),
    case("discreet compare", 1, [1.0] * 100, 1.0),
]
"""Those that were reported, and sizes at which much is just allowed."""


def random_case(call: str, rng: np.random.Generator) -> Case:
    """Sizes by their logarithms, and priors of several kinds."""
    k = 2 if rng.random() < 0.3 else int(2.0 * 500.0 ** rng.random())
    k = min(k, 100) if call in LONG else k
    some = 10.0 ** rng.uniform(-6.0, 6.0, k)
    prior = [[1.0] * k, [0.5] * k, [float(f"{some[0]:.3g}")] * k, [float(f"{a:.3g}") for a in some]][rng.integers(4)]
    return case(
        call,
        int(10.0 ** rng.uniform(0.0, 12.0)),
        prior,
        float(f"{10.0 ** rng.uniform(-9.0, 3.0):.3g}"),
        mechanism=str(rng.choice([*NAMES, *WRAPPED])),
        planned=str(rng.choice([*NAMES, "Remapped(LatticeGeometric)"])),
        papers=str(rng.choice(NAMES)),
        target=float(f"{10.0 ** rng.uniform(-4.0, -0.1):.3g}"),
        data=str(rng.choice(["alike", "one", "falling"])),
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_call_at_any_size(part: int) -> None:
    rng = np.random.default_rng(2026)
    cases = [*NAMED, *(random_case(call, rng) for _ in range(ROUNDS) for call in (*API, *COMMANDS))]
    assert not faults(cases[part::PARTS])
