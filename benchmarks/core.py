"""The mathematical core: sensitivities without enumeration, and distances that keep their digits."""

from math import comb

import numpy as np
from flint import arb, ctx
from scipy.special import gammaln
from tests.support import PRECISION, Floats, World, ball, reference_gap, reference_hellinger, relative_error, walked_smooth

import discreet as dc
from benchmarks.timing import growth, seconds, shown, table
from discreet.numerics.gamma import bregman, gap

_LONGEST_WALK = 3 * 10**5
_LARGEST_LATTICE = 10**5


def run() -> str:
    """All tables of the core."""
    parts = [_smooth_in_n(), _smooth_in_k(), _local_in_k(), _hellinger(), _accuracy()]
    return "\n".join(parts)


def _balanced(n: int, k: int) -> list[int]:
    return [n // k + (1 if i < n % k else 0) for i in range(k)]


def _ratio(slow: float | None, fast: float) -> str:
    return "does not fit" if slow is None else f"{shown(slow)} ({slow / fast:.3g}×)"


def _alternatives(prior: dc.Dirichlet, counts: list[int]) -> tuple[float | None, float | None]:
    """Seconds for the walk and for enumeration, where they fit."""
    n, k = sum(counts), prior.k
    reach = 1.0 / dc.local_sensitivity(prior, counts)
    walk = seconds(lambda: walked_smooth(prior, counts, gamma=1.0), 0.05) if reach * k * k < _LONGEST_WALK else None
    fits = comb(n + k - 1, k - 1) <= _LARGEST_LATTICE
    enumeration = seconds(lambda: World(prior, n).smooth_at(counts, gamma=1.0), 0.05) if fits else None
    return walk, enumeration


def _smooth_rows(cases: list[tuple[int, int]]) -> tuple[list[tuple[object, ...]], list[float]]:
    rows: list[tuple[object, ...]] = []
    times = []
    for n, k in cases:
        prior, counts = dc.Dirichlet.uniform(k), _balanced(n, k)
        ours = seconds(lambda p=prior, c=counts: dc.smooth_sensitivity(p, c, gamma=1.0))  # type: ignore[misc]
        walk, enumeration = _alternatives(prior, counts)
        rows.append((f"{n:.0e}", k, shown(ours), _ratio(walk, ours), _ratio(enumeration, ours)))
        times.append(ours)
    return rows, times


_SMOOTH_HEAD = ("n", "k", "leg ends", "walk", "enumeration")


def _smooth_in_n() -> str:
    sizes = [10**e for e in (3, 6, 9, 12, 15)]
    rows, times = _smooth_rows([(n, 2) for n in sizes])
    law = growth(times[0], times[-1], sizes[-1] / sizes[0])
    return f"## smooth_sensitivity as n grows (k = 2, gamma = 1)\n\n{table(_SMOOTH_HEAD, rows)}\n\nGrowth in n: {law}.\n"


def _smooth_in_k() -> str:
    sizes = [2, 3, 5, 10, 20, 50, 100, 200, 500]
    rows, times = _smooth_rows([(10**6, k) for k in sizes])
    law = growth(times[-2], times[-1], sizes[-1] / sizes[-2])
    title = "## smooth_sensitivity as k grows (n = 10^6, gamma = 1)"
    return f"{title}\n\n{table(_SMOOTH_HEAD, rows)}\n\nGrowth in k at the end, once k² pairs outweigh the fixed cost: {law}.\n"


def _local_in_k() -> str:
    sizes = [2, 10, 100, 1000, 10_000, 100_000]
    rows, times = [], []
    for k in sizes:
        prior, counts = dc.Dirichlet.uniform(k), _balanced(10**9, k)
        times.append(seconds(lambda p=prior, c=counts: dc.local_sensitivity(p, c)))  # type: ignore[misc]
        rows.append((k, shown(times[-1])))
    law = growth(times[-3], times[-1], sizes[-1] / sizes[-3])
    return f"## local_sensitivity as k grows (n = 10^9)\n\n{table(('k', 'time'), rows)}\n\nGrowth in k at the end: {law}.\n"


def _naive(u: Floats, v: Floats) -> Floats:
    """The obvious code: differences of gammaln, kept from the square root of a negative number."""
    exponent = (0.5 * gammaln(u) + 0.5 * gammaln(v) - gammaln((u + v) / 2)).sum(axis=-1)
    return np.asarray(np.sqrt(np.maximum(-np.expm1(-exponent), 0.0)))


def near_the_middle(n: int) -> tuple[float, float, float]:
    """Of 100 pairs of neighbours: the largest relative errors of hellinger and of the obvious code, and how often the latter says 0."""
    half = n / 2 + np.arange(100.0)
    u, v = np.stack([half + 1, half + 1], axis=-1), np.stack([half + 2, half], axis=-1)
    references = [reference_hellinger(first, second) for first, second in zip(u.tolist(), v.tolist(), strict=True)]
    ours, naive = np.asarray(dc.hellinger(u, v)), _naive(u, v)
    errors = [max(relative_error(float(d), r) for d, r in zip(values, references, strict=True)) for values in (ours, naive)]
    return errors[0], errors[1], float((naive == 0.0).mean())


def _hellinger() -> str:
    rows = []
    for exponent in (3, 6, 9, 12, 15):
        ours, naive, zero = near_the_middle(10**exponent)
        rows.append((f"{10**exponent:.0e}", f"{ours:.1e}", f"{naive:.1e}", f"{zero:.0%}"))
    rng = np.random.default_rng(1)
    many = 1.0 + np.floor(10.0 ** rng.uniform(0, 9, (100_000, 2)))
    other = many[:, ::-1].copy()
    right, wrong = seconds(lambda: dc.hellinger(many, other)), seconds(lambda: _naive(many, other))
    head = ("n", "largest relative error", "of gammaln differences", "of which exactly 0")
    speed = f"100,000 pairs: {shown(right)}, gammaln differences {shown(wrong)}; being right costs {right / wrong:.1f}×."
    return f"## hellinger of 100 pairs of neighbours near the middle, against differences of gammaln\n\n{table(head, rows)}\n\n{speed}\n"


POINTS = 20_000
"""At which errors are looked at."""


def largest_errors(size: int = POINTS) -> dict[str, float]:
    """Relative, against 320-bit arithmetic, parameters log-uniform over the whole domain."""
    rng = np.random.default_rng(2)
    u = 10.0 ** rng.uniform(-9, 15, size)
    far = 10.0 ** rng.uniform(-9, 15, size)
    v = np.where(rng.random(size) < 0.5, far, u + np.floor(10.0 ** rng.uniform(0, 15, size)))
    return {
        "gap": max(relative_error(float(x), reference_gap(float(a), float(b))) for x, a, b in zip(gap(u, v), u, v, strict=True)),
        "bregman": max(relative_error(float(x), _bregman(float(b), float(a))) for x, a, b in zip(bregman(v, u), u, v, strict=True)),
        "hellinger": _hellinger_error(rng, size),
    }


def _accuracy() -> str:
    rows = [(name, POINTS, f"{error:.1e}") for name, error in largest_errors().items()]
    return f"## Accuracy, parameters log-uniform in [1e-9, 1e15]\n\n{table(('function', 'points', 'largest relative error'), rows)}\n"


def _bregman(v: float, u: float) -> arb:
    with ctx.workprec(PRECISION):
        return ball(v).lgamma() - ball(u).lgamma() - (ball(v) - ball(u)) * ball(u).digamma()


def _hellinger_error(rng: np.random.Generator, size: int) -> float:
    """k = 2..50. The parameters of each pair are the same in another order, so that totals are equal."""
    worst = 0.0
    for k in range(2, 51):
        rows = 10.0 ** rng.uniform(-9, 15, (size // 49 + 1, k))
        moved = np.concatenate([np.roll(rows[:, : max(2, k // 5)], 1, axis=1), rows[:, max(2, k // 5) :]], axis=1)
        for value, u, v in zip(np.asarray(dc.hellinger(rows, moved)), rows.tolist(), moved.tolist(), strict=True):
            worst = max(worst, relative_error(float(value), reference_hellinger(u, v)))
    return worst
