"""Contrasts that are adjusted for other columns, against textbook sums, the moments of single groups, and draws put together here."""

import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.sampling import SeededBits

ADMISSIONS = np.array(
    [[512, 313], [89, 19], [353, 207], [17, 8], [120, 205], [202, 391], [138, 279], [131, 244], [53, 138], [94, 299], [22, 351], [24, 317]]
)
"""UC Berkeley 1973: men and women of six departments in turn, admitted and rejected."""
COMMON_ODDS_RATIO = 0.9046968
"""R 4.2: mantelhaen.test(aperm(UCBAdmissions, c(2, 1, 3)))$estimate."""
PUBLIC = ("sizes", "total", "nothing")
DRAWS = 20_000


def berkeley(times: int, public: str = "sizes") -> dc.TablePosterior:
    counts = ADMISSIONS * times
    n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[public]
    prior, by = dc.Dirichlet([1, 1], ["admitted", "rejected"]), {"department": list("ABCDEF"), "sex": ["men", "women"]}
    return dc.LatticeGeometric(prior, n, 1, by=by).release(counts, source=SeededBits(1973), steady=False).noise_aware()


@pytest.fixture(scope="module", params=PUBLIC)
def small(request: pytest.FixtureRequest) -> dc.TablePosterior:
    by = {"region": ["north", "south"], "sex": ["f", "m"], "year": [2023, 2024]}
    counts = np.array([[5, 1, 2], [2, 3, 2], [1, 1, 4], [3, 0, 2], [6, 2, 1], [1, 1, 0], [0, 2, 2], [4, 4, 1]])
    n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[request.param]
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 2], ["a", "b", "c"]), n, 2, by=by, impossible=[("south", "f", 2024, "c")])
    return mechanism.release(counts, source=SeededBits(5), steady=False).noise_aware()


def haenszel(theta: Any, sizes: Any, sides: Any) -> dict[str, Any]:
    """The three contrasts, stratum by stratum as in a textbook: a, b, c and d are the expected cells of a table of two by two."""
    above: dict[str, Any] = dict.fromkeys(("difference", "ratio", "odds_ratio"), 0.0)
    below = dict(above)
    for i, j in zip(*sides, strict=True):
        n, m = sizes[:, i], sizes[:, j]
        a, b, c, d = n * theta[:, i], n * (1 - theta[:, i]), m * theta[:, j], m * (1 - theta[:, j])
        whole = np.maximum(n + m, 1)
        for name, top, bottom in (("difference", a * m - c * n, n * m), ("ratio", a * m, c * n), ("odds_ratio", a * d, b * c)):
            above[name], below[name] = above[name] + top / whole, below[name] + bottom / whole
    with np.errstate(divide="ignore", invalid="ignore"):
        return {name: (above[name] / below[name])[below["difference"] > 0] for name in above}


def test_many_records_have_the_common_odds_ratio_of_r() -> None:
    post = berkeley(100_000)
    found = post.mantel_haenszel("men", "women", "admitted", over="department")
    assert abs(found.odds_ratio.median() - COMMON_ODDS_RATIO) < 1e-3
    sizes = ADMISSIONS.sum(axis=1, keepdims=True)
    exact = haenszel((ADMISSIONS[:, :1] / sizes).T, sizes.T, (range(0, 12, 2), range(1, 12, 2)))
    assert exact["odds_ratio"] == pytest.approx(COMMON_ODDS_RATIO, abs=1e-7)
    for name in ("difference", "ratio", "odds_ratio"):
        assert getattr(found, name).median() == pytest.approx(float(exact[name][0]), abs=1e-3)
    crude = post.over("sex", weights=ADMISSIONS.sum(axis=1)).contrast("men", "women", "admitted").odds_ratio
    assert crude.median() > 1.8  # the negative control: without strata it is 1.84


def test_draws_are_those_of_the_textbooks_sums(small: dc.TablePosterior) -> None:
    """Both have 20,000 draws, and a false alarm has a probability below 1e-9."""
    sides = (0, 1, 4, 5), (2, 3, 6, 7)
    found = small.mantel_haenszel("f", "m", ["a", "b"], over=["region", "year"], draws=DRAWS)
    source = np.random.default_rng(7)
    counts = small.sample_counts(DRAWS, source)
    shares = source.standard_gamma(np.where(small.cells.possible, [1.0, 1.0, 2.0], 0.0) + counts)
    theta = shares[..., :2].sum(axis=-1) / shares.sum(axis=-1)
    other = haenszel(theta, counts.sum(axis=-1).astype(float), sides)
    wrong = haenszel(theta, np.ones(theta.shape), (sides[1], sides[0]))
    for name, draws in other.items():
        quantity = getattr(found, name)
        at = np.quantile(draws, [0.1, 0.3, 0.5, 0.7, 0.9])
        near = [abs(quantity.cdf(x) - (draws <= x).mean()) for x in at]
        assert max(near) < 6.5 * np.sqrt(0.5 / DRAWS)
        assert max(abs(quantity.cdf(x) - (wrong[name] <= x).mean()) for x in at) > 0.05
    assert found.names == ("f", "m")
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again.odds_ratio.interval(0.9) == found.odds_ratio.interval(0.9)


def test_standardised_differences_add_those_of_strata() -> None:
    post, means = berkeley(1), berkeley(1).mean()[:, 0].reshape(6, 2)
    std = np.array([post[group].std()[0] for group in post]).reshape(6, 2)
    weights = np.arange(1.0, 7.0)
    share = weights / weights.sum()
    found = post.standardised("men", "women", "admitted", over="department", weights=weights)
    named = post.standardised("men", "women", "admitted", over="department", weights=dict(zip("ABCDEF", weights, strict=True)))
    assert found.difference.mean() == pytest.approx(share @ (means[:, 0] - means[:, 1]), abs=1e-9)
    assert found.difference.std() == pytest.approx(np.sqrt(share**2 @ (std**2).sum(axis=1)), abs=1e-9)
    assert named.difference.interval(0.9) == found.difference.interval(0.9)
    other = post.standardised("men", "women", "admitted", over="department")  # by the sizes of departments
    sizes = ADMISSIONS.sum(axis=1).reshape(6, 2).sum(axis=1)
    assert other.difference.mean() == pytest.approx(sizes / sizes.sum() @ (means[:, 0] - means[:, 1]), abs=1e-9)
    assert abs(other.difference.mean() - found.difference.mean()) > 1e-3


def test_what_cannot_be_adjusted_is_refused() -> None:
    post = berkeley(1, "nothing")
    with pytest.raises(dc.InvalidInputError, match="weights="):
        post.standardised("men", "women", "admitted", over="department")
    for over in ("colour", ["department", "department"]):
        with pytest.raises(dc.InvalidInputError, match="over takes"):
            post.mantel_haenszel("men", "women", "admitted", over=over)
    for nothing in ([], ["department", "sex"]):
        with pytest.raises(dc.InvalidInputError, match=r"over must .* department, sex"):
            post.mantel_haenszel("men", "women", "admitted", over=nothing)
    with pytest.raises(dc.InvalidInputError, match="'men' twice"):
        post.standardised("men", "men", "admitted", over="department", weights=np.ones(6))
    with pytest.raises(dc.InvalidInputError, match="sex must be one of"):
        post.mantel_haenszel("men", "children", "admitted", over="department")
    with pytest.raises(dc.InvalidInputError, match=r"weights .* 6 groups"):
        post.standardised("men", "women", "admitted", over="department", weights=np.ones(12))
    with pytest.raises(dc.TooLargeError, match="draws"):
        post.mantel_haenszel("men", "women", "admitted", over="department", draws=10**9)
    by = {"stratum": ["x", "y"], "sex": ["f", "m"]}
    apart = dc.LatticeGeometric(dc.Dirichlet([1, 1]), [3, 0, 0, 4], 1, by=by).release([[1, 2], [0, 0], [0, 0], [2, 2]], steady=False)
    with pytest.raises(dc.RefusedError, match="no stratum"):
        apart.noise_aware().mantel_haenszel("f", "m", 0, over="stratum")
