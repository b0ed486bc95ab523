"""The widths of the intervals of every group of a table under each promise, and the noise that counts in several tables get."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, sqrt
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import gammaln, log_ndtr

from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.cells import Groups, groups_of
from discreet.model.dirichlet import Prior
from discreet.numerics.roots import crossing
from discreet.planning.comparison import points
from discreet.planning.plans import plan
from discreet.text import plain
from discreet.validation import PROMISES, Number, Public, check_delta, check_moderate, check_public, check_records, exact, shown

if TYPE_CHECKING:
    from discreet.planning.width_plans import WidthPlan


@dataclass(frozen=True)
class NoiseKinds:
    """The standard deviation of the noise of a count, where all of so many tables have equal parts of one ε."""

    tables: int
    epsilon: Fraction
    delta: Fraction
    pure: float
    """Geometric noise with a part of ε for each table, which add up: δ is 0."""
    composed: float
    """Geometric noise with more than a part of ε each, so that all tables together keep ε with this δ."""
    gaussian: float
    """Gaussian noise with the same ε and δ for all tables together."""

    @property
    def least(self) -> str:
        """The name of the kind with the least noise; the one without a δ if none has less."""
        return min(("pure", "composed", "gaussian"), key=lambda name: float(getattr(self, name)) * (1.0 if name == "pure" else 1.001))


def noise_kinds(tables: int, epsilon: Number, delta: Number = "1e-6", *, public: Public = "nothing") -> NoiseKinds:
    """Compare three kinds of noise for this many tables, by public numbers alone.

    Args:
        tables: How many tables are released.
        epsilon: ε of all tables together.
        delta: δ of all tables together, which the first kind does not use.
        public: What is public: a record that is replaced changes two counts of a table.

    Raises:
        InvalidInputError: An argument is not what is said above.
    """
    many, level, least = check_records(tables, "tables"), check_moderate(epsilon, "epsilon"), check_delta(delta)
    changed = 1 if check_public(public, groups=True) == "nothing" else 2
    part = float(level) / max(many, 1)
    composed = _largest(lambda one: _composed_delta(many, one, float(level)), part, float(least))
    strength = _largest(lambda mu: _gaussian_delta(mu, float(level)), 1e-6 * min(1.0, float(level)), float(least))
    pure, between = (_geometric_deviation(one / changed) for one in (part, composed))
    return NoiseKinds(many, level, least, pure, between, sqrt(many * changed) / strength)


def _largest(delta: Callable[[float], float], start: float, allowed: float) -> float:
    """The largest number from the start on with at most this δ, which grows with it; the start if it has more."""
    end = start
    while delta(end) < allowed:
        end *= 2.0
    return end if end == start else crossing(lambda number: delta(number) - allowed, 0.5 * end, end, 1e-15 * end)


def _composed_delta(tables: int, part: float, epsilon: float) -> float:
    """δ of so many releases together, each of which loses `part` or gains it: no release with that ε loses more."""
    grows = np.arange(tables + 1.0)
    logs = gammaln(tables + 1.0) - gammaln(grows + 1.0) - gammaln(tables - grows + 1.0)
    logs = logs + grows * part - tables * float(np.logaddexp(0.0, part))
    return float(np.exp(logs) @ -np.expm1(np.minimum(0.0, epsilon - (2.0 * grows - tables) * part)))


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """δ of Gaussian noise whose deviation is 1/mu of the distance of two datasets: that of many counts is hardly discrete."""
    return exp(float(log_ndtr(mu / 2.0 - epsilon / mu))) - exp(min(epsilon + float(log_ndtr(-mu / 2.0 - epsilon / mu)), 0.0))


def _geometric_deviation(slope: float) -> float:
    return sqrt(2.0 * exp(-slope)) / -expm1(-slope)


_MOST_SIZES = 40
"""Different sizes of groups, each of which takes about a second."""


@dataclass(frozen=True)
class GroupWidths:
    """The expected widths of the 95 % intervals of one group."""

    group: Hashable
    n: int
    """The number of records that the group is taken to have."""
    plain: float
    """The width without privacy."""
    widths: "dict[Public, float]"
    """The width by what is public."""


@dataclass(frozen=True)
class TableWidths:
    """The expected widths of the 95 % intervals of all groups of a table, averaged over the categories."""

    n: int
    epsilon: Fraction
    by: Groups
    rows: tuple[GroupWidths, ...]

    @property
    def caption(self) -> str:
        """The subject of the widths."""
        return f"Expected width of the 95 % intervals, in points: n = {self.n:,}, ε = {float(self.epsilon):g}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows as text; groups that are all as large have one row."""
        headings = ["group", "records", "sizes\npublic", "total\npublic", "nothing\npublic", "without\nprivacy"]
        alike = len({row.n for row in self.rows}) == 1 and len(self.rows) > 1
        shown_rows = self.rows[:1] if alike else self.rows
        names = [f"each of {len(self.rows):,}"] if alike else [_name(row.group) for row in self.rows]
        numbers = [[points(width) for width in (*(row.widths[p] for p in PROMISES), row.plain)] for row in shown_rows]
        return headings, [[name, f"{row.n:,}", *texts] for name, row, texts in zip(names, shown_rows, numbers, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        rows = [
            {"group": _name(row.group), "n": row.n, "width_without_privacy": row.plain, "widths": dict(row.widths)} for row in self.rows
        ]
        return {"n": self.n, "epsilon": float(self.epsilon), "by": list(self.by.columns), "rows": rows}


@dataclass(frozen=True)
class TablePlan:
    """The expected width of one table's intervals."""

    name: str
    records: int
    """The number of records in all."""
    groups: int
    epsilon: Fraction
    width: float
    """The expected width of 95 % intervals, in one group if there are groups; averaged over the categories."""
    plain: float
    """The expected width without privacy."""

    @property
    def price(self) -> float:
        """Return how many times as wide the intervals are as without privacy."""
        return self.width / self.plain


@dataclass(frozen=True)
class StudyPlan:
    """Widths by the study's split of ε, and by one with which privacy widens all tables about equally."""

    declared: tuple[TablePlan, ...]
    even: tuple[TablePlan, ...]
    """The tables with another split of the same ε."""
    noise: "NoiseKinds"
    """The noise of a count if all tables had equal parts of ε, beside that which a δ would allow."""


def table_widths(prior: Prior, n: int, epsilon: Any, by: Any, expect_groups: Sequence[Any] | None = None) -> TableWidths:
    """Return how wide the intervals of every group will be, if the sizes of groups, their total or nothing is public.

    Args:
        prior: The prior of every group.
        n: How many records there are in all, as is public, or a guess that does not come from the data.
        epsilon: That of the whole table.
        by: The groups, as a release takes them: columns with their labels.
        expect_groups: The guessed shares of the groups, in their order, which add up to 1; equal ones if left out.

    Raises:
        InvalidInputError: The shares do not fit the groups.
        TooLargeError: The groups have too many different sizes.
    """
    groups, level, total = groups_of(by), check_moderate(epsilon, "epsilon"), check_records(n)
    shares = [Fraction(1, len(groups))] * len(groups) if expect_groups is None else [exact(one, "expect_groups") for one in expect_groups]
    if len(shares) != len(groups) or min(shares) < 0 or sum(shares) != 1:
        raise InvalidInputError(
            f"expect_groups must have a share of at least 0 for each of the {len(groups):,} groups, which add up to 1; "
            f"got {shown(', '.join(map(str, shares)))}"
        )
    sizes = [max(1, int(total * share)) for share in shares]
    if len(set(sizes)) > _MOST_SIZES:
        raise TooLargeError(f"groups of {len(set(sizes)):,} different sizes are too many to plan for; up to {_MOST_SIZES} are")
    found = {size: [group_width(prior, size, level, promise, len(groups)) for promise in PROMISES] for size in dict.fromkeys(sizes)}
    rows = [
        GroupWidths(group, size, float(found[size][0].plain), {p: float(one.width) for p, one in zip(PROMISES, found[size], strict=True)})
        for group, size in zip(groups, sizes, strict=True)
    ]
    return TableWidths(total, level, groups, tuple(rows))


def group_width(prior: Prior, n: int, epsilon: Fraction, public: "Public", groups: int) -> "WidthPlan":
    """The expected width in a group of n records, one of so many.

    Where only the total of several groups is public, one of them is read as a private number of records at half the ε.
    """
    known: Public = "total" if public == "sizes" else "nothing" if groups > 1 else public
    level = epsilon / 2 if groups > 1 and public == "total" else epsilon
    return cast("WidthPlan", plan(prior, n=n, epsilon=level, public=known))


def _name(group: Hashable) -> str:
    return ",".join(map(plain, group)) if isinstance(group, tuple) else plain(group)
