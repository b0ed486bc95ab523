"""Counts that others published. Oracle: enumeration of true counts and noise, each noisy count taken through the steps one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, floor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, erf, logsumexp
from scipy.stats import norm

import discreet as dc
from discreet.counts.batched.windows import GroupCells, RiseTable, batched_windows
from discreet.counts.factors import Kernel
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms.published import SUPPRESSED
from discreet.model.datasets import simplex_points
from discreet.numerics.gamma import log_rise
from tests.support import lowered

Floats = NDArray[np.float64]
CLOSE = 1e-10
NOISES: dict[str, Callable[[Fraction], Any]] = {
    "geometric": lambda scale: dc.noise.Geometric(epsilon=1 / scale),
    "gaussian": lambda scale: dc.noise.DiscreteGaussian(sigma=scale),
    "laplace": lambda scale: dc.noise.Laplace(scale=scale),
    "rounded gaussian": lambda scale: dc.noise.Gaussian(sigma=scale),
}
STEPS: dict[str, list[tuple[Any, ...]]] = {
    "none": [],
    "clamped": [("clamped", 0)],
    "rounded": [("rounded", 5, "even")],
    "ties up": [("rounded", 2, "up")],
    "ties away from 0": [("rounded", 4, "away")],
    "ties to even": [("rounded", 2, "even")],
    "suppressed": [("suppressed", 3, "noisy")],
    "suppressed by the true count": [("suppressed", 2, "true")],
    "rounded, then suppressed": [("rounded", 3, "even"), ("suppressed", 4, "noisy")],
    "suppressed, then rounded": [("suppressed", 4, "noisy"), ("rounded", 3, "even")],
    "clamped, rounded, suppressed": [("clamped", 1), ("rounded", 2, "up"), ("suppressed", 2, "noisy")],
}


def law_of(kind: str, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
    """Noise and its probabilities, by the definition."""
    b, reach = float(scale), int(60 * scale) + 20
    d = np.arange(-reach, reach + 1)
    if kind == "laplace":
        at = np.concatenate([d - 0.5, [reach + 0.5]])
        above = np.where(at > 0.0, 0.5 * np.exp(-np.abs(at) / b), 1.0 - 0.5 * np.exp(-np.abs(at) / b))
        p = above[:-1] - above[1:]
        far = np.abs(d) > 1  # differences of nearly equal numbers are taken by a formula
        return d, np.where(far, 0.5 * np.exp(-(np.abs(d) - 0.5) / b) * -np.expm1(-1.0 / b), p)
    if kind == "rounded gaussian":
        return d, np.where(d == 0, erf(0.5 / b / 2.0**0.5), norm.sf((np.abs(d) - 0.5) / b) - norm.sf((np.abs(d) + 0.5) / b))
    logs = -np.abs(d) / b if kind == "geometric" else -0.5 * (d / b) ** 2
    return d, np.exp(logs - logsumexp(logs))


def through(steps: Sequence[tuple[Any, ...]], x: int, z: int) -> int | None:
    """What a noisy count z of a true count x is published as."""
    for name, number, *more in steps:
        if name == "clamped":
            z = max(z, number)
        elif name == "suppressed":
            if (x if more == ["true"] else z) < number:
                return None
        else:
            parts = Fraction(z, number)
            up, down = floor(parts + Fraction(1, 2)), -floor(-parts + Fraction(1, 2))
            z = number * {"up": up, "even": up if up % 2 == 0 else down, "away": up if z > 0 else down}[more[0]]
    return z


@dataclass(frozen=True)
class World:
    """Counts, the noise on them, and what was done then."""

    kind: str
    scale: Fraction
    steps: Sequence[tuple[Any, ...]]
    a: tuple[Fraction, ...]
    published: tuple[int | None, ...]
    n: int | None
    size_prior: float

    def release(self, wrong: Fraction = Fraction(1)) -> dc.Release[Any]:
        """What discreet reads; `wrong` makes the noise another."""
        made = [getattr(dc.noise, name)(*given) for name, *given in self.steps]
        noise, prior = NOISES[self.kind](self.scale * wrong), dc.Dirichlet(self.a)
        return dc.observed(self.published, noise=noise, steps=made, prior=prior, n=self.n, size_prior=f"poisson:{self.size_prior:g}")

    def likelihood(self, x: int, y: int | None) -> float:
        """P(y | x), by the noisy counts that become y."""
        d, p = law_of(self.kind, self.scale)
        return float(sum(q for e, q in zip(d.tolist(), p.tolist(), strict=True) if through(self.steps, x, x + e) == y))

    def posterior(self) -> tuple[NDArray[np.int64], Floats, float]:
        """All true counts, their probabilities, and the logarithm of the evidence."""
        top = 14 if self.n is None else self.n
        table = {y: np.array([self.likelihood(x, y) for x in range(top + 1)]) for y in set(self.published)}
        found, logs = [], []
        for n in range(top + 1) if self.n is None else [self.n]:
            points = simplex_points(n, len(self.a))
            prior = dc.Dirichlet(self.a).predictive(n).logpmf(points) if n else np.zeros(1)
            with np.errstate(divide="ignore"):
                seen = sum(np.log(table[y][points[:, i]]) for i, y in enumerate(self.published))
            found.append(points)
            logs.append(prior + seen + (0.0 if self.n is not None else _log_size(n, self.size_prior)))
        weight = np.concatenate(logs)
        return np.concatenate(found), np.exp(weight - logsumexp(weight)), float(logsumexp(weight))

    def difference(self, posterior: Any) -> float:
        """The largest difference of the laws of true counts, of the means, and of the evidence where n is public."""
        points, weight, evidence = self.posterior()
        means = weight @ ((points + np.array([float(a) for a in self.a])) / (points.sum(axis=1) + float(sum(self.a)))[:, None])
        found = [np.abs(posterior.mean() - means).max()]
        if self.n is not None:
            found.append(abs(posterior.log_evidence - evidence))
        for i, label in enumerate(posterior.categories):
            x, p = posterior.count_probabilities(label)
            exact = np.bincount(points[:, i], weight)
            law = np.zeros(max(len(exact), int(x[-1]) + 1))
            law[x] = p
            found.append(np.abs(law - np.pad(exact, (0, len(law) - len(exact)))).max())
        return float(max(found))


def _log_size(n: int, mean: float) -> float:
    return float(n * np.log(mean) - np.log(np.arange(1.0, n + 1.0)).sum())


def one_world(seed: int) -> World:
    rng = np.random.default_rng([37, seed])
    kind, steps = [*NOISES][seed % 4], [*STEPS.values()][seed % len(STEPS)]
    k, private = int(rng.integers(2, 4)), bool(rng.random() < 0.4)
    scale = Fraction(int(rng.integers(3, 9)), 10) if private else Fraction(int(rng.integers(3, 40)), 10)
    x = rng.integers(0, 2 if private else 7, k)
    if not x.any():
        x[0] = 1
    d, p = law_of(kind, scale)
    published = tuple(through(steps, int(one), int(one + rng.choice(d, p=p / p.sum()))) for one in x)
    a = tuple(Fraction(round(10.0 ** float(rng.uniform(0.0, 2.0))), 10) for _ in range(k))
    return World(kind, scale, steps, a, published, None if private else int(x.sum()), 0.5)


def check(seeds: range) -> None:
    for seed in seeds:
        world = one_world(seed)
        limit = CLOSE if world.n is not None else 3e-9  # the oracle leaves out totals above 14, of which less has this
        assert world.difference(world.release().noise_aware()) < limit, seed


def test_posteriors_are_those_of_enumeration() -> None:
    check(range(22))


@pytest.mark.slow
def test_posteriors_of_three_hundred_worlds_are_those_of_enumeration() -> None:
    check(range(22, 300))


@pytest.mark.parametrize("kind", ["laplace", "rounded gaussian"])
def test_counts_that_were_rounded_to_a_large_base_are_those_of_enumeration(kind: str) -> None:
    """Beyond 2**53 both ends of so long an interval are one float, and the search for the last possible count must end all the same."""
    world = World(kind, Fraction(3), [("rounded", 100, "even")], (Fraction(1, 2), Fraction(5, 4)), (0, 0), None, 0.5)
    assert world.difference(world.release().noise_aware()) < 3e-9  # as above


def test_a_scale_that_is_a_tenth_off_is_told() -> None:
    worlds = [one_world(seed) for seed in range(1, 33, 4)]
    found = [world.difference(world.release(Fraction(11, 10)).noise_aware()) for world in worlds]
    assert np.median(found) > 1e-3


# --- coverage -------------------------------------------------------------------------------------------------------------

COVERED = 0.9
PAIRS = [(kind, steps) for kind in NOISES for steps in ("none", "clamped", "rounded, then suppressed", "suppressed by the true count")]


def coverage(kind: str, steps: str, read_as: str, read_steps: str) -> float:
    """How often the interval of the first share holds it, over the prior, the sampling and all that can be published."""
    n, scale, a = 4, Fraction(1), (Fraction(1), Fraction(1))
    world = World(kind, scale, STEPS[steps], a, (), n, 1.0)
    d, _ = law_of(kind, scale)
    outcomes = sorted({through(STEPS[steps], x, x + int(e)) for x in range(n + 1) for e in d[np.abs(d) < 14]}, key=str)
    laws = {y: np.array([world.likelihood(x, y) for x in range(n + 1)]) for y in outcomes}
    prior, x = np.full(n + 1, 1.0 / (n + 1)), np.arange(n + 1)
    held = total = 0.0
    for first in outcomes:
        for second in outcomes:
            weight = prior * laws[first] * laws[second][::-1]
            if weight.sum() < 1e-7:
                continue
            read = World(read_as, scale, STEPS[read_steps], a, (first, second), n, 1.0)
            low, high = read.release().noise_aware().interval(COVERED)[0]
            held += float(weight @ (betainc(1.0 + x, 1.0 + n - x, high) - betainc(1.0 + x, 1.0 + n - x, low)))
            total += float(weight.sum())
    assert total > 0.999
    return held / total


@pytest.mark.parametrize(("kind", "steps"), [PAIRS[5], PAIRS[14]])
def test_intervals_hold_as_often_as_they_say(kind: str, steps: str) -> None:
    assert coverage(kind, steps, kind, steps) == pytest.approx(COVERED, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "steps"), PAIRS)
def test_intervals_of_every_kind_hold_as_often_as_they_say(kind: str, steps: str) -> None:
    assert coverage(kind, steps, kind, steps) == pytest.approx(COVERED, abs=1e-5)


def test_reading_other_noise_than_was_added_does_not_cover() -> None:
    assert abs(coverage("gaussian", "clamped", "geometric", "none") - COVERED) > 0.002


# --- tables, records and refusals -------------------------------------------------------------------------------------------

PRIOR = dc.Dirichlet([1, 0.5, 2], categories=["never", "former", "current"])
BY = {"region": ["north", "south"]}
ROUNDED = [dc.noise.rounded(to=5), dc.noise.suppressed(below=10)]


def table(n: Any, steps: Any = (), noise: Any = None) -> dc.Release[Any]:
    counts = [[120, 35, None], [95, 40, 10]] if steps else [[121, 33, -2], [98, 41, 12]]
    made = dc.noise.DiscreteGaussian(sigma=4) if noise is None else noise
    return dc.observed(counts, noise=made, steps=steps, prior=PRIOR, n=n, by=BY, size_prior="poisson:150", source="an office")


@pytest.mark.parametrize("n", [None, [160, 150], 310])
@pytest.mark.parametrize("steps", [(), ROUNDED])
@pytest.mark.parametrize("noise", [dc.noise.DiscreteGaussian(sigma=4), dc.noise.Laplace(scale=2), dc.noise.Geometric(epsilon="0.4")])
def test_a_table_says_at_once_what_it_says_of_each_group(n: Any, steps: Any, noise: Any) -> None:
    release = table(n, steps, noise)
    assert dc.Release.from_json(release.to_json()) == release
    post = release.noise_aware()
    figures = post.figures(0.9)
    for row, group in enumerate(post):
        assert figures.mean[row] == pytest.approx(post[group].mean(), abs=1e-8)
        assert figures.low[row] == pytest.approx(post[group].interval(0.9)[:, 0], abs=1e-5)


@pytest.mark.parametrize("n", [None, [0, 2, 1], 3])
def test_noisy_counts_below_0_are_read_at_once_as_in_each_group(n: Any) -> None:
    """No window begins below 0, also where the noise has a peak, so that how far below 0 a count is says something."""
    prior = dc.Dirichlet([0.0058, 13.7642, 46.1502, 36.9783, 1.4383])
    counts = [[1, 0, 3, 0, -3], [1, 4, 1, 1, -4], [4, 1, 0, -2, 3]]
    release = dc.observed(counts, noise="laplace:2", prior=prior, n=n, by={"g": [0, 1, 2]}, size_prior="poisson:2")
    post = release.noise_aware()
    figures = post.figures()
    assert figures.mean == pytest.approx(np.array([post[group].mean() for group in post]), abs=1e-8)
    assert figures.std == pytest.approx(np.array([post[group].std() for group in post]), abs=1e-8)


@pytest.mark.parametrize("n", [None, [160, 150]])
def test_groups_whose_sizes_no_total_ties_are_read_as_variables(n: Any) -> None:
    post = table(n, ROUNDED).noise_aware()
    size = None if n is None else n[0]
    alone = dc.observed(
        [120, 35, None], noise=dc.noise.DiscreteGaussian(sigma=4), steps=ROUNDED, prior=PRIOR, n=size, size_prior="poisson:150"
    )
    assert post["north"].mean() == pytest.approx(alone.noise_aware().mean(), abs=1e-12)


def test_published_tables_go_through_parquet(tmp_path: Any) -> None:
    release = table(None, ROUNDED)
    release.to_parquet(tmp_path / "theirs.parquet")
    assert dc.read(tmp_path / "theirs.parquet") == release
    found = dc.summaries(tmp_path / "theirs.parquet", size_prior="poisson:150")
    batches = [batch.to_pandas() for batch in found]
    assert batches[0]["mean"].to_numpy() == pytest.approx(release.noise_aware().mean().ravel(), abs=1e-8)


def test_ours_and_theirs_say_more_together() -> None:
    ours = dc.LatticeGeometric(PRIOR, n=160, epsilon=1).release([118, 34, 8], steady=False)
    theirs = dc.observed([125, 30, None], noise=dc.noise.Laplace(scale=3), steps=ROUNDED, prior=PRIOR, n=160)
    both = dc.combine([ours, theirs], same_data=True)
    assert (both.std() < theirs.noise_aware().std()).all()
    tables = dc.combine([table([160, 150]), table([160, 150], ROUNDED)], same_data=True)
    assert tables["north"].mean().sum() == pytest.approx(1.0)


def test_the_record_says_whose_promise_it_is() -> None:
    release = table(None)
    assert release.guarantee.basis == "none"
    assert "promised by an office; discreet promises nothing" in repr(release)
    with pytest.raises(RefusedError, match="has no exact sampler"):
        release.mechanism.release([[1, 2, 3], [4, 5, 6]])


def test_a_posterior_needs_a_proper_prior_of_the_size() -> None:
    release = dc.observed([30, None], noise="geometric:0.5", steps="suppressed:10", prior=dc.Dirichlet([1, 1]))
    with pytest.raises(InvalidInputError, match="no posterior of the number of records"):
        release.noise_aware(size_prior=lambda n: 0.6 * n)
    assert release.noise_aware(size_prior="poisson:35").mean().sum() == pytest.approx(1.0)


def test_parquet_holds_no_public_sizes_that_noise_changed(tmp_path: Any) -> None:
    with pytest.raises(RefusedError, match="with to_json"):
        table([160, 150]).to_parquet(tmp_path / "theirs.parquet")


def test_texts_are_the_same_as_values() -> None:
    one = dc.observed([15, None], noise="zcdp:1/32", steps="clamped:0,rounded:5:up,suppressed:10", prior=dc.Beta(1, 1), n=20)
    steps = [dc.noise.clamped(at=0), dc.noise.rounded(to=5, ties="up"), dc.noise.suppressed(below=10)]
    assert one == dc.observed([15, None], noise=dc.noise.DiscreteGaussian(rho="1/32"), steps=steps, prior=dc.Beta(1, 1), n=20)
    assert one.raw == (15, SUPPRESSED)
    assert one.counts == (15, 0)
    same = dc.observed([15, None], noise="gaussian:4", steps=steps, prior=dc.Beta(1, 1), n=20)
    assert one.noise_aware().mean() == pytest.approx(same.noise_aware().mean(), abs=1e-14)


def test_real_numbers_with_laplace_noise_are_read_to_the_nearest_whole_one() -> None:
    release = dc.observed([12.4, 7.6], noise=dc.noise.Laplace(scale=1), prior=dc.Beta(1, 1), n=20)
    assert release.raw == (12, 8)
    zero = float(np.exp(release.mechanism.noise.log_factor(np.zeros(1)))[0])  # type: ignore[union-attr]
    assert zero == pytest.approx(1.0 - exp(-0.5), abs=1e-15)  # 0.393, where geometric noise has 0.462


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"noise": "gaussian"}, "noise must be"),
        ({"noise": 3}, "noise must be"),
        ({"noise": "gaussian:0"}, "sigma must be"),
        ({"steps": "rounded"}, "a step must be"),
        ({"steps": [3]}, "steps must be a list"),
        ({"steps": "clamped:0:up"}, "a step must be"),
        ({"steps": "rounded:5", "counts": [12, 10]}, "look at the steps"),
        ({"counts": [10, None]}, "look at the steps"),
        ({"counts": [10, 3.5]}, "makes whole numbers"),
        ({"counts": [10, "many"]}, "must be a number"),
        ({"counts": [10, 2**60]}, "between -2"),
        ({"counts": [10, 2, 3]}, "shape"),
        ({"counts": 4}, "must be a list"),
        ({"source": "x" * 5000}, "source must be one line"),
        ({"size_prior": "many"}, "size_prior must be"),
    ],
)
def test_bad_input_is_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    known: dict[str, Any] = {"counts": [10, 5], "noise": "gaussian:2", "prior": dc.Beta(1, 1), "n": 15} | given
    with pytest.raises(InvalidInputError, match=said) as caught:
        dc.observed(known.pop("counts"), **known)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [dc.noise.Geometric, dc.noise.Laplace, dc.noise.DiscreteGaussian])
def test_an_unknown_scale_is_refused(make: Any) -> None:
    with pytest.raises(InvalidInputError, match="unknown scale"):
        make()


@pytest.mark.parametrize("given", [{"noise": "topdown"}, {"noise": "gaussian:2", "steps": "consistent"}])
def test_what_was_made_consistent_is_refused_with_the_reason(given: Any) -> None:
    with pytest.raises(RefusedError, match=r"no likelihood .* noisy measurements"):
        dc.observed([10, 5], prior=dc.Beta(1, 1), n=15, **given)


def test_what_has_no_concave_likelihood_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"true count .*noisy"):
        dc.observed([10, None], noise="gaussian:2", steps="suppressed:3,suppressed-true:3", prior=dc.Beta(1, 1), n=15)
    stepped = dc.observed([10, 5], noise="gaussian:2", steps="clamped:0", prior=dc.Beta(1, 1), n=15)
    with pytest.raises(RefusedError, match="no interval of the noise alone"):
        stepped.noise_interval()
    with pytest.raises(RefusedError, match="no likelihood by their difference"):
        stepped.log_likelihood([0.5, 0.5])


def test_a_true_count_that_was_published_leaves_no_smaller_one() -> None:
    release = dc.observed([40, None, 12], noise="gaussian:4", steps="suppressed-true:10", prior=PRIOR)
    post = release.noise_aware()
    assert post.count_probabilities("former")[0].max() == 9
    assert post.count_probabilities("current")[0].min() == 10


# --- tables of few records, whose counts are listed -------------------------------------------------------------------------


def small_table(world: World, sizes: tuple[int, int] | None) -> tuple[dc.Release[Any], Floats, Floats, Floats]:
    """Two groups by two categories with a public total of 6, or public sizes; and by enumeration weights and parameters of Betas.

    The last two have a row for each cell and a column for each set of counts.
    """
    points = simplex_points(6, 4)
    n = np.add.reduceat(points, [0, 2], axis=1)
    if sizes is not None:
        points, n = points[held := (n == sizes).all(axis=1)], n[held]
    a = np.array([float(each) for each in world.a])
    each = {y: np.array([world.likelihood(x, y) for x in range(7)]) for y in set(world.published)}
    with np.errstate(divide="ignore"):
        logs = sum(np.log(each[y][points[:, i]]) for i, y in enumerate(world.published))
    for g in range(2):  # sizes of two groups are as likely as each other
        for size in range(7):
            chosen = n[:, g] == size
            logs[chosen] += dc.Dirichlet(world.a).predictive(size).logpmf(points[chosen, 2 * g : 2 * g + 2]) if size else 0.0
    counts = [world.published[:2], world.published[2:]]
    made = [getattr(dc.noise, name)(*given) for name, *given in world.steps]
    public = 6 if sizes is None else list(sizes)
    release = dc.observed(counts, noise=NOISES[world.kind](world.scale), steps=made, prior=dc.Dirichlet(world.a), n=public, by=BY)
    mine = points + np.tile(a, 2)
    return release, np.exp(logs - logsumexp(logs)), mine.T, (np.repeat(n, 2, axis=1) + a.sum() - mine).T


@pytest.mark.parametrize("sizes", [None, (4, 2)])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("steps", [name for name in STEPS if name != "none"])
@pytest.mark.parametrize("kind", NOISES)
def test_tables_of_few_records_against_enumeration(kind: str, steps: str, listed: bool, sizes: tuple[int, int] | None) -> None:
    """All counts are listed and all groups read at once, or each group is read by itself: ends of intervals are within their error."""
    published = [through(STEPS[steps], x, z) for x, z in ((3, 4), (1, -1), (0, 1), (2, 7))]
    world = World(kind, Fraction(3, 2), STEPS[steps], (Fraction(1, 2), Fraction(5, 4)), tuple(published), None, 0.0)
    release, weight, a, b = small_table(world, sizes)
    with lowered(**({} if listed else {"LISTED_COUNTS": 0})):
        figures = release.noise_aware().figures(0.9)
    assert figures.mean.ravel() == pytest.approx((a / (a + b)) @ weight, abs=CLOSE)
    assert figures.error.max() <= 2.01e-9
    low, high = (betainc(a, b, end.reshape(4, 1)) @ weight for end in (figures.low, figures.high))
    assert np.abs(low - 0.05).max() <= figures.error.max() + 1e-12
    assert np.abs(high - 0.95).max() <= figures.error.max() + 1e-12
    assert np.abs(low - 0.05).max() > 0.0


def test_reading_a_small_table_with_other_noise_is_noticed() -> None:
    world = World("laplace", Fraction(3, 2), STEPS["rounded"], (Fraction(1, 2), Fraction(5, 4)), (5, 0, 0, 5), None, 0.0)
    _, weight, a, b = small_table(replace(world, kind="gaussian"), None)
    figures = small_table(world, None)[0].noise_aware().figures()
    assert np.abs(figures.mean.ravel() - (a / (a + b)) @ weight).max() > 1e-4


@pytest.mark.parametrize(("z", "slope", "first"), [((5, 2), 0.8, 0), ((8, 6), 1.5, 4)], ids=["from 0 on", "in the middle"])
def test_what_lies_outside_of_a_window_of_listed_counts_is_added_up(z: tuple[int, int], slope: float, first: int) -> None:
    """Oracle: the tilted law of all counts, on 0 to 12."""
    x, top = np.arange(13), np.array([[12, 9]])
    cells = GroupCells(np.array([z]), np.array([[0.3, 1.7]]), Kernel(slope), top, RiseTable(np.array([0.3, 1.7]), 12))
    cells = replace(cells, listed=cells.log_factors(-np.abs(np.array(z)[:, None] - x)[None] * slope))
    ((_, found),) = batched_windows(cells, np.array([0.2]), 3.0)
    left = 0.0
    for i in range(2):
        law = np.where(
            x <= top[0, i], np.exp(log_rise(float(cells.a[0, i]), x.astype(float)) - slope * np.abs(cells.z[0, i] - x) + 0.2 * x), 0.0
        )
        inside = slice(int(found.low[0, i]), int(found.low[0, i]) + found.width)
        held = law[inside].sum()
        assert found.value[0, i, : len(law[inside])] == pytest.approx(law[inside] / held, abs=1e-14)
        left += law.sum() / held - 1.0
    assert found.width < len(x)
    assert found.low.min() >= first
    assert found.tail[0] == pytest.approx(left, rel=1e-12)
    assert found.tail[0] > 0.0


def test_sums_over_groups_that_cannot_be_added_up_are_refused() -> None:
    """Suppressed counts may be anything up to the threshold, which is wider than the noise says."""
    counts = [[None, None, 1500], [None, 1400, 1300], [None, 1200, 1100]]
    by = {"region": ["north", "south", "east"]}
    prior = dc.Dirichlet([1, 1, 1])
    release = dc.observed(counts, noise="laplace:1", steps="suppressed:1000", prior=prior, n=9000, by=by)
    assert release.noise_aware().figures().mean.sum(axis=1) == pytest.approx(np.ones(3))
    with lowered(GROUP_PRODUCTS=1 << 20), pytest.raises(TooLargeError, match="too many values"):
        release.noise_aware().figures()
