"""Sets of categories, cumulative answers and shares of the records, against sums over all counts that are possible."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.records import ComparedShares, ShareOfRecords, of_different_records, of_draws
from discreet.sampling import SeededBits
from tests.support import lowered

CATEGORIES = ("never", "former", "current", "other")
PRIOR = dc.Dirichlet([1, 0.4, 2, 0.7], categories=CATEGORIES)
EPSILON, LAST = 1.5, 12
"""Where n is private, the reader believes that there are at most so many records."""
COUNTS = [2, 1, 2, 1]
PRIOR_OF_TWO = dc.Dirichlet([1, 2], categories=["yes", "no"])
CLOSE = 1e-10
PUBLIC = pytest.mark.parametrize("n", [sum(COUNTS), None], ids=["n public", "n private"])


def posterior(n: int | None, epsilon: float = EPSILON) -> NoiseAware:
    """The posterior of a release; windows and convolutions are used although the counts are few."""
    release = dc.LatticeGeometric(PRIOR, n, epsilon).release(COUNTS, source=SeededBits(3), steady=False)
    with lowered(POSTERIOR_CANDIDATES=1):
        return release.noise_aware(size_prior=None if n is not None else np.zeros(LAST + 1))


def weighted(n: int | None, epsilon: float = EPSILON) -> tuple[Floats, Floats]:
    """All counts that are possible, and their posterior probabilities by the definition."""
    raw = np.array(dc.LatticeGeometric(PRIOR, n, EPSILON).release(COUNTS, source=SeededBits(3), steady=False).raw)
    last = LAST if n is None else n
    points = np.array([x for x in product(range(last + 1), repeat=4) if (sum(x) <= last if n is None else sum(x) == n)])
    slope = epsilon if n is None else epsilon / 2
    weight = np.exp(-slope * np.abs(points - raw).sum(axis=1))
    for total in np.unique(points.sum(axis=1)).tolist():
        held = points.sum(axis=1) == total
        weight[held] *= np.exp(PRIOR.predictive(total).logpmf(points[held])) if total else 1.0
    return points, weight / weight.sum()


def share_of(chosen: list[int], n: int | None, at: Floats, epsilon: float = EPSILON) -> Floats:
    """P(θ of the set <= at), summed over all counts."""
    points, weight = weighted(n, epsilon)
    a, x = float(PRIOR.concentration[chosen].sum()), points[:, chosen].sum(axis=1)
    b, rest = float(PRIOR.concentration.sum()) - a, points.sum(axis=1) - points[:, chosen].sum(axis=1)
    return np.array([weight @ stats.beta.cdf(one, a + x, b + rest) for one in at])


AT = np.array([0.05, 0.2, 0.5, 0.8, 0.95])


@PUBLIC
@pytest.mark.parametrize("chosen", [[0, 2], [1, 3], [0, 1, 3]])
def test_a_set_of_categories_is_the_sum_of_its_probabilities(n: int | None, chosen: list[int]) -> None:
    found = posterior(n).marginal([CATEGORIES[i] for i in chosen]).cdf(AT)
    np.testing.assert_allclose(found, share_of(chosen, n, AT), atol=CLOSE)
    assert np.abs(found - share_of(chosen, n, AT, 1.1 * EPSILON)).max() > 1e-4, "noise that is a tenth off is told"


@PUBLIC
def test_engines_agree_on_sets(n: int | None) -> None:
    """Listed and by windows; and a set of one category is that category."""
    found, sets = posterior(n), {"smoked": ["former", "current"], "not": ["other", "never"]}
    merged = found.merged(sets)
    assert merged.categories == ("smoked", "not")
    np.testing.assert_allclose(merged.mean()[0], found.mean()[1:3].sum(), atol=1e-11)
    assert found.marginal(["former"]) is found.marginal("former")
    if n is not None:
        release = dc.LatticeGeometric(PRIOR, n, EPSILON).release(COUNTS, source=SeededBits(3), steady=False)
        np.testing.assert_allclose(merged.interval(0.9), release.noise_aware().merged(sets).interval(0.9), atol=CLOSE)


@PUBLIC
def test_cumulative_answers_are_sets_from_the_first_on(n: int | None) -> None:
    found = posterior(n)
    cumulative = found.cumulative()
    assert cumulative.categories == ("up to never", "up to former", "up to current")
    np.testing.assert_allclose(cumulative.mean(), np.cumsum(found.mean())[:-1], atol=1e-11)
    np.testing.assert_allclose(cumulative.marginal("former").cdf(AT), share_of([0, 1], n, AT), atol=CLOSE)
    np.testing.assert_allclose(1.0 - cumulative.interval(0.8)[-1, ::-1], found.interval(0.8)[-1], atol=1e-9)
    assert cumulative.summary()["category"].tolist() == list(cumulative.categories)
    np.testing.assert_array_equal(cumulative.marginal("up to former").interval(), cumulative.interval()[1])
    with pytest.raises(InvalidInputError, match="category must be one of"):
        cumulative.marginal(CATEGORIES[-1])


@PUBLIC
def test_shares_of_the_records(n: int | None) -> None:
    found, (points, weight) = posterior(n).records, weighted(n)
    total = points.sum(axis=1)
    some = total > 0
    share, chance = points[some] / total[some, None], weight[some] / weight[some].sum()
    assert abs(found.no_records - weight[~some].sum()) < CLOSE
    np.testing.assert_allclose(found.mean(), chance @ share, atol=CLOSE)
    np.testing.assert_allclose(found.std(), np.sqrt(chance @ (share - chance @ share) ** 2), atol=CLOSE)
    law = found.marginal("former")
    for at in (0.0, 0.2, 1 / 3, 0.5):
        assert abs(float(law.pmf(at)) - chance[share[:, 1] == at].sum()) < CLOSE
        assert abs(float(law.sf(at)) - chance[share[:, 1] > at].sum()) < CLOSE
    for mass in (0.5, 0.95):
        for low, high in (law.interval(mass), law.hdi(mass)):
            assert chance[(share[:, 1] >= low) & (share[:, 1] <= high)].sum() >= mass - CLOSE
        low, high = law.interval(mass)
        assert max(chance[share[:, 1] < low].sum(), chance[share[:, 1] > high].sum()) <= 0.5 * (1.0 - mass) + CLOSE
    control = weighted(n, 1.1 * EPSILON)[1][some]
    assert np.abs(found.mean() - control @ share / control.sum()).max() > 1e-4


@PUBLIC
def test_differences_of_shares_of_the_same_records(n: int | None) -> None:
    """The law of (x_a - x_b)/n, against a sum over all counts; what is larger and what is the same are apart."""
    found, (points, weight) = posterior(n).records.contrast("current", "former"), weighted(n)
    assert found.names == ("current", "former")
    difference = found.difference
    for epsilon, tells in ((EPSILON, True), (1.1 * EPSILON, False)):
        points, weight = weighted(n, epsilon)
        some = points.sum(axis=1) > 0
        chance, moved, total = weight[some] / weight[some].sum(), points[some, 2] - points[some, 1], points[some].sum(axis=1)
        exact = [chance @ (moved / total), chance[moved > 0].sum(), chance[moved == 0].sum(), chance[2 * moved <= total].sum()]
        shown = [difference.mean(), found.probability, found.equal, float(difference.cdf(0.5))]
        assert np.allclose(shown, exact, atol=CLOSE if tells else 1e-4, rtol=0.0) == tells, "noise that is a tenth off is told"
    assert difference.median() in np.round(moved / total, 14).tolist()
    with pytest.raises(InvalidInputError, match="two different categories"):
        posterior(n).records.contrast("former", "former")


def apart(law: ComparedShares, values: Floats, weight: Floats) -> float:
    """How far a law is from numbers with these weights, of which NaN is 0/0: in all probabilities, and in that of 0/0."""
    defined = ~np.isnan(values)
    x, chance = values[defined], weight[defined] / weight[defined].sum()
    far = [abs(law.undefined - weight[~defined].sum() / weight.sum())]
    for at in np.unique(x).tolist():
        far += [abs(float(law.cdf(at)) - chance[x <= at].sum()), abs(float(law.pmf(at)) - chance[x == at].sum())]
        far += [abs(float(law.sf(at)) - chance[x > at].sum())]
    return float(max(far))


def ratios(first: Floats, second: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The ratio and the odds ratio of two shares of n, NaN where they are 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return first / second, first * (n - second) / (second * (n - first))


@PUBLIC
def test_ratios_of_shares_of_the_same_records(n: int | None) -> None:
    """Given that they are not 0/0, with what is infinite, against a sum over all counts."""
    found = posterior(n).records.contrast("current", "former")
    for epsilon, close in ((EPSILON, True), (1.1 * EPSILON, False)):
        points, weight = weighted(n, epsilon)
        some = points.sum(axis=1) > 0
        x, weight = points[some].astype(np.float64), weight[some]
        for law, values in zip((found.ratio, found.odds_ratio), ratios(x[:, 2], x[:, 1], x.sum(axis=1)), strict=True):
            assert (apart(law, values, weight) < CLOSE) == close, "noise that is a tenth off is told"
    for law in (found.ratio, found.odds_ratio):
        assert law.pmf(np.inf) == pytest.approx(1.0 - law.cdf(1e300), abs=1e-14)
        assert law.pmf(np.inf) > 0.01
        assert law.mean() == law.std() == law.var() == np.inf
        assert law.interval(0.95)[1] == law.ppf(1.0) == np.inf
        assert found.probability * (1.0 - found.difference.undefined) == pytest.approx(law.sf(1.0) * (1.0 - law.undefined), abs=CLOSE)
        assert str(law.name) in found.given
        for mass in (0.2, 0.5, 0.8, 0.95, 0.999):
            low, high = law.hdi(mass)
            inside = (law.value >= low) & (law.value <= high)
            assert law.probability[inside].sum() >= mass - CLOSE
            if high == np.inf:
                assert law.cdf(1e300) < mass, "no finite interval holds as much"
                assert law.probability[law.value > low].sum() < mass


@pytest.mark.parametrize("sizes", [[9, 6], None], ids=["sizes public", "nothing public"])
def test_ratios_of_shares_of_the_records_of_two_groups(sizes: list[int] | None) -> None:
    by = {"region": ["north", "south"]}
    release = dc.LatticeGeometric(PRIOR_OF_TWO, sizes, 2, by=by).release([[6, 3], [2, 4]], source=SeededBits(1), steady=False)
    records = release.noise_aware(size_prior=np.zeros(16) if sizes is None else None).records
    found = records.contrast("north", "south", "yes")
    exact: dict[tuple[str, float], float] = {}
    laws = [
        [(Fraction(u).limit_denominator(50), p) for u, p in zip(law.value.tolist(), law.probability.tolist(), strict=True)]
        for law in (records[group].marginal("yes") for group in ("north", "south"))
    ]
    for (u, p), (v, q) in product(*laws):
        for name, above, below in (("ratio", u, v), ("odds ratio", u * (1 - v), v * (1 - u))):
            value = float(above / below) if below else np.inf if above else np.nan
            exact[name, value] = exact.get((name, value), 0.0) + p * q
    for law in (found.ratio, found.odds_ratio):
        mine = np.array([(value, p) for (name, value), p in exact.items() if name == law.name])
        assert apart(law, mine[:, 0], mine[:, 1]) < CLOSE
        assert apart(law, mine[:, 0] * 1.01, mine[:, 1]) > 1e-3, "numbers that are a hundredth off are told"
    assert found.odds_ratio.undefined > found.ratio.undefined > 0.0, "both may be 1, or 0"
    frame = records.contrasts("yes")
    assert frame[["equal", "ratio_undefined", "odds_ratio_undefined"]].to_numpy().tolist() == [list(found.more.values())]
    assert (
        frame[["odds_ratio", "odds_ratio_low", "odds_ratio_high"]].to_numpy().tolist()
        == found.odds_ratio.ppf([[0.5, 0.025, 0.975]]).tolist()
    )


def test_means_of_ratios_are_finite_only_where_nothing_is_infinite() -> None:
    """Of a share that cannot be 0 they are finite; counts that are left out as too unlikely may have the share 0."""
    first, second = (ShareOfRecords(np.array(value), np.array([0.3, 0.7])) for value in ([0.0, 0.5], [0.2, 0.8]))
    found = of_different_records(first, second, ("a", "b"))
    exact = 0.7 * (0.3 * 0.5 / 0.2 + 0.7 * 0.5 / 0.8)
    assert found.ratio.mean() == pytest.approx(exact, abs=1e-14)
    assert found.ratio.var() == pytest.approx(0.7 * (0.3 * 2.5**2 + 0.7 * 0.625**2) - exact**2, abs=1e-13)
    assert found.given == ""
    likely = dc.LatticeGeometric(PRIOR, 4000, 1).release([1000] * 4, source=SeededBits(3), steady=False).noise_aware().records
    large = likely.contrast("never", "former")
    for law in (large.ratio, large.odds_ratio):
        assert law.value[-1] < 2.0
        assert law.mean() == law.std() == np.inf
    assert np.isfinite(large.difference.mean())
    drawn = of_draws(np.array([0.5, 0.25, np.nan]), np.array([0.25, 0.5, 0.5]), ("a", "b"))
    assert drawn.ratio.value.tolist() == [0.5, 2.0]
    with pytest.raises(dc.RefusedError, match="draws do not show"):
        drawn.ratio.mean()


def test_a_ratio_of_two_shares_that_are_0_for_sure_is_undefined() -> None:
    nothing = ShareOfRecords(np.zeros(1), np.ones(1))
    found = of_different_records(nothing, nothing, ("a", "b"))
    assert found.ratio.undefined == found.equal == 1.0
    assert np.isnan([found.ratio.mean(), found.ratio.median(), *found.ratio.interval(), *found.odds_ratio.hdi()]).all()


@pytest.mark.parametrize("sizes", [[9, 6], None], ids=["sizes public", "nothing public"])
def test_differences_of_shares_of_the_records_of_two_groups(sizes: list[int] | None) -> None:
    prior, by = dc.Dirichlet([1, 2], categories=["yes", "no"]), {"region": ["north", "south"]}
    release = dc.LatticeGeometric(prior, sizes, 2, by=by).release([[6, 3], [2, 4]], source=SeededBits(1), steady=False)
    records = release.noise_aware(size_prior=np.zeros(16) if sizes is None else None).records
    found, laws = records.contrast("north", "south", "yes"), [records[group].marginal("yes") for group in ("north", "south")]
    listed = [list(zip(law.value, law.probability, strict=True)) for law in laws]
    pairs = [(u, v, p * q) for (u, p), (v, q) in product(*listed)]
    assert abs(found.probability - sum(p for u, v, p in pairs if u > v)) < CLOSE
    assert abs(found.equal - sum(p for u, v, p in pairs if u == v)) < CLOSE
    assert abs(found.difference.mean() - (laws[0].mean() - laws[1].mean())) < CLOSE
    low, high = found.difference.interval(0.9)
    assert sum(p for u, v, p in pairs if low - CLOSE <= u - v <= high + CLOSE) >= 0.9
    assert "north against south" in repr(found)
    with pytest.raises(InvalidInputError, match="two different groups"):
        records.contrast("north", "north", "yes")


def tied_release(epsilon: float = 2.0) -> dc.Release[Counts]:
    mechanism: Any = dc.LatticeGeometric(PRIOR_OF_TWO, 15, epsilon, by={"region": ["north", "south"]})
    raw = np.array([[6, 3], [2, 4]])
    return dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw))


def tied_sum(epsilon: float) -> tuple[float, float, float]:
    """P(>), P(=) and the mean of the difference of two groups' shares, by a sum over all tables with the public total."""
    found = np.zeros(4)
    for north, yes, other in product(range(16), range(16), range(16)):
        x = np.array([[yes, north - yes], [other, 15 - north - other]])
        if (x < 0).any() or not 0 < north < 15:  # both have records
            continue
        # shares of groups are uniform, and so is the size of one given the total
        prior = prod(stats.betabinom.pmf(count, size, 1, 2) for count, size in ((yes, north), (other, 15 - north)))
        weight = prior * np.exp(-epsilon / 2 * np.abs(x - tied_release().raw).sum())
        difference = yes / north - other / (15 - north)
        found += weight * np.array([difference > 1e-12, abs(difference) < 1e-12, difference, 1.0])
    larger, same, mean, _ = (found / found[3]).tolist()
    return larger, same, mean


def test_shares_of_the_records_of_groups_that_a_total_ties_are_drawn_jointly() -> None:
    """10,000 draws, with a seed that follows from the record, are within 5 standard errors; half the noise is told."""
    found = tied_release().noise_aware().records.contrast("north", "south", "yes")
    assert found.draws is not None
    assert found.draws > 9_900  # a group may have no records
    assert "(from draws)" in repr(found)
    shown = np.array([found.probability, found.equal, found.difference.mean()])
    likely = shown[:2] * (1.0 - shown[:2])
    errors = np.sqrt(np.array([*(likely + 1.0 / found.draws), found.difference.var()]) / found.draws)
    assert (np.abs(shown - tied_sum(2.0)) < 5.0 * errors).all()
    assert (np.abs(shown - tied_sum(4.0)) > 5.0 * errors).any()
    assert abs(float(found.ratio.sf(1.0)) * (1.0 - found.ratio.undefined) - found.probability) < 1e-12
    again = tied_release().noise_aware().records.contrasts("yes")
    assert again["probability"].tolist() == [found.probability], "the same numbers in a frame"


def test_shares_of_records_with_very_wide_noise_are_drawn() -> None:
    """The laws of both groups are known, and their difference has too many values to be listed."""
    records = dc.observed([[60, 50], [30, 44]], noise="geometric:0.5", prior=PRIOR_OF_TWO, by={"g": ["a", "b"]}).noise_aware().records
    with lowered(MIXTURE_CELLS=1_000_000):
        found, (one, other) = records.contrast("a", "b", "yes"), (records[group].marginal("yes") for group in ("a", "b"))
    assert found.draws == 10_000
    exact = float(other.probability @ one.sf(other.value))
    assert abs(found.probability - exact) < 5.0 * found.error
    assert abs(found.difference.mean() - (one.mean() - other.mean())) < 5.0 * found.difference.std() / 100.0


def test_what_is_no_set_is_refused() -> None:
    found = posterior(6)
    for labels in ([], list(CATEGORIES), ["never", "never"], ["never", "often"]):
        with pytest.raises(InvalidInputError):
            found.marginal(labels)
    for parts in ([CATEGORIES], [["never"], ["former"]], [CATEGORIES, []], [CATEGORIES[:3], CATEGORIES[2:]]):
        with pytest.raises(InvalidInputError):
            found.merged(dict(enumerate(parts)))


# --- scores -----------------------------------------------------------------------------------------------------------

WEIGHTS = {"never": 5.0, "former": -1.0, "current": 2.5, "other": 0.3}


def listed_scores(n: int | None, epsilon: float = EPSILON) -> list[tuple[float, float]]:
    """The mean and the standard deviation of the score of the probabilities and of the shares of the records, over all counts."""
    (points, chance), weight = weighted(n, epsilon), np.array(list(WEIGHTS.values()))
    y = PRIOR.concentration + points
    total = y.sum(axis=1)
    given = y @ weight / total
    spread = (y @ weight**2 / total - given**2) / (total + 1.0)
    some = points.sum(axis=1) > 0
    share = points[some] @ weight / points[some].sum(axis=1)
    found = []
    for value, probability, more in ((given, chance, spread), (share, chance[some] / chance[some].sum(), 0.0)):
        mean = float(probability @ value)
        found.append((mean, float(np.sqrt(probability @ ((value - mean) ** 2 + more)))))
    return found


@PUBLIC
def test_scores_have_the_moments_of_the_list(n: int | None) -> None:
    found = posterior(n)
    scores = [found.score(WEIGHTS), found.records.score(WEIGHTS)]
    for score, listed, control in zip(scores, listed_scores(n), listed_scores(n, 1.1 * EPSILON), strict=True):
        np.testing.assert_allclose((score.mean(), score.std()), listed, atol=CLOSE)
        assert np.abs(np.subtract((score.mean(), score.std()), control)).max() > 1e-4, "noise that is a tenth off is told"
        assert score.standard_error() == 0.0
    if n is not None:
        release = dc.LatticeGeometric(PRIOR, n, EPSILON).release(COUNTS, source=SeededBits(3), steady=False)
        assert abs(release.noise_aware().score(WEIGHTS).std() - scores[0].std()) < CLOSE, "listed, and by windows"
    assert abs(found.score(WEIGHTS).std() ** 2 - np.array(list(WEIGHTS.values())) @ found.cov() @ list(WEIGHTS.values())) < CLOSE


@PUBLIC
def test_a_score_of_two_weights_is_a_set(n: int | None) -> None:
    """With the weights 1 and 0 a score is the probability of a set, whose law is exact: that of the draws is within its error."""
    found, chosen = posterior(n), [1, 2]
    score = found.score({label: float(i in chosen) for i, label in enumerate(CATEGORIES)}, draws=40_000)
    exact = found.marginal([CATEGORIES[i] for i in chosen])
    np.testing.assert_allclose((score.mean(), score.std()), (exact.mean(), exact.std()), atol=CLOSE)
    for mass in (0.5, 0.95):
        low, high = score.interval(mass)
        assert abs(exact.cdf(low) - 0.5 * (1.0 - mass)) < 6.5 * score.probability_error(mass), "a false alarm in 1e10"
        assert abs(exact.sf(high) - 0.5 * (1.0 - mass)) < 6.5 * score.probability_error(mass)
        assert exact.cdf(score.hdi(mass)[1]) - exact.cdf(score.hdi(mass)[0]) > mass - 0.03
    np.testing.assert_allclose(score.pdf(0.5), exact.pdf(0.5), rtol=0.15)
    assert score.ppf([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert score.cdf(score.median()) == pytest.approx(0.5, abs=1e-4)
    assert score.interval(0.9) == found.score({c: float(i in chosen) for i, c in enumerate(CATEGORIES)}, draws=40_000).interval(0.9)
    assert score.interval(0.9) != found.score({c: float(i in chosen) for i, c in enumerate(CATEGORIES)}, rng=4).interval(0.9)


def test_weights_a_scale_away_change_nothing_but_the_place() -> None:
    """Scores are taken relative to their mean, so that a scale far from 0 costs no digits."""
    near, far = (posterior(None).score({c: w + shift for c, w in WEIGHTS.items()}) for shift in (0.0, 1e6))
    assert far.std() == pytest.approx(near.std(), abs=1e-9)
    assert far.mean() - near.mean() == pytest.approx(1e6, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"never": 0, "former": 1, "current": 2}, "there is none for 'other'"),
        ({**WEIGHTS, "often": 1}, "category must be one of"),
        ({**WEIGHTS, "other": np.inf}, "not a finite one"),
        ({**WEIGHTS, "other": "2"}, "not a finite one"),
        ([0, 1, 2, 3], "mapping with a number for every category"),
    ],
)
def test_what_is_no_weight_is_refused_in_a_line(weights: Any, words: str) -> None:
    for found in (posterior(6), posterior(6).records):
        with pytest.raises(InvalidInputError, match=words) as error:
            found.score(weights)
        assert "\n" not in str(error.value)
