"""Whatever is read has the same verbs: each answers with the axes and columns that are stated, or refuses in one line."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Counts
from discreet.errors import DiscreetError
from discreet.inference.posterior import Posterior
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.reading import Reading
from discreet.inference.records import ComparedShares, RecordContrast
from discreet.sampling import SeededBits

CATEGORIES = ("never", "former", "current")
PRIOR = dc.Dirichlet([1, 0.5, 2], categories=CATEGORIES)
BY = {"region": ["north", "south"], "sex": ["f", "m"]}
COUNTS = np.array([[12, 4, 6], [9, 7, 8], [6, 1, 0], [4, 3, 3]])
WEIGHTS = {"never": 0.0, "former": 1.0, "current": 2.0}
NUMBERS = ["mean", "sd", "low", "high"]
CONTRASTED = [name + end for name in ("difference", "ratio", "odds_ratio") for end in ("", "_low", "_high")] + ["probability"]
RECORDS = [*CONTRASTED, "equal", "ratio_undefined", "odds_ratio_undefined"]
DISTRIBUTION = ("mean", "std", "median", "interval", "hdi", "cdf", "sf", "ppf")
"""The verbs of a distribution of one number; those of contrasts and scores have more."""


@cache
def variable(n: int | None, seed: int = 1) -> dc.Release:
    return dc.LatticeGeometric(PRIOR, n, 1).release([30, 20, 10], source=SeededBits(seed), steady=False)


@cache
def table(public: str, seed: int = 1) -> dc.Release[Counts]:
    n: Any = {"sizes": COUNTS.sum(axis=1), "total": int(COUNTS.sum()), "nothing": None}[public]
    impossible = [("south", "f", "current")] if seed == 2 else []
    mechanism = dc.LatticeGeometric(PRIOR, n, 1, by=BY, impossible=impossible)
    return mechanism.release(COUNTS, source=SeededBits(seed), steady=False)


@cache
def published(by: bool) -> Any:
    """What others published: a variable with a count that is missing, or a table in Gaussian noise."""
    if by:
        return dc.observed(COUNTS + 1, noise="gaussian:2", prior=PRIOR, by=BY)
    return dc.observed([30, 21, None], noise="laplace:1", steps="rounded:3,suppressed:12", prior=PRIOR, n=60)


@cache
def combined(*, same_data: bool) -> Any:
    return dc.combine([variable(60), variable(60, 2)], same_data=same_data)


def margin(public: str) -> Any:
    return table(public).noise_aware().over("sex", weights=None if public == "total" else np.arange(1, 5), draws=500)


@dataclass(frozen=True)
class Kind:
    """Something that is read, its axes, and the verbs that it refuses."""

    make: Callable[[], Any]
    groups: int | None
    columns: tuple[str, ...] = ()
    labels: tuple[str, ...] = CATEGORIES
    refuses: tuple[str, ...] = ()

    @property
    def axes(self) -> tuple[int, ...]:
        return (*self.by_group, len(self.labels))

    @property
    def by_group(self) -> tuple[int, ...]:
        return () if self.groups is None else (self.groups,)


BOTH = ("region", "sex")
UP_TO = ("up to never", "up to former")
SETS = ("smoked", "never")
MERGED = {"smoked": ["former", "current"], "never": ["never"]}
KINDS = {
    "variable": Kind(lambda: variable(60).noise_aware(), None),
    "variable, n private": Kind(lambda: variable(None).noise_aware(), None),
    "part": Kind(
        lambda: variable(60).noise_aware().given(["never", "current"]), None, labels=("never", "current"), refuses=("set", "merged")
    ),
    "group": Kind(lambda: table("total").noise_aware()["north", "f"], None),
    "coarser": Kind(lambda: variable(60).noise_aware().merged(MERGED), None, labels=SETS, refuses=("set", "merged")),
    "cumulative": Kind(
        lambda: variable(60).noise_aware().cumulative(),
        None,
        labels=UP_TO,
        refuses=("set", "merged", "cumulative", "contrast", "contrasts", "sets compared"),
    ),
    "combination of the same records": Kind(lambda: combined(same_data=True), None),
    "combination of new records": Kind(lambda: combined(same_data=False), None),
    "records": Kind(lambda: variable(None).noise_aware().records, None, refuses=("records",)),
    "records of groups": Kind(lambda: table("sizes").noise_aware().records, 4, BOTH, refuses=("records",)),
    **{f"table, {public}": Kind(lambda public=public: table(public).noise_aware(), 4, BOTH) for public in ("sizes", "total", "nothing")},  # type: ignore[misc]
    "table with impossible cells": Kind(lambda: table("total", 2).noise_aware(), 4, BOTH),
    "tables together": Kind(lambda: dc.combine([table("sizes"), table("sizes", 3)], same_data=True), 4, BOTH),
    "tables of new records": Kind(lambda: dc.combine([table("nothing"), table("sizes", 3)], same_data=False), 4, BOTH),
    "true counts": Kind(
        lambda: table("total").noise_aware().counts,
        4,
        BOTH,
        refuses=("hdi", "summary hdi", "score", "set", "merged", "cumulative", "records", "contrast", "contrasts", "sets compared"),
    ),
    "records of a table": Kind(lambda: table("total").noise_aware().records, 4, BOTH, refuses=("records",)),
    "cumulative records of a table": Kind(
        lambda: table("total").noise_aware().records.cumulative(),
        4,
        BOTH,
        UP_TO,
        refuses=("set", "merged", "cumulative", "records"),
    ),
    "table, pooled": Kind(lambda: table("sizes").noise_aware().pooled(), 4, BOTH, refuses=("records",)),
    "group, pooled": Kind(lambda: table("sizes").noise_aware().pooled()["north", "f"], None, refuses=("records",)),
    "coarser table": Kind(lambda: table("nothing").noise_aware().merged(MERGED), 4, BOTH, SETS, refuses=("set", "merged")),
    "cumulative table": Kind(
        lambda: table("sizes").noise_aware().cumulative(),
        4,
        BOTH,
        UP_TO,
        refuses=("set", "merged", "cumulative"),
    ),
    "published by others": Kind(lambda: published(False).noise_aware(), None),
    "table published by others": Kind(lambda: published(True).noise_aware(), 4, BOTH),
    "margin": Kind(lambda: margin("total"), 2, ("sex",), refuses=("records",)),
    "margin with weights": Kind(lambda: margin("sizes"), 2, ("sex",), refuses=("records",)),
    "all groups": Kind(lambda: table("total").noise_aware().over(draws=500), None, refuses=("records",)),
    "counts over a margin": Kind(
        lambda: table("sizes").noise_aware().counts.over("sex"),
        2,
        ("sex",),
        refuses=("hdi", "summary hdi", "score", "set", "merged", "cumulative", "records", "contrast", "contrasts", "sets compared"),
    ),
}


def first_two(kind: Kind, found: Any) -> tuple[Any, ...]:
    """What a contrast compares: two groups in a category, or two categories."""
    return kind.labels[:2] if kind.groups is None else (*list(found)[:2], kind.labels[0])


def against_one(kind: Kind, found: Any) -> Any:
    """The frame of all categories or groups against the first."""
    if kind.groups is None:
        return found.contrasts(reference=kind.labels[0], mass=0.9)
    return found.contrasts(kind.labels[0], reference=next(iter(found)), mass=0.9)


def law(kind: Kind, answer: Any) -> None:
    """A distribution of one number, or one for each group, on the axis of groups."""
    if kind.groups is not None:
        assert answer.mean().shape == answer.std().shape == answer.median().shape == kind.by_group
        assert answer.interval(0.9).shape == (*kind.by_group, 2)
        assert list(answer.summary().columns) == [*kind.columns, *NUMBERS]
        assert answer.cdf([0.2, 0.4]).shape == (*kind.by_group, 2)
        answer = answer[next(iter(answer))]
    for verb in DISTRIBUTION:
        if verb == "median" or verb in kind.refuses:  # that of records has none
            continue
        value = getattr(answer, verb)(*{"cdf": [0.5], "sf": [0.5], "ppf": [0.5]}.get(verb, []))
        assert np.isfinite(value).all()
    low, high = answer.interval(0.9)
    assert low <= answer.ppf(0.5) <= high


def score(kind: Kind, found: Any) -> None:
    answer = found.score({label: float(i) for i, label in enumerate(kind.labels)})
    law(kind, answer)
    one = answer if kind.groups is None else answer[next(iter(answer))]
    assert isinstance(one, DrawnQuantity)
    assert one.sample(7).shape == (7,)
    assert 0.0 < one.probability_error(0.9) < 0.1
    np.testing.assert_allclose(answer.mean(), found.mean() @ np.arange(len(kind.labels)), atol=1e-8)


def frame(kind: Kind, answer: Any) -> None:
    assert list(answer.columns) == [*kind.columns, "category", *NUMBERS]
    assert len(answer) == int(np.prod(kind.axes))
    assert answer["category"].tolist()[: len(kind.labels)] == list(kind.labels)


def contrasts(kind: Kind, answer: Any) -> None:
    labels = kind.columns or ("category",)
    assert list(answer.columns) == [
        *labels,
        *(f"against_{name}" for name in labels),
        *(RECORDS if "equal" in answer.columns else CONTRASTED),
    ]
    assert len(answer) == (len(kind.labels) if kind.groups is None else kind.groups) - 1


def reading(kind: Kind, answer: Any, labels: tuple[str, ...]) -> None:
    """Another thing with the same verbs, of these categories."""
    assert isinstance(answer, Reading)
    assert answer.categories == labels
    assert answer.mean().shape == (*kind.by_group, len(labels))
    assert answer.interval(0.9).shape == (*kind.by_group, len(labels), 2)
    assert list(answer.summary().columns) == [*kind.columns, "category", *NUMBERS]


def array(verb: str, more: tuple[int, ...], *arguments: Any) -> Callable[[Kind, Any], None]:
    """The verb gives numbers with the axes of the kind and these."""

    def check(kind: Kind, found: Any) -> None:
        answer = getattr(found, verb)(*arguments)
        assert answer.shape == (*kind.axes, *more)
        assert np.isfinite(answer).all()

    return check


def compared(kind: Kind, found: Any) -> None:
    answer = found.contrast(*first_two(kind, found))
    assert isinstance(answer, dc.Contrast)
    for quantity in (answer.difference, answer.ratio, answer.odds_ratio):
        one_number(quantity)
    if isinstance(answer, RecordContrast):
        assert answer.equal == answer.difference.pmf(0.0)
        assert answer.ratio.undefined <= answer.odds_ratio.undefined < 1.0
    again = found.contrast(*first_two(kind, found))
    assert again.difference.cdf(0.1) == answer.difference.cdf(0.1), "the same numbers twice"
    assert len(pickle.dumps(answer)) < len(pickle.dumps(found)) + 3_000, "how it is computed, and not its law"
    assert pickle.loads(pickle.dumps(answer)).odds_ratio.cdf(1.2) == answer.odds_ratio.cdf(1.2)  # noqa: S301


def one_number(quantity: Any) -> None:
    """Every verb of a difference, a ratio or an odds ratio answers, or refuses in one line: means of draws, densities of shares."""
    low, high = quantity.interval(0.9)
    median = quantity.median()
    assert low <= median <= high
    assert 0.0 <= quantity.cdf(median) <= 1.0
    assert quantity.cdf(median) + quantity.sf(median) == pytest.approx(1.0)
    assert quantity.ppf(0.5) == pytest.approx(median)
    shortest = quantity.hdi(0.9)
    assert shortest[0] < shortest[1]
    assert quantity.sample(7, 1).shape == (7,)
    assert quantity.to_scipy().cdf(median) == quantity.cdf(median)
    assert np.isfinite(quantity.alike)
    assert quantity.name in repr(quantity)
    assert quantity.name in quantity._repr_html_()
    discrete = isinstance(quantity, ComparedShares)
    drawn_ratio = quantity.infinite is None and quantity.ppf(1.0) < np.inf if discrete else isinstance(quantity, DrawnQuantity)
    refused = [*(["pdf", "plot"] if discrete else []), *(["mean", "std"] if drawn_ratio and quantity.logarithmic else [])]
    for verb in ("mean", "std", "plot", "pdf", *(["pmf"] if discrete else [])):
        ask = partial(getattr(quantity, verb), *([median] if verb in ("pdf", "pmf") else []))
        if verb in refused:
            with pytest.raises(DiscreetError) as told:
                ask()
            assert "\n" not in str(told.value)
        else:
            assert ask().get_xlabel() if verb == "plot" else ask() > 0.0 if verb in ("pdf", "pmf") else not np.isnan(ask())
    plt.close("all")


def sets_compared(kind: Kind, found: Any) -> None:
    """A set of categories against another one, or between groups: as the same sets that are put together first."""
    if kind.groups is None:
        one, other = found.contrast([kind.labels[0]], list(kind.labels[1:])), found.contrast(kind.labels[0], list(kind.labels[1:]))
        with pytest.raises(dc.InvalidInputError, match="twice"):
            found.contrast(list(kind.labels[:-1]), kind.labels[0])
    else:
        sets = [kind.labels[0]]
        one, other = (found.contrast(*list(found)[:2], each) for each in (sets, kind.labels[0]))
    assert one.difference.interval(0.9) == other.difference.interval(0.9)
    assert one.names == other.names


def drawn(kind: Kind, found: Any) -> None:
    """A picture: of all, and of one category with words of the reader's own."""
    assert found.plot().get_xlabel()
    ax = found.plot(mass=0.9, category=kind.labels[-1], sort="declared", title="Mine", color="#aa0000")
    assert ax.get_title() == "Mine"
    assert ax.get_lines()[-1].get_color() == "#aa0000"
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert kind.groups is None or kind.groups - 1 <= len(rows) <= kind.groups, "all in which the category can occur"
    plt.close("all")


VERBS: dict[str, Callable[[Kind, Any], None]] = {
    **{verb: array(verb, ()) for verb in ("mean", "std", "var", "median")},
    "interval": array("interval", (2,), 0.9),
    "hdi": array("hdi", (2,), 0.9),
    "quantile": array("quantile", (3,), [0.1, 0.5, 0.9]),
    "summary": lambda kind, found: frame(kind, found.summary(0.9)),
    "summary hdi": lambda kind, found: frame(kind, found.summary(0.9, kind="hdi")),
    "to_pandas": lambda kind, found: frame(kind, found.to_pandas()),
    "marginal": lambda kind, found: law(kind, found.marginal(kind.labels[0])),
    "set": lambda kind, found: law(kind, found.marginal(list(kind.labels[:2]))),
    "merged": lambda kind, found: reading(kind, found.merged({"a": kind.labels[:2], "b": kind.labels[2:]}), ("a", "b")),
    "cumulative": lambda kind, found: reading(kind, found.cumulative(), tuple(f"up to {label}" for label in kind.labels[:-1])),
    "records": lambda kind, found: reading(kind, found.records, kind.labels),
    "score": score,
    "contrast": compared,
    "sets compared": sets_compared,
    "contrasts": lambda kind, found: contrasts(kind, against_one(kind, found)),
    "plot": drawn,
    "pickle": lambda _, found: np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).interval(0.9), found.interval(0.9)),  # noqa: S301
    "axes": lambda kind, found: np.testing.assert_array_equal(
        (found.by is None, len(found.categories)), (kind.groups is None, len(kind.labels))
    ),
}


@cache
def made(name: str) -> Any:
    return KINDS[name].make()


@pytest.mark.filterwarnings("ignore:.*are not one interval")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", KINDS)
def test_every_verb_of_every_kind(name: str, verb: str) -> None:
    kind, found = KINDS[name], made(name)
    if verb not in kind.refuses:
        VERBS[verb](kind, found)
        return
    with pytest.raises(DiscreetError) as refused:
        VERBS[verb](kind, found)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) > 20


# --- what posteriors have beside: draws, figures, sizes ----------------------------------------------------------------

_OTHERS = ("cumulative", "records", "margin", "all groups", "counts", "true counts", "coarser table")
POSTERIORS = [name for name in KINDS if not name.startswith(_OTHERS)]
_DRAWS = 4000


def test_tables_from_anywhere_are_posteriors() -> None:
    assert [name for name in KINDS if isinstance(made(name), Posterior)] == POSTERIORS
    tables = {name for name in POSTERIORS if isinstance(made(name), dc.TablePosterior)}
    assert {"variable", "part", "group", "combination of new records"} <= set(POSTERIORS) - tables
    assert tables == {name for name in KINDS if name.startswith("table")}


@pytest.mark.parametrize("name", POSTERIORS)
def test_figures_are_what_the_verbs_say(name: str) -> None:
    kind, found = KINDS[name], made(name)
    figures, together = found.figures(0.9), found.simultaneous(0.9)
    np.testing.assert_allclose(figures.mean, found.mean(), atol=1e-9)
    np.testing.assert_allclose(figures.std, found.std(), atol=1e-9)
    np.testing.assert_allclose(figures, found.interval(0.9), atol=1e-9)
    frame(kind, figures.to_pandas())
    assert (together.low <= figures.low).all()
    assert (together.high >= figures.high).all()
    wider = bool((together.high - together.low > 1.05 * (figures.high - figures.low)).any())
    assert wider == (kind.axes != (2,)), "two categories have one interval, because one says the other"
    sizes = found.size.mean()
    np.testing.assert_allclose(figures.count_mean.sum(axis=-1), sizes, rtol=1e-6, err_msg="counts add up to sizes")
    assert np.shape(sizes) == kind.by_group


@pytest.mark.parametrize("name", POSTERIORS)
def test_draws_have_the_moments_of_the_laws(name: str) -> None:
    """Means of 4,000 independent draws lie within 7 standard errors: a false alarm has a probability below 1e-9."""
    kind, found = KINDS[name], made(name)
    theta, counts = found.sample(_DRAWS), found.sample_counts((2, 3))
    assert theta.shape == (_DRAWS, *kind.axes)
    assert counts.shape == (2, 3, *kind.axes)
    assert (np.abs(theta.mean(axis=0) - found.mean()) <= 7.0 * found.std() / np.sqrt(_DRAWS) + 1e-12).all()
    assert (np.abs(theta.mean(axis=0) - 1.1 * found.mean()) > 7.0 * found.std() / np.sqrt(_DRAWS)).any(), "10 % would be seen"
    first = (slice(None), *(0,) * len(kind.axes))
    event = found.probability(lambda drawn: drawn[first] > 0.3, draws=500)
    assert 0.0 <= float(event) <= 1.0
    dataset = found.to_xarray(draws=5, chains=2)
    assert dataset["theta"].dims == ("chain", "draw", *kind.columns, "category")
    assert dataset["count"].shape == (2, 5, *(len(BY[column]) for column in kind.columns), len(kind.labels))


# --- margins: joint draws, figures, ranks -------------------------------------------------------------------------------

MARGINS = [name for name in KINDS if name.startswith(("margin", "all groups"))]


@pytest.mark.parametrize("name", MARGINS)
def test_margins_have_figures_and_intervals_that_hold_together(name: str) -> None:
    kind, found = KINDS[name], made(name)
    figures, together = found.figures(0.9), found.simultaneous(0.9)
    for numbers, verb in ((figures.mean, found.mean()), (figures.std, found.std()), (np.asarray(figures), found.interval(0.9))):
        np.testing.assert_array_equal(numbers, verb)
    frame(kind, figures.to_pandas())
    assert (together.together, figures.level) == (0.9, 0.9)
    assert (np.asarray(together)[..., 0] <= figures.low).all()
    assert (np.asarray(together)[..., 1] >= figures.high).all()
    drawn = found.sample(4_000)
    held = ((drawn >= together.low) & (drawn <= together.high)).reshape(len(drawn), -1).all(axis=1)
    alone = ((drawn >= figures.low) & (drawn <= figures.high)).reshape(len(drawn), -1).all(axis=1)
    assert held.mean() > 0.88, "intervals come from 500 draws, and these are others"
    assert alone.mean() < 0.85, "intervals that hold one by one do not hold together"
    public = "sizes" if "weights" in name else "total"
    counts = table(public).noise_aware().counts
    sums = counts.over("sex") if kind.groups else counts.over()
    np.testing.assert_allclose(figures.count_mean, sums.mean(), rtol=1e-9)
    np.testing.assert_allclose(figures.count_std, sums.std(), rtol=1e-9)
    with pytest.raises(dc.TooLargeError, match="draws="):
        found.simultaneous(1.0 - 1e-5)


@pytest.mark.parametrize("name", MARGINS)
def test_draws_of_margins_have_their_moments(name: str) -> None:
    """Means of 4,000 draws lie within 7 standard errors of those of others: a false alarm has a probability below 1e-9."""
    kind, found = KINDS[name], made(name)
    drawn, other = found.sample(_DRAWS), found.sample((2, _DRAWS // 2), rng=5).reshape(_DRAWS, *kind.axes)
    assert drawn.shape == (_DRAWS, *kind.axes)
    np.testing.assert_array_equal(drawn, found.sample(_DRAWS), err_msg="the same numbers twice")
    np.testing.assert_allclose(drawn.sum(axis=-1), 1.0)
    error = found.std() / np.sqrt(_DRAWS)
    assert (np.abs(drawn.mean(axis=0) - other.mean(axis=0)) <= 7.0 * np.sqrt(2.0) * error).all()
    exact = _weighted_means(found, kind) if name == "margin with weights" else other.mean(axis=0)
    assert (np.abs(drawn.mean(axis=0) - exact) <= 7.0 * np.sqrt(2.0) * error).all()
    assert (np.abs(drawn.mean(axis=0) - 1.1 * exact) > 7.0 * np.sqrt(2.0) * error).any(), "10 % would be seen"
    first = (slice(None), *(0,) * len(kind.axes))
    assert float(found.probability(lambda theta: theta[first] > 0.3, draws=_DRAWS)) == (found.sample(_DRAWS)[first] > 0.3).mean()


def _weighted_means(found: Any, kind: Kind) -> Any:
    """The means of a margin by sex of the table with public sizes, whose groups have the weights 1 to 4."""
    means, weights = table("sizes").noise_aware().mean().reshape(2, 2, -1), np.arange(1.0, 5.0).reshape(2, 2, 1)
    assert found.mean().shape == kind.axes
    return (means * weights).sum(axis=0) / weights.sum(axis=0)


@pytest.mark.parametrize("name", ["margin", "margin with weights"])
def test_ranks_of_a_margin_are_its_contrast(name: str) -> None:
    """Of two groups, the first is first with the probability that it is larger: two ways to draw that, within 7 standard errors."""
    found = made(name)
    ranks = found.ranks("never", draws=20_000)
    assert ranks.groups == ("f", "m")
    np.testing.assert_allclose(ranks.probability.sum(axis=0), 1.0)
    post = table("total" if name == "margin" else "sizes").noise_aware()
    larger = post.over("sex", weights=None if name == "margin" else np.arange(1, 5), draws=20_000).contrast("f", "m", "never")
    error = np.sqrt(2.0 * larger.probability * (1.0 - larger.probability) / 20_000)
    assert ranks.probability[0, 0] == pytest.approx(larger.probability, abs=7.0 * error)
    assert list(ranks.to_pandas().columns) == ["sex", "mean", "sd", "low", "high", "first"]
    assert ranks.probability[0, 0] != pytest.approx(found.ranks("current", draws=20_000).probability[0, 0], abs=7.0 * error)
