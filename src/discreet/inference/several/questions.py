"""Several questions about the same people by the same groups, read together: they share the sizes of the groups (docs/howto/study.md).

A group's records are split once for every question. What one question says about the size u of a group is m_q(u), the weight of its noisy
counts given u; given the size, questions are taken to be independent. So question q is read as it is alone, with the prior of the size

    p(u) · Π_{r ≠ q} m_r(u) ,    and where the total N of all groups is public    Γ(b + u)/u! · Π_{r ≠ q} m_r(u) · W(N - u) ,

W the convolution, over all other groups, of Γ(b + u)/u! Π_r m_r(u). Oracle: `counts.nested`, which sums over whole trees of counts.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.counts.runs import FLOOR, Run, sum_of
from discreet.counts.tree import TreeCounts
from discreet.errors import RefusedError, TooLargeError
from discreet.frames import warn_caller
from discreet.inference.draws import seed_of, seed_of_outcome
from discreet.inference.labelled import FieldsAlone
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.several.combine import check_one_period
from discreet.inference.tables.posterior import check_table_posterior
from discreet.inference.tables.table import TablePosterior
from discreet.inference.true_counts import check_posterior, counts_of_outcomes
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.model.cells import Cells
from discreet.model.size_priors import SizePrior, tabled
from discreet.numerics.gamma import log_rising
from discreet.numerics.roots import balancing_tilt
from discreet.record.about import CountingRule
from discreet.record.release import Release, is_table
from discreet.text import listed

OneReading = NoiseAware | TablePosterior
_MOST_LEFT_OUT = 1e-5
"""Bound on the probability that windows leave out; tables of the same records have less by far."""
_HARDLY_FIT = (
    "the tables hardly fit together, as those of other records would: no size of a group is likely by all of them; read each alone"
)
_TOO_SURE = (
    "the size of a group is read from several questions as if they were independent given the group; where they are not, it is too sure. "
    "Read one table alone for its size"
)


@dataclass(frozen=True, eq=False)
class StudyPosterior(Mapping[str, OneReading], FieldsAlone):
    """The tables of a study by their names, each with the verbs of a posterior; those that share the sizes of groups are read together."""

    readings: Mapping[str, OneReading]
    shared: tuple[tuple[str, ...], ...]
    """The names of tables that are read together, for each set of them."""

    def __getitem__(self, name: str) -> OneReading:
        return self.readings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.readings)

    def __len__(self) -> int:
        return len(self.readings)

    def size(self, name: str, group: Hashable = None) -> Any:
        """The posterior of the number of records in a group. Of tables that are read together it may be too sure, which it warns of."""
        if any(name in names for names in self.shared):
            warn_caller(_TOO_SURE, UserWarning)
        found = self[name]
        return found.size if isinstance(found, NoiseAware) else found.size[group]

    def contrast(self, first: str, second: str) -> None:
        """Refuse to compare two questions, with a RefusedError: how the answers of one person go together was not released."""
        raise RefusedError(
            f"{listed([str(first), str(second)])} are answers of the same people, and how they go together in one person was not released: "
            "no difference, event or Bayes factor between two questions follows from their tables; release one table with both"
        )

    def __repr__(self) -> str:
        return f"StudyPosterior({', '.join(self)}; read together: {'; '.join(map(listed, self.shared)) or 'none'})"


def questions_together(records: Mapping[str, Release]) -> StudyPosterior:
    """Read tables of the same records and period, those together that share the sizes of groups, and each other one alone."""
    check_one_period(list(records.values()))
    sets: dict[Hashable, list[str]] = {}
    for name, release in records.items():
        sets.setdefault(_sharing(release) or (name,), []).append(name)
    shared = tuple(tuple(names) for names in sets.values() if len(names) > 1)
    found: dict[str, OneReading] = {}
    for names in shared:
        sizes = SharedSizes(tuple(records[name] for name in names))
        found |= {name: sizes.reading(place) for place, name in enumerate(names)}
    return StudyPosterior({name: found[name] if name in found else release.noise_aware() for name, release in records.items()}, shared)


def _sharing(release: Release) -> Hashable:
    """Return a key that is equal for tables that share the sizes of their groups: the same groups, made by the same rule, of sizes that are
    not public. None if a table shares nothing."""
    mechanism, about = release.mechanism, release.about
    if about is None or not isinstance(about.counting, CountingRule) or not isinstance(mechanism, LatticeGeometric):
        return None
    counted = replace(about.counting, column="", nulls=None, other=None, na_values=(), mapping=())  # without what is of one question
    if not is_table(release):
        return (counted,) if mechanism.n is None else None
    table = mechanism._table
    if (
        table.sizes is not None
        or mechanism.priors
        or not table.cells.possible.all()
        or (table.n is not None and len(table.cells.groups) < 2)
    ):
        return None
    return counted, table.cells.groups.columns, table.cells.groups.labels, table.n, mechanism.shares


@dataclass(frozen=True, eq=False)
class SharedSizes(FieldsAlone):
    """The sizes of the groups that several questions have in common."""

    releases: tuple[Release, ...]

    def __post_init__(self) -> None:
        for release in self.releases:
            (check_table_posterior if is_table(release) else check_posterior)(release.mechanism)

    def reading(self, place: int) -> "NoiseAware | SharedTable":
        """One of the questions, read with the others."""
        return SharedTable(self, place) if is_table(self.releases[place]) else self.posterior(place, 0)

    def posterior(self, place: int, group: int) -> NoiseAware:
        """One question in one group."""
        release = self.releases[place]
        seed = seed_of(seed_of_outcome(release.mechanism, release.raw), group)
        return NoiseAware(release.prior, None, _counts(release, group, self.prior(place, group)), seed=seed)

    def prior(self, place: int, group: int) -> SizePrior:
        """Return the law of a group's size by everything but one question."""
        if self.total is None:
            weight = _GroupWeight([self._message(release, group, 0.0) for release in self.releases], 1.0, 0.0)
            return weight.prior(place, np.ones(len(weight.law.value)), _checked(weight.omitted))
        weights, completions, omitted = self._tied
        return weights[group].prior(place, completions[group].value, _checked(omitted))

    @property
    def total(self) -> int | None:
        """The public total of all groups."""
        return self.releases[0].mechanism.space.n

    @cached_property
    def _tied(self) -> "tuple[list[_GroupWeight], list[Run], float]":
        """The weights of the groups' sizes under a tilt with which they have the total on average, and what all others leave of it."""
        mechanism, total = self.releases[0].mechanism, self.total
        assert isinstance(mechanism, LatticeGeometric)  # noqa: S101
        assert total is not None  # noqa: S101
        shares = [1.0] * len(mechanism._table.cells.groups) if mechanism.shares is None else list(map(float, mechanism.shares))

        def tilted(rate: float) -> "tuple[float, float, list[_GroupWeight]]":
            every = [
                _GroupWeight([self._message(release, group, rate / len(self.releases)) for release in self.releases], share, rate)
                for group, share in enumerate(shares)
            ]
            return sum(one.law.mean for one in every), sum(one.law.variance for one in every), every

        longest = min(release.mechanism.noise.slope for release in self.releases if release.mechanism.noise is not None)
        _, weights = balancing_tilt(tilted, total, longest=longest)
        sums = sum_of([one.law for one in weights], FLOOR)
        completions = list(sums.completions(Run(total, np.ones(1))))
        chance = min(float(one.law.value @ left.value) for one, left in zip(weights, completions, strict=True))
        omitted = (sum(one.omitted for one in weights) + sums.dropped) / max(chance, np.finfo(np.float64).tiny)
        return weights, completions, min(1.0, omitted)

    def _message(self, release: Release, group: int, rate: float) -> "tuple[Run, float]":
        """Return the message of a question about the size of a group, under a tilt: logarithms, and a bound on what its window omits."""
        found = _counts(release, group, SizePrior(partial(_tilt, rate, float(max(1, sum(_row(release, group))))), self.total))
        with np.errstate(divide="ignore"):
            return Run(found.sizes.low, np.log(found.sizes.value)), found.omitted


def _checked(omitted: float) -> float:
    """Return the omitted probability, if it is little: windows hold next to all of every question, unless the questions disagree."""
    if omitted > _MOST_LEFT_OUT:
        raise TooLargeError(_HARDLY_FIT)
    return omitted


def _row(release: Release, group: int) -> list[int]:
    """The noisy counts of one question in one group."""
    found: list[int] = np.atleast_2d(np.array(release.raw, dtype=object))[group].tolist()
    return found


def _counts(release: Release, group: int, sizes: SizePrior) -> TreeCounts:
    """The law of the true counts of one question in one group."""
    noise = release.mechanism.noise
    assert noise is not None  # noqa: S101
    return counts_of_outcomes(release.prior.concentration, [(noise, _row(release, group))], sizes)


def _tilt(rate: float, middle: float, u: Floats) -> Floats:
    return np.asarray(rate * (u - middle))


class _GroupWeight:
    """The weight of the sizes of one group by all questions together, each under its part of a tilt."""

    def __init__(self, messages: "Sequence[tuple[Run, float]]", share: float, rate: float) -> None:
        low, high = max(run.low for run, _ in messages), min(run.high for run, _ in messages)
        if low > high:
            raise TooLargeError(_HARDLY_FIT)
        self.u = np.arange(low, high + 1.0)
        self.logs = np.stack([run.value[low - run.low : high + 1 - run.low] for run, _ in messages])
        self.share = log_rising(share, self.u, float(max(1, low)))
        self.rate = rate / len(messages)
        weight = self.logs.sum(axis=0) + self.share
        largest, most = float(weight.max()), np.array([run.value.max() for run, _ in messages])
        if not np.isfinite(largest):
            raise TooLargeError(_HARDLY_FIT)
        scaled = np.exp(weight - largest)
        self.law = Run(low, scaled / scaled.sum())
        # Outside the window of one question, the others weigh at most as much as anywhere.
        left = sum(one * float(np.exp(most.sum() - most[i])) for i, (_, one) in enumerate(messages))
        self.omitted = min(1.0, left * float(np.exp(self.share.max() - largest)) / float(scaled.sum()))

    def prior(self, place: int, completion: Floats, omitted: float) -> SizePrior:
        """Return the law of the size by all questions but one, and by the other groups."""
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.delete(self.logs, place, axis=0).sum(axis=0) + self.share + self.rate * (self.u - self.law.mean) + np.log(completion)
        held = np.nonzero(np.isfinite(table))[0]
        return tabled(int(self.u[held[0]]), table[held[0] : held[-1] + 1] - table[held].max(), omitted)


@dataclass(frozen=True, eq=False, repr=False)
class SharedTable(TablePosterior):
    """One table that is read with others of the same groups."""

    shared: SharedSizes
    place: int

    @property
    def cells(self) -> Cells:
        """The groups and categories of the tables."""
        return self.shared.releases[self.place].cells

    def _posterior(self, position: int) -> NoiseAware:
        return self.shared.posterior(self.place, position)

    @property
    def tied(self) -> bool:
        """Return whether a public total ties the groups, of which only the table that is read alone knows how."""
        return self.shared.total is not None

    @property
    def _records(self) -> int | None:
        return self.shared.total

    @cached_property
    def _seed(self) -> int:
        release = self.shared.releases[self.place]
        return seed_of_outcome(release.mechanism, release.raw)

    def __repr__(self) -> str:
        return (
            f"SharedTable({len(self):,} groups by {len(self.categories)} categories, read with {len(self.shared.releases) - 1} others, "
            f"{self.by!r})"
        )
