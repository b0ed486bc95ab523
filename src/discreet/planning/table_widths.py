"""The widths of the intervals of every group of a table under each promise, before anything is drawn."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.cells import Groups, groups_of
from discreet.model.dirichlet import Prior
from discreet.planning.comparison import points
from discreet.planning.plans import plan
from discreet.text import plain
from discreet.validation import PROMISES, check_moderate, check_records, exact, shown

if TYPE_CHECKING:
    from discreet.planning.noise_kinds import NoiseKinds
    from discreet.planning.width_plans import WidthPlan
    from discreet.validation import Public

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
