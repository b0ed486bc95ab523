"""Discrete Gaussian noise for ten million counts: discreet's exact arrays beside OpenDP's, in one run, by processor time.

OpenDP draws fewer counts, which are scaled: its time is in proportion to them.
"""

from fractions import Fraction
from time import process_time

from benchmarks.timing import shown, table
from discreet.sampling import SystemBits
from discreet.sampling.bulk import discrete_gaussian_array

DEVIATIONS = (1, 10, 1000)
OURS, THEIRS = 10**7, 10**5


def run() -> str:
    """Markdown."""
    rows = [_row(sigma) for sigma in DEVIATIONS]
    head = ("σ", f"discreet, {OURS:,} counts", f"OpenDP, the same (scaled from {THEIRS:,})", "times as long")
    return f"## Discrete Gaussian noise\n\n{table(head, rows)}\n"


def _row(sigma: int) -> tuple[str, ...]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    discrete_gaussian_array(SystemBits(), Fraction(sigma**2), 1)  # makes the table
    start = process_time()
    discrete_gaussian_array(SystemBits(), Fraction(sigma**2), OURS)
    ours = process_time() - start
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    mechanism, counts = dp.m.make_gaussian(*space, scale=float(sigma)), [0] * THEIRS
    mechanism([0] * 100)
    start = process_time()
    mechanism(counts)
    theirs = (process_time() - start) * OURS / THEIRS
    return str(sigma), shown(ours), shown(theirs), f"{theirs / ours:.0f}"


if __name__ == "__main__":
    print(run())
