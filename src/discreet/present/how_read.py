"""The ways to read a record, and the words about what is shown then: whose shares, and what groups have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.present.terminal import Lines, interval_heading
from discreet.text import MASS, chance, in_percent, more, percent_decimals, plain

if TYPE_CHECKING:
    from discreet.arrays import Floats
    from discreet.inference.pooling.pooled import PooledTable
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release
    from discreet.validation import SharesOf


@dataclass(frozen=True)
class HowRead:
    """The settings under which a record is read."""

    mass: float = MASS
    """The probability that an interval holds."""
    slow: bool = False
    """Whether numbers are computed also where that takes minutes."""
    reader: "Dirichlet | None" = None
    """The reader's own prior in place of the record's, if there is one."""
    about: "SharesOf" = "population"

    @property
    def of_records(self) -> bool:
        """Return whether the shares are those of the records themselves."""
        return self.about == "records"

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns of a table on a terminal after those of groups and categories."""
        level = f"{100.0 * self.mass:g} %"
        if self.of_records:
            return "noisy\ncount", "mean", f"{level}, noise\nallowed for", f"{level}, noise\nalone"
        return "reported\ncount", "mean", interval_heading(self.mass)


AS_RELEASED = HowRead()
"""The way a record is read if nothing is said: 95 % intervals of shares of the population, by the record's own prior."""


@dataclass(frozen=True, eq=False)
class NoiseIntervals:
    """The intervals of the noise alone, beside shares of the records; none for shares of the population."""

    ends: "Floats | None" = None
    """The ends of the intervals by group and category, with one group for one variable; None where there are none."""
    reason: str | None = None
    """The reason why there are no intervals, if they were wanted."""
    wanted: bool = True
    """Whether shares are those of the records."""

    @classmethod
    def of(cls, found: "Release", how: HowRead) -> "NoiseIntervals":
        """Return the intervals of a record, where its shares are those of the records and the law of the noise is known."""
        if not how.of_records:
            return cls(wanted=False)
        try:
            ends = found.noise_interval(how.mass)
            return cls(ends.reshape(-1, *ends.shape[-2:]))
        except DiscreetError as error:
            return cls(reason=error.in_shell)

    def row(self, place: tuple[int, int]) -> dict[str, Any]:
        """Return both ends of one interval as fields, if intervals are wanted."""
        names = ("noise_low", "noise_high") if self.wanted else ()
        return dict(zip(names, (None, None) if self.ends is None else map(_number, self.ends[place].tolist()), strict=False))

    def fields(self, none: float | None) -> dict[str, Any]:
        """Return the fields said once about all cells: the probability that there are no records, and why there are no intervals."""
        return {"no_records": none, "noise_not_available": self.reason} if self.wanted else {}

    def words(self, places: Sequence[tuple[int, int]], blank: str = " ") -> list[tuple[str, ...]]:
        """Return the ends in percent, each as a list with one word, or without any if they are not wanted."""
        ends = self.ends
        if ends is None:
            return [("not available",) if self.wanted else ()] * len(places)
        decimals = percent_decimals(ends.reshape(-1, 2).tolist())
        return [(interval,) for _, interval in in_percent([(0.0, *ends[place].tolist()) for place in places], blank, decimals)]


def _number(value: float) -> float | None:
    """A number as JSON has it."""
    return None if isnan(value) else value


# --- in words ---------------------------------------------------------------------------------------------------------


def whose(found: "Release", about: "SharesOf") -> str:
    """Describe whose shares are shown: those of a population, or of how many records."""
    if about == "population":
        return "of the population they were drawn from"
    if found.by.columns:
        return f"of the {found.guarantee.unit}s in each group{'' if found.n is None else f', {found.n:,} in all'}"
    return f"of these {'' if found.n is None else f'{found.n:,} '}{found.guarantee.unit}s"


def given_any(found: "Release", none: float | None) -> str:
    """Describe the condition of shares of a private number of records: that there are any; with the probability of none."""
    if none is None:
        return ""
    if found.by.columns:
        return f"given that a group has any {found.guarantee.unit}s; the largest probability that one has none: {chance(none)}"
    return f"given that there are any {found.guarantee.unit}s: there are none with probability {chance(none)}"


def counted_once(found: "Release") -> str:
    """Describe the whole of which shares are parts, where several rows may be of one person."""
    rule = None if found.about is None else found.about.counting
    if rule is None or isinstance(rule, str) or rule.privacy_id is None:
        return ""
    return "each person counts once, by the rule of counting: these are shares of persons, not of visits or rows"


def whose_lines(found: "Release", how: HowRead, none: float | None, noise: NoiseIntervals) -> "Lines":
    """Return the lines on a terminal about whose shares are shown, what they are given, and what the prior has to do with it."""
    if not how.of_records:
        other = "" if found.mechanism._answers is not None else f"; show --about records has those {whose(found, 'records')}"
        return [("Shares", whose(found, "population") + other)]
    said = [whose(found, "records"), given_any(found, none), counted_once(found)]
    alone = (
        "an interval of the noise alone, in the last column, has no prior and holds for any data"
        if noise.ends is not None
        else noise.reason
    )
    coverage = f"intervals hold a share with their probability on average over the prior, and a strong prior moves that; {alone}"
    return [("Shares", "; ".join(part for part in said if part)), ("Coverage", coverage)]


def moved_by_prior(labels: Sequence[object], means: Sequence[float], ends: Sequence[Sequence[float]]) -> str | None:
    """Return the warning where the prior moves shares out of what the noise allows; None where it does not.

    An interval that reaches 0 or 1 is left out: there a share cannot follow its noisy count.
    """
    triples = zip(labels, means, ends, strict=True)
    moved = [plain(label) for label, mean, (low, high) in triples if low > 0.0 and high < 1.0 and not low <= mean <= high]
    if not moved:
        return None
    others = f" and {more(len(moved) - 1, 'share', 'shares')}" if len(moved) > 1 else ""
    return (
        f"the prior outweighs the noisy counts: it moves the share of {moved[0]!r}{others} out of the interval of the noise. Trust that "
        "interval, or read with a weaker prior"
    )


# --- groups that are read together --------------------------------------------------------------------------------------

COMMON_LAW = "read together: the shares of every group come from one Dirichlet(strength · mean), which is learnt from all"
"""The assumption about groups that are read together."""


def common_law_lines(pooled: "PooledTable", mass: float) -> "Lines":
    """Return the lines on a terminal about how alike groups are, what was believed about that before, and how it was computed."""
    strength, (low, high) = pooled.strength.median(), pooled.strength.interval(mass)
    level = f"{100.0 * mass:g} %"
    said = f"{strength:.3g}, between {low:.3g} and {high:.3g} with probability {level}: as much as so many records that all groups share"
    if pooled.effective_draws is None:
        change = f"half their step changed the probability of the noisy counts by {pooled.log_evidence_error:.1g} of it"
        computed = f"by sums over mean and strength; {change}"
    else:
        worth = f"from draws of mean and strength, worth {pooled.effective_draws:.0f} independent ones and the same every time"
        error = 100.0 * float(pooled.standard_error().max())
        computed = f"{worth}; the standard error of a mean is up to {error:.2g} percentage points"
    return [("Strength", said), ("Prior", str(pooled.hyperprior)), ("Computed", computed)]


def common_law_fields(pooled: "PooledTable", mass: float) -> dict[str, Any]:
    """Return the common law of groups that are read together, as JSON has it; the standard error is 0 where there are no draws."""
    return {
        "prior": str(pooled.hyperprior),
        "strength": dict(zip(("median", "low", "high"), (pooled.strength.median(), *pooled.strength.interval(mass)), strict=True)),
        "log_evidence": pooled.log_evidence,
        "log_evidence_error": pooled.log_evidence_error,
        "effective_draws": pooled.effective_draws,
        "standard_error": float(pooled.standard_error().max()),
    }
