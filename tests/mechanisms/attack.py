"""Releases from random corners of what can be asked for, in a process of its own: `python -m tests.mechanisms.attack SEED CASES SECONDS`.

Each case is a mechanism with extreme public parameters and counts at a corner or spread out. `prepare` may refuse it, with a
`DiscreetError` of one line. If it does not, `release` must end within the given seconds, with no error and no warning. A hang is ended
by a watchdog that is no Python code, so that it also ends one inside a library; the last line printed then says which case it was.
"""

import faulthandler
import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import discreet as dc
from discreet.mechanisms.base import Mechanism

MOST_BYTES = 3 << 30
"""Of address space: an allocation of gigabytes is an error here, however much memory the machine has."""

INNER: dict[str, Callable[..., Mechanism]] = {
    "LaplaceZhang": dc.LaplaceZhang,
    "LaplaceDimension": dc.LaplaceDimension,
    "LaplaceHistogram": dc.LaplaceHistogram,
    "LatticeGeometric": dc.LatticeGeometric,
    "HellingerGlobal": dc.HellingerGlobal,
    "HellingerLocal": dc.HellingerLocal,
    "HellingerSmooth": dc.HellingerSmooth,
    "HellingerSmoothDelta": dc.HellingerSmoothDelta,
}
COMPUTED = ("HellingerSmoothDelta", "Calibrated")
"""Those whose guarantee is computed by listing candidates, which takes its time: few records, where it can be done at all."""


@dataclass(frozen=True)
class Case:
    """What is asked for, in a form that can be printed and typed again."""

    name: str
    wrapper: str
    prior: tuple[str, ...]
    counts: tuple[int, ...]
    epsilon: str

    def mechanism(self) -> Mechanism:
        """The mechanism, or a refusal."""
        inner: Any = INNER[self.name](dc.Dirichlet(list(self.prior)), sum(self.counts), self.epsilon)
        wrappers: dict[str, Callable[[Any], Mechanism]] = {"": lambda same: same, "Remapped": dc.Remapped, "Calibrated": dc.Calibrated}
        return wrappers[self.wrapper](inner)


def cases(seed: int) -> Iterator[Case]:
    """Cases without end, the same for the same seed."""
    random = Random(seed)  # noqa: S311
    while True:
        name = random.choice(list(INNER))
        wrapper = random.choice(["", "", "Remapped", "Calibrated" if name.startswith("Hellinger") else "Remapped"])
        few = name in COMPUTED or wrapper in COMPUTED
        k = random.choice([2, 3, 4]) if few else random.choice([2, 3, 3, 4, 5, 10, 30, 100, 200])
        highest = random.choice([1, 1.3] if few and k > 2 else [2] if few else [1.5, 2.5, 2.5, 4, 12])
        n = int(10.0 ** random.uniform(0, highest))
        yield Case(
            name,
            wrapper,
            _prior(random, k),
            _counts(random, n, k),
            f"{10.0 ** random.choice([random.uniform(-15, 15), random.uniform(-2, 2)]):.3g}",
        )


def _prior(random: Random, k: int) -> tuple[str, ...]:
    """One number for all categories or one for each, of any size or of those that have gone wrong before."""

    def parameter() -> str:
        return random.choice(["1", "0.5", "100", "1e-9", "1e-17", "1e6", "1e20", f"{10.0 ** random.uniform(-100, 100):.3g}"])

    return (parameter(),) * k if random.random() < 0.5 else tuple(parameter() for _ in range(k))


def _counts(random: Random, n: int, k: int) -> tuple[int, ...]:
    """All in one category, in two, evenly spread, or anyhow."""
    corner = random.randrange(k)
    share = {"corner": n, "edge": n // 2, "spread": 0, "any": random.randint(0, n)}[random.choice(["corner", "edge", "spread", "any"])]
    counts = [(n - share) // k + (i < (n - share) % k) for i in range(k)]
    counts[corner] += share
    return tuple(counts)


def attempt(case: Case) -> str:
    """What became of a case: "released" or "refused"; anything else is raised."""
    try:
        mechanism = case.mechanism()
        mechanism.prepare(case.counts, allow_nonprivate=True)
    except dc.DiscreetError as refusal:
        if "\n" in str(refusal):
            raise AssertionError("a refusal of more than one line") from refusal
        return "refused"
    release = mechanism.release(case.counts, allow_nonprivate=True, steady=False)
    if len(release.counts) != len(case.counts):
        raise AssertionError("a report of another length")
    return "released"


def main(seed: int, count: int, seconds: float) -> None:
    """Try them one by one, and say of each what became of it."""
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for _, case in zip(range(count), cases(seed), strict=False):
        print(case, end=" ", flush=True)  # noqa: T201
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            print(attempt(case), flush=True)  # noqa: T201
        except BaseException:
            traceback.print_exc()
            sys.exit(1)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
