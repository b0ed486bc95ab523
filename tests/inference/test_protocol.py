"""Whatever is read has the same verbs: each answers with the axes and columns that are stated, or refuses in one line."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Counts
from discreet.errors import DiscreetError
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.reading import Reading
from discreet.inference.record_contrasts import RecordContrast
from discreet.sampling import SeededBits

CATEGORIES = ("never", "former", "current")
PRIOR = dc.Dirichlet([1, 0.5, 2], categories=CATEGORIES)
BY = {"region": ["north", "south"], "sex": ["f", "m"]}
COUNTS = np.array([[12, 4, 6], [9, 7, 8], [6, 1, 0], [4, 3, 3]])
WEIGHTS = {"never": 0.0, "former": 1.0, "current": 2.0}
NUMBERS = ["mean", "sd", "low", "high"]
RECORDS = ["difference", "difference_low", "difference_high", "probability", "equal"]
CONTRASTED = [name + end for name in ("difference", "ratio", "odds_ratio") for end in ("", "_low", "_high")] + ["probability"]
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
        refuses=("set", "merged", "cumulative", "contrast", "contrasts"),
    ),
    "combination of the same records": Kind(lambda: combined(same_data=True), None),
    "combination of new records": Kind(lambda: combined(same_data=False), None),
    "records": Kind(lambda: variable(None).noise_aware().records, None, refuses=("records",)),
    "records of groups": Kind(lambda: table("sizes").noise_aware().records, 4, BOTH, refuses=("records",)),
    **{f"table, {public}": Kind(lambda public=public: table(public).noise_aware(), 4, BOTH) for public in ("sizes", "total", "nothing")},  # type: ignore[misc]
    "table with impossible cells": Kind(lambda: table("total", 2).noise_aware(), 4, BOTH),
    "tables together": Kind(lambda: dc.combine([table("sizes"), table("sizes", 3)], same_data=True), 4, BOTH),
    "records of a table": Kind(lambda: table("total").noise_aware().records, 4, BOTH, refuses=("records", "contrast", "contrasts")),
    "coarser table": Kind(
        lambda: table("nothing").noise_aware().merged(MERGED), 4, BOTH, SETS, refuses=("set", "merged", "contrast", "contrasts")
    ),
    "cumulative table": Kind(
        lambda: table("sizes").noise_aware().cumulative(),
        4,
        BOTH,
        UP_TO,
        refuses=("set", "merged", "cumulative", "contrast", "contrasts"),
    ),
    "margin": Kind(lambda: margin("total"), 2, ("sex",), refuses=("records",)),
    "margin with weights": Kind(lambda: margin("sizes"), 2, ("sex",), refuses=("records",)),
    "all groups": Kind(lambda: table("total").noise_aware().over(draws=500), None, refuses=("records",)),
    "counts over a margin": Kind(
        lambda: table("sizes").noise_aware().counts.over("sex"),
        2,
        ("sex",),
        refuses=("hdi", "summary hdi", "score", "set", "merged", "cumulative", "records", "contrast", "contrasts"),
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
    if isinstance(answer, RecordContrast):  # of shares that may both be 0: no ratio, and a law of finitely many values
        low, high = answer.difference.interval(0.9)
        assert low <= answer.difference.median() <= high
        again = pickle.loads(pickle.dumps(answer))  # noqa: S301
        assert (again.probability, again.equal) == (answer.probability, answer.equal)
        return
    assert isinstance(answer, dc.Contrast)
    for quantity in (answer.difference, answer.ratio, answer.odds_ratio):
        low, high = quantity.interval(0.9)
        assert low <= quantity.median() <= high
        assert 0.0 <= quantity.cdf(quantity.median()) <= 1.0
    assert answer.difference.pdf(answer.difference.median()) > 0.0
    again = found.contrast(*first_two(kind, found))
    assert again.difference.cdf(0.1) == answer.difference.cdf(0.1), "the same numbers twice"
    assert len(pickle.dumps(answer)) < len(pickle.dumps(found)) + 3_000, "how it is computed, and not its law"
    assert pickle.loads(pickle.dumps(answer)).odds_ratio.cdf(1.2) == answer.odds_ratio.cdf(1.2)  # noqa: S301


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
    "contrasts": lambda kind, found: contrasts(kind, against_one(kind, found)),
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
