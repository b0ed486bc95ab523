"""Privacy, computed: what an exact loss costs as n grows, and how close the worst configurations of a search come to ε."""

import resource
from time import perf_counter

import numpy as np

import discreet as dc
from discreet.mechanisms.base import Mechanism

_SEARCHED = 400


def run() -> str:
    """Markdown tables."""
    return "\n\n".join(["### Privacy", _growth(), _calibration(), _search()])


def _growth() -> str:
    rows = ["| n | seconds | ratio to the row above | peak memory of the process, MB |", "|---|---|---|---|"]
    previous = None
    for n in (1_250, 2_500, 5_000, 10_000, 20_000):
        start = perf_counter()
        dc.privacy_loss(dc.HellingerSmooth(dc.Beta(1, 1), n, 1))
        seconds = perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append(f"| {n:,} | {seconds:.2f} | {'' if previous is None else f'{seconds / previous:.1f}'} | {peak:.0f} |")
        previous = seconds
    return "`privacy_loss(HellingerSmooth)`, k = 2: all n pairs of neighbours, O(n²) time, O(n) memory.\n\n" + "\n".join(rows)


def _calibration() -> str:
    rows = ["| n | factor | certified loss | mean error before | after | LaplaceDimension |", "|---|---|---|---|---|---|"]
    for n in (100, 300, 1000, 3000):
        plain = dc.HellingerSmooth(dc.Beta(1, 1), n, 1)
        calibrated = dc.Calibrated(plain)
        errors = [_mean_error(m) for m in (plain, calibrated, dc.LaplaceDimension(dc.Beta(1, 1), n, 1))]
        rows.append(
            f"| {n:,} | {float(calibrated.factor):.3f} | {calibrated._loss.bound:.6f} | " + " | ".join(f"{e:.4f}" for e in errors) + " |"
        )
    return "`Calibrated(HellingerSmooth)`, a = (1, 1), ε = 1, balanced data.\n\n" + "\n".join(rows)


def _mean_error(mechanism: Mechanism) -> float:
    counts = [mechanism.space.total // 2, mechanism.space.total - mechanism.space.total // 2]
    law = mechanism.law(counts)
    truth = mechanism.prior.concentration + np.array(counts)
    return float(law.probability @ dc.hellinger(truth, mechanism.prior.concentration + law.counts))


def _search() -> str:
    """The worst ratios of loss to ε over random priors, sizes and ε: the same search as tests/analysis/test_privacy.py, smaller."""
    from tests.analysis.test_privacy import search_worst

    rows = ["| mechanism | largest loss/ε | prior | n | ε | γ |", "|---|---|---|---|---|---|"]
    for name, (ratio, found) in search_worst(_SEARCHED, seed=11).items():
        prior = ", ".join(f"{float(a):g}" for a in found.prior.exact)
        rows.append(f"| {name} | {ratio:.4f} | {prior} | {found.n} | {found.epsilon} | {found.gamma} |")
    return f"Worst of {_SEARCHED} random configurations (priors 1e-6 to 1e3, k = 2 to 4, n to 60, ε 0.01 to 40).\n\n" + "\n".join(rows)
