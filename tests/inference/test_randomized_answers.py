"""Randomized answers. Oracles: enumeration of true counts and of all answers; quadrature for many people and two categories."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import binom

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError
from discreet.model.datasets import simplex_points

Floats = NDArray[np.float64]
PRIOR = dc.Dirichlet([1, 0.5, 2], categories=["never", "former", "current"])


def law_of_answers(x: Sequence[int], epsilon: float) -> dict[tuple[int, ...], float]:
    """The law of the counted answers of people with these true categories, one person after the other."""
    k = len(x)
    true, other = math.exp(epsilon) / (math.exp(epsilon) + k - 1), 1.0 / (math.exp(epsilon) + k - 1)
    law = {(0,) * k: 1.0}
    for category in np.repeat(np.arange(k), x).tolist():
        found: dict[tuple[int, ...], float] = {}
        for counts, probability in law.items():
            for said in range(k):
                now = tuple(c + (i == said) for i, c in enumerate(counts))
                found[now] = found.get(now, 0.0) + probability * (true if said == category else other)
        law = found
    return law


@dataclass(frozen=True)
class World:
    """Answers of a few people, and the prior of their shares."""

    epsilon: float
    a: tuple[float, ...]
    answers: tuple[int, ...]

    @classmethod
    def of(cls, seed: int) -> "World":
        rng = np.random.default_rng([37, seed])
        k = int(rng.integers(2, 5))
        answers = rng.multinomial(int(rng.integers(1, 9 - k)), np.full(k, 1.0 / k))
        epsilon = round(float(10.0 ** rng.uniform(-1.0, 0.7)), 3)
        return cls(epsilon, tuple(round(float(10.0 ** rng.uniform(-1.0, 1.0)), 2) for _ in range(k)), tuple(answers.tolist()))

    def posterior(self, wrong: float = 1.0) -> Any:
        """What discreet reads, with another ε than the true one if it is wrong."""
        return dc.observed(
            self.answers, noise=dc.noise.RandomizedResponse(epsilon=self.epsilon * wrong), prior=dc.Dirichlet(self.a)
        ).noise_aware()

    def enumerated(self) -> tuple[NDArray[np.int64], Floats, float]:
        """All true counts, their probabilities given the answers, and the logarithm of the probability of the answers."""
        points = simplex_points(sum(self.answers), len(self.a))
        prior = np.exp(dc.Dirichlet(self.a).predictive(sum(self.answers)).logpmf(points))
        joint = prior * [law_of_answers(x, self.epsilon).get(self.answers, 0.0) for x in points.tolist()]
        return points, joint / joint.sum(), math.log(joint.sum())

    def difference(self, posterior: Any) -> float:
        """The largest difference of distribution functions of shares, of moments of true counts and of the evidence."""
        points, weight, evidence = self.enumerated()
        a, n, theta = np.array(self.a), sum(self.answers), np.linspace(0.05, 0.95, 7)
        exact = weight @ betainc((a + points)[:, :, None], (a.sum() - a + n - points)[:, :, None], theta).reshape(len(points), -1)
        law = np.array([posterior.marginal(label).cdf(theta) for label in posterior.categories]).ravel()
        figures, mean = posterior.figures(), weight @ points
        std = np.sqrt(np.maximum(weight @ (points - mean) ** 2, 0.0))
        differences = (
            np.abs(law - exact).max(),
            np.abs(figures.count_mean - mean).max(),
            np.abs(figures.count_std**2 - std**2).max(),
            abs(posterior.log_evidence - evidence),
        )
        return float(max(differences))


def test_posteriors_are_those_of_enumeration() -> None:
    for seed in range(25):
        world = World.of(seed)
        assert world.difference(world.posterior()) < 1e-10, seed


@pytest.mark.slow
def test_posteriors_of_three_hundred_worlds_are_those_of_enumeration() -> None:
    for seed in range(25, 300):
        world = World.of(seed)
        assert world.difference(world.posterior()) < 1e-10, seed


def test_an_epsilon_that_is_a_tenth_off_is_told() -> None:
    worlds = [World.of(seed) for seed in range(8)]
    assert np.median([world.difference(world.posterior(1.1)) for world in worlds]) > 1e-3


def of_two(answers: tuple[int, int], epsilon: float, a: tuple[float, float], theta: Floats) -> Floats:
    """The posterior distribution function at the midpoints of a fine grid, by adding up likelihood times prior."""
    true, other = math.exp(epsilon) / (math.exp(epsilon) + 1.0), 1.0 / (math.exp(epsilon) + 1.0)
    said = other + (true - other) * theta
    logs = answers[0] * np.log(said) + answers[1] * np.log1p(-said) + (a[0] - 1.0) * np.log(theta) + (a[1] - 1.0) * np.log1p(-theta)
    weight = np.exp(logs - logs.max())
    return np.asarray((np.cumsum(weight) - 0.5 * weight) / weight.sum())


@pytest.mark.parametrize(("answers", "epsilon", "a"), [((430_000, 570_000), 1.0, (2.0, 3.0)), ((55_000, 45_000), 0.3, (1.5, 4.0))])
def test_many_answers_are_read_as_by_quadrature(answers: tuple[int, int], epsilon: float, a: tuple[float, float]) -> None:
    law = dc.observed(answers, noise=dc.noise.RandomizedResponse(epsilon=epsilon), prior=dc.Dirichlet(a)).noise_aware().marginal(0)
    low, high = law.mean() - 12.0 * law.std(), law.mean() + 12.0 * law.std()
    theta = np.linspace(low, high, 40_001)
    exact, some = of_two(answers, epsilon, a, theta), slice(2_000, 38_001, 3_000)
    assert law.cdf(theta[some]) == pytest.approx(exact[some], abs=1e-8)  # the trapezoidal rule between bends of a smooth density
    assert np.abs(law.cdf(theta[some]) - of_two(answers, 1.1 * epsilon, a, theta)[some]).max() > 1e-2


def test_probabilities_of_all_answers_add_up_to_one() -> None:
    noise = dc.noise.RandomizedResponse(epsilon="0.7")
    logs = [dc.observed(y, noise=noise, prior=PRIOR).noise_aware().log_evidence for y in simplex_points(5, 3).tolist()]
    assert math.fsum(np.exp(logs)) == pytest.approx(1.0, abs=1e-12)


def coverage(epsilon: float, read: float) -> float:
    """How often the 90 % interval of the first share holds it, over the prior, the sampling and all answers of five people."""
    n, held = 5, 0.0
    x = np.arange(n + 1)
    laws = [law_of_answers((int(i), n - int(i)), epsilon) for i in x]
    for y in range(n + 1):
        weight = np.array([law.get((y, n - y), 0.0) for law in laws]) / (n + 1.0)
        found = dc.observed([y, n - y], noise=dc.noise.RandomizedResponse(epsilon=read), prior=dc.Dirichlet([1, 1])).noise_aware()
        low, high = found.interval(0.9)[0]
        held += float(weight @ (betainc(1.0 + x, 1.0 + n - x, high) - betainc(1.0 + x, 1.0 + n - x, low)))
    return held


def test_intervals_hold_as_often_as_they_say() -> None:
    assert coverage(1.0, 1.0) == pytest.approx(0.9, abs=1e-9)
    assert abs(coverage(1.0, 3.0) - 0.9) > 0.02


@pytest.mark.parametrize("epsilon", ["1e-15", "0.001", 30, 1000, "1e15"])
def test_answers_that_say_nothing_or_all(epsilon: Any) -> None:
    found = dc.observed([3, 20, 7], noise=dc.noise.RandomizedResponse(epsilon=epsilon), prior=PRIOR).noise_aware()
    a = PRIOR.concentration
    exact = a / a.sum() if float(epsilon) < 1.0 else (a + np.array([3, 20, 7])) / (a.sum() + 30)
    assert found.mean() == pytest.approx(exact, abs=3e-3 if epsilon == "0.001" else 1e-9)


def test_twenty_categories_of_a_million_answers() -> None:
    rng = np.random.default_rng(37)
    theta = rng.dirichlet(np.ones(20))
    e = math.exp(1.0)
    answers = rng.multinomial(10**6, (1.0 + (e - 1.0) * theta) / (e + 19.0))
    post = dc.observed(answers.tolist(), noise="randomized:1", prior=dc.Dirichlet([1] * 20)).noise_aware()
    assert post.mean().sum() == pytest.approx(1.0, abs=1e-9)
    assert post.omitted < 1e-15
    rough = (answers / 1e6 * (e + 19.0) - 1.0) / (e - 1.0)  # the usual estimate, far from 0, and its deviation
    deviation = np.sqrt(answers) / 1e6 * (e + 19.0) / (e - 1.0)
    far = rough > 6.0 * deviation
    assert far.sum() >= 5
    assert np.abs(post.mean() - rough)[far] == pytest.approx(np.zeros(int(far.sum())), abs=float(deviation.max()))
    assert post.std()[far] == pytest.approx(deviation[far], rel=0.1)


def test_draws_of_true_counts_have_their_moments() -> None:
    world = World(1.0, (1.0, 0.5, 2.0), (3, 1, 2))
    points, weight, _ = world.enumerated()
    post, size = world.posterior(), 100_000
    counts = post.sample_counts(size, 1)
    assert (counts.sum(axis=1) == 6).all()
    for x, p in zip(points.tolist(), weight.tolist(), strict=True):  # 28 cells, each by an exact test at 3e-11
        seen = int((counts == x).all(axis=1).sum())
        assert 2.0 * min(binom.cdf(seen, size, p), binom.sf(seen - 1, size, p)) > 3e-11
    truthful = post.counts.sample(size, np.random.default_rng(1))
    assert truthful.sum(axis=1).mean() < 5.0  # the truthful answers are not the true counts
    assert post.sample(size, 1).mean(axis=0) == pytest.approx(post.mean(), abs=0.01)
    assert float(post.to_xarray(10)["count"].sum("category").min()) == 6.0


# --- the record, verbs and refusals ---------------------------------------------------------------------------------------


def record(**known: Any) -> dc.Release[Any]:
    return dc.observed([300, 250, 450], noise=dc.noise.RandomizedResponse(epsilon=1), prior=PRIOR, **known)


def test_the_record_is_kept_and_its_number_of_people_is_public() -> None:
    assert dc.Release.from_json(record().to_json()) == record(n=1000) == dc.observed([300, 250, 450], noise="randomized:1", prior=PRIOR)
    assert record().n == 1000
    post = record().noise_aware()
    assert post.size.mean() == 1000.0
    assert post.marginal(["never", "former"]).mean() == pytest.approx(1.0 - post.mean()[2], abs=1e-12)
    merged = post.merged({"smoked": ["former", "current"], "never": ["never"]})
    assert merged.figures().count_mean[1] == pytest.approx(post.figures().count_mean[0], rel=1e-9)
    assert post.contrast("current", "never").probability > 0.999
    assert post.cov().sum() == pytest.approx(0.0, abs=1e-9)
    assert post.score({"never": 0, "former": 1, "current": 2}).mean() == pytest.approx(post.mean() @ [0, 1, 2], abs=1e-9)


def test_what_is_not_computed_from_answers_is_refused() -> None:
    post, ours = record().noise_aware(), dc.LatticeGeometric(PRIOR, n=1000, epsilon=1).release([250, 100, 650], steady=False)
    asked: list[Callable[[], object]] = [
        lambda: post.count_probabilities("never"),
        lambda: post.records,
        lambda: post.given(["never", "former"]),
        lambda: dc.combine([ours, record()], same_data=True),
        lambda: dc.combine([ours, record()], same_data=False),
        lambda: record().log_likelihood([0.2, 0.3, 0.5]),
        lambda: record().noise_interval(),
        lambda: record().mechanism.release([250, 100, 650]),
    ]
    for question in asked:
        with pytest.raises(RefusedError) as caught:
            question()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": {"region": ["north", "south"]}, "counts": [[1, 2, 3], [4, 5, 6]]}, "list of whole numbers"),
        ({"by": {"region": ["north", "south"]}, "n": 6}, "give each group by itself"),
        ({"steps": "clamped:0"}, "give each group by itself"),
        ({"size_prior": "poisson:9"}, "give each group by itself"),
        ({"n": None}, "give each group by itself"),
        ({"n": 7}, "add up to n"),
        ({"counts": [1, 2]}, "add up to n"),
        ({"counts": [0, 0, 0]}, "n must be"),
        ({"counts": [-1, 2, 3]}, "add up to n"),
        ({"counts": [1, None, 3]}, "list of whole numbers"),
        ({"counts": [1.5, 2, 3]}, "list of whole numbers"),
        ({"counts": [2**53, 2, 3]}, "list of whole numbers"),
        ({"prior": [1, 1, 1]}, "prior must be"),
        ({"prior": [1, 1, 1], "noise": "gaussian:2"}, "prior must be"),
        ({"noise": "randomized:0"}, "epsilon must be"),
        ({"noise": "randomized"}, "noise must be"),
    ],
)
def test_bad_answers_are_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    known: dict[str, Any] = {"counts": [1, 2, 3], "noise": "randomized:1", "prior": PRIOR} | given
    with pytest.raises(InvalidInputError, match=said) as caught:
        dc.observed(known.pop("counts"), **known)
    assert "\n" not in str(caught.value)


def test_an_unknown_epsilon_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="unknown scale"):
        dc.noise.RandomizedResponse()
