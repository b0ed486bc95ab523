"""The planned widths of the intervals of a study's tables, as a value."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.planning.noise_kinds import NoiseKinds


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
    noise: NoiseKinds
    """The noise of a count if all tables had equal parts of ε, beside that which a δ would allow."""
