"""Everything public pickles: what comes back answers the same numbers, before and after the first was asked."""

import inspect
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import BetaRows
from discreet.inference.quantities import Quantity
from discreet.mechanisms import Remapped
from discreet.requests.studies.study import StudyTable
from discreet.sampling import SeededBits
from tests.record.table_support import released
from tests.support import lowered

PRIOR = dc.Dirichlet([1, 0.5, 2], categories=["never", "former", "current"])
TWO = dc.Beta(1, 2)
COUNTS = [30, 20, 10]
PUBLIC = ("sizes", "total", "nothing")
NOT_VALUES = {"Ledger", "Mechanism", "Release", "TablePosterior", "CombinedTable", "TableSummaries"}
"""A ledger is a file, and `Mechanism` is abstract; three have instances below, of several origins; the last needs a file (test_pieces)."""


def drawn(mechanism: dc.Mechanism, counts: list[int], seed: int = 1) -> dc.Release:
    return mechanism.release(counts, source=SeededBits(seed), allow_nonprivate=True, steady=False)


@cache
def variable(n: int | None = 60) -> dc.Release:
    return drawn(dc.LatticeGeometric(PRIOR, n, 1), COUNTS)


@cache
def posterior(public: str) -> dc.TablePosterior:
    return released(public).noise_aware()


MECHANISMS: dict[str, Callable[[], dc.Mechanism]] = {
    "lattice": lambda: dc.LatticeGeometric(TWO, 12, 1),
    **{
        name: lambda name=name: getattr(dc, name)(TWO, 12, 1)  # type: ignore[misc]
        for name in (
            "DiscreteGaussian",
            "HellingerGlobal",
            "HellingerLocal",
            "HellingerSmooth",
            "LaplaceDimension",
            "LaplaceHistogram",
            "LaplaceZhang",
        )
    },
    "HellingerSmoothDelta": lambda: dc.HellingerSmoothDelta(TWO, 12, 1, delta=0.01),
    "MetricExponential": lambda: dc.MetricExponential(TWO, 12, 1, metric=dc.total_variation),
    "remapped": lambda: Remapped(dc.HellingerGlobal(TWO, 12, 1)),
    "calibrated": lambda: dc.Calibrated(dc.HellingerSmooth(TWO, 12, 1)),
}


def read(found: Any) -> Any:
    return found.mean(), found.interval(0.9)


def contrasted(found: dc.Contrast) -> Any:
    each = (found.difference, found.ratio, found.odds_ratio)
    return found.probability, [(one.mean(), one.std(), one.interval(0.9), one.cdf(0.3)) for one in each]


def by_group(found: Any) -> Any:
    return [read(found[group]) for group in found]


Case = tuple[Callable[[], Any], Callable[[Any], Any]]
CASES: dict[str, Case] = {
    "Dirichlet": (lambda: PRIOR, lambda x: (x.exact, x.categories, x.mean())),
    "Beta": (lambda: TWO, lambda x: (x.exact, x.interval())),
    "predictive": (lambda: PRIOR.predictive(5), lambda x: x.logpmf([2, 2, 1])),
    **{f"mechanism {name}": (made, lambda x: (x, x.law([7, 5]).log_probability)) for name, made in MECHANISMS.items()},
    **{
        f"release {name}": (lambda made=made: drawn(made(), [7, 5]), lambda x: (x, x.to_json()))  # type: ignore[misc]
        for name, made in MECHANISMS.items()
        if name != "MetricExponential"
    },
    "mechanism of levels": (lambda: dc.Nested(PRIOR, sum(COUNTS), 1, levels={"pairs": 2}), lambda x: (x, x.nodes("pairs"))),
    "posterior of levels": (
        lambda: drawn(dc.Nested(PRIOR, epsilon=1, levels={"pairs": 2}), COUNTS).noise_aware(),
        lambda x: (read(x), x.size.mean()),
    ),
    "posterior": (lambda: variable().noise_aware(), read),
    "posterior, private n": (lambda: variable(None).noise_aware(), lambda x: (read(x), x.size.mean())),
    "size priors": (
        lambda: [variable(None).noise_aware(size_prior=p) for p in ("poisson:60", "negative-binomial:60,2", np.zeros(99))],
        lambda x: [read(one) for one in x],
    ),
    "reported": (lambda: variable().reported, lambda x: x.mean()),
    "given": (lambda: variable().noise_aware().given(["never", "former"]), read),
    "marginal": (lambda: variable().noise_aware().marginal("never"), lambda x: (read(x), x.pdf(0.3))),
    "mixture": (lambda: BetaMixture(np.array([0.3, 0.7]), np.array([2.0, 5.0]), np.array([4.0, 1.0])), lambda x: (read(x), x.pdf(0.3))),
    "contrast of categories": (lambda: variable().noise_aware().contrast("never", "former"), contrasted),
    "contrast of two categories": (lambda: drawn(MECHANISMS["lattice"](), [7, 5]).noise_aware().contrast(*TWO.categories), contrasted),
    "difference": (lambda: variable().noise_aware().contrast("never", "former").difference, read),
    "estimate": (lambda: variable().noise_aware().probability(lambda theta: theta[:, 0] > 0.5, draws=100, rng=1), repr),
    "release of a table": (released, lambda x: (x, x.to_json())),
    **{f"table, {public}": (lambda public=public: posterior(public), lambda x: (x.figures().low, x.sample(2, 1))) for public in PUBLIC},  # type: ignore[misc]
    **{f"part, {public}": (lambda public=public: posterior(public)["south", 2024], read) for public in PUBLIC},  # type: ignore[misc]
    **{
        f"contrast of groups, {public}": (
            lambda public=public: posterior(public).contrast(("south", 2023), ("south", 2024), "never"),  # type: ignore[misc]
            contrasted,
        )
        for public in PUBLIC
    },
    **{f"sums, {public}": (lambda public=public: posterior(public).counts.over("year"), by_group) for public in PUBLIC},  # type: ignore[misc]
    "sum": (lambda: posterior("nothing").counts.over(), read),
    "counts": (lambda: posterior("nothing").counts, lambda x: read(x.over())),
    **{
        f"margins, {public}": (lambda public=public: posterior(public).over("year", weights=[1, 2, 3, 4], draws=50, rng=1), by_group)  # type: ignore[misc]
        for public in PUBLIC
    },
    "margin": (lambda: posterior("total").over("year", draws=50, rng=1)[2023], read),
    "share": (lambda: posterior("total").share(("south", 2024)), read),
    "figures": (lambda: posterior("sizes").figures(), lambda x: (x.mean, x.low, x.high)),
    "ranks": (lambda: posterior("sizes").ranks("never", draws=50, rng=1), lambda x: (x.groups, x.probability)),
    "combined": (lambda: dc.combine([variable(), drawn(variable().mechanism, COUNTS, 2)], same_data=True), read),
    "study": (
        lambda: dc.Study((StudyTable("smoking", "smoking", PRIOR.categories),), Fraction(1), "survey.csv"),
        lambda x: (x, x.epsilons),
    ),
    "sets": (lambda: variable().noise_aware().merged({"never": ["never"], "ever": ["former", "current"]}), read),
    "cumulative": (lambda: variable().noise_aware().cumulative(), read),
    "records": (lambda: variable(None).noise_aware().records, read),
    "combined tables": (lambda: dc.combine([released(), released(seed=2)], same_data=True), by_group),
    "Bands": (lambda: dc.Bands([0, 1, 3], missing="none"), lambda x: x),
    "Months": (lambda: dc.Months("2026-01", "2026-12", missing="none"), lambda x: (*x, x.typed())),
    "Years": (lambda: dc.Years(2020, 2026), lambda x: (*x, x.typed())),
    "About": (lambda: dc.About(title="a", variable="b"), lambda x: x),
    "Guarantee": (lambda: variable().guarantee, lambda x: x),
    "CountingRule": (lambda: dc.CountingRule("smoking"), lambda x: x),
    "Accountant": (lambda: dc.Accountant(), repr),
    "Capabilities": (lambda: dc.capabilities(variable().mechanism), lambda x: x),
    "CategoryCounts": (lambda: dc.count(pd.DataFrame({"x": ["a", "b"]}), "x", ["a", "b"]), lambda x: (np.array(x), x.total)),
    "TableCounts": (lambda: dc.count(pd.DataFrame({"x": ["a"], "g": ["u"]}), "x", ["a", "b"], by={"g": ["u"]}), lambda x: np.array(x)),
}


def same(one: Any, other: Any) -> bool:
    """Whether two answers are the same to the last bit."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other, equal_nan=True)) if isinstance(one, np.ndarray) else bool(one == other)


@pytest.mark.parametrize("name", CASES)
def test_a_pickle_answers_the_same(name: str) -> None:
    make, ask = CASES[name]
    found = make()
    before = pickle.loads(pickle.dumps(found))  # noqa: S301
    answer = ask(found)
    after = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert type(before) is type(after) is type(found)
    assert same(answer, ask(before))
    assert same(answer, ask(after))


def test_another_thing_answers_otherwise() -> None:
    """The comparison sees a difference: another seed, and another level."""
    one, other = variable().noise_aware(), drawn(variable().mechanism, COUNTS, 2).noise_aware()
    assert not same(read(one), read(other))
    assert not same([np.ones(2)], [np.ones(3)])


def test_draws_of_several_releases_pickle() -> None:
    with lowered(POOLED_PRODUCTS=1):
        found = dc.combine([variable(), drawn(variable().mechanism, COUNTS, 2)], same_data=False, chains=20, rng=1)
    assert isinstance(found, dc.CombinedDraws)
    assert same(read(found), read(pickle.loads(pickle.dumps(found))))  # noqa: S301


def test_no_public_kind_is_left_out() -> None:
    public = {name for name in dc.__all__ if inspect.isclass(getattr(dc, name)) and not issubclass(getattr(dc, name), Exception)}
    kinds = {type(make()).__name__ for make, _ in CASES.values()} | {"CombinedDraws"}
    assert public - NOT_VALUES <= kinds
    assert {BetaMixture.__name__, BetaRows.__name__, Quantity.__name__} <= kinds
