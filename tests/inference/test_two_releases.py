"""Two releases about different records. Oracle: sums over all counts of both, with quadrature over probabilities (`contrast_oracles`)."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.sampling import SeededBits
from tests.inference.contrast_oracles import POINTS, QUANTITIES, Pairs, merged

PRIOR = dc.Dirichlet([1, 2, 1], categories=["never", "former", "current"])
EPSILON, N = 1.5, (5, 6)
BY = {"region": ["north", "south"]}
CLOSE = 1e-9


def release(n: int, seed: int, epsilon: float = EPSILON) -> dc.Release:
    return dc.LatticeGeometric(PRIOR, n, epsilon).release([n - 3, 2, 1], source=SeededBits(seed), steady=False)


def table(seed: int, n: Any = (5, 6), by: Any = BY) -> dc.Release[Counts]:
    return dc.LatticeGeometric(PRIOR, n, EPSILON, by=by).release([[3, 1, 1], [2, 2, 2]], source=SeededBits(seed), steady=False)


def side(found: dc.Release, chosen: list[int], epsilon: float) -> tuple[Any, Any, Any]:
    """All counts of a release, with their posterior weights and the Beta parameters of a set of categories."""
    assert found.n is not None
    points = np.array([x for x in product(range(found.n + 1), repeat=3) if sum(x) == found.n])
    weight = np.exp(PRIOR.predictive(found.n).logpmf(points) - 0.5 * epsilon * np.abs(points - np.array(found.raw)).sum(axis=1))
    a = PRIOR.concentration[chosen].sum() + points[:, chosen].sum(axis=1)
    return weight / weight.sum(), a, PRIOR.concentration.sum() + found.n - a


def oracle(releases: list[dc.Release], chosen: list[int], epsilon: float = EPSILON) -> Pairs:
    """The product of both posteriors."""
    (v, a, b), (w, c, d) = (side(found, chosen, epsilon) for found in releases)
    pairs = [(x * y, *first, *second) for x, *first in zip(v, a, b, strict=True) for y, *second in zip(w, c, d, strict=True)]
    return Pairs(*merged(*np.array(pairs).T))


@pytest.mark.parametrize("chosen", [[2], [1, 2]])
def test_a_contrast_of_two_releases_is_that_of_the_product(chosen: list[int]) -> None:
    releases = [release(n, seed) for seed, n in enumerate(N)]
    found = dc.contrast(releases[0], releases[1], [PRIOR.categories[i] for i in chosen])
    right, wrong = oracle(releases, chosen), oracle(releases, chosen, 1.1 * EPSILON)
    differences = []
    for name in QUANTITIES:
        for t in POINTS[name][1::2]:
            value = float(getattr(found, name).cdf(t))
            assert abs(value - right.cdf(name, t)) < CLOSE
            differences.append(abs(value - wrong.cdf(name, t)))
    assert max(differences) > 1e-4, "noise that is a tenth off is told"
    assert found.probability == pytest.approx(1.0 - right.cdf("difference", 0.0), abs=CLOSE)


def test_a_reader_may_bring_a_prior() -> None:
    one, other = release(5, 0), release(6, 1)
    own = dc.Dirichlet([9, 9, 9], categories=list(PRIOR.categories))
    found = dc.contrast(one.noise_aware(own), other.noise_aware(own), "current")
    assert found.difference.std() < dc.contrast(one, other, "current").difference.std()
    assert found.difference.mean() == pytest.approx(one.noise_aware(own).mean()[2] - other.noise_aware(own).mean()[2], abs=1e-10)


def test_two_tables_are_compared_group_by_group() -> None:
    one, other = table(0), table(1, None)
    found = dc.contrast(one, other, ["former", "current"], mass=0.9)
    assert found["region"].tolist() == ["north", "south"]
    alone = dc.contrast(one.noise_aware()["south"], other.noise_aware()["south"], ["former", "current"])
    assert found["difference"].tolist()[1] == pytest.approx(alone.difference.median(), abs=1e-12)
    assert found["odds_ratio_high"].tolist()[1] == pytest.approx(alone.odds_ratio.interval(0.9)[1], rel=1e-12)
    assert list(found.columns)[1:4] == ["difference", "difference_low", "difference_high"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (release(5, 0), release(5, 0), "the same release twice"),
        (release(5, 0), dc.Release.from_json(release(5, 0).to_json()), "the same release twice"),
        (table(0), table(0), "the same release twice"),
        (release(5, 0), table(0), "one of these is a table"),
        (release(5, 0), 3, "takes two releases"),
        (table(0), table(0, by={"region": ["north", "west"]}), "different ones"),
    ],
)
def test_what_is_not_compared_is_refused_in_a_line(first: Any, second: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        dc.contrast(first, second, "current")
    assert "\n" not in str(refused.value)


def test_categories_must_be_known_to_both() -> None:
    with pytest.raises(InvalidInputError, match="category must be one of"):
        dc.contrast(release(5, 0), release(6, 1), "often")
