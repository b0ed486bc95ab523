"""Several releases of tables with the same groups, read together group by group (docs/howto/reading.md, "Several releases").

Where the sizes of groups are public, or nothing is, groups are independent: what all releases say about one is a matter of its own rows.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan

from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.draws import seed_of, seed_of_outcome
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.reader_priors import agreed_prior
from discreet.inference.tables.latent import check_groups_drawn
from discreet.inference.tables.table import TablePosterior
from discreet.inference.true_counts import Outcome
from discreet.mechanisms.tabled import Tabled
from discreet.model.cells import Cells
from discreet.model.dirichlet import Prior
from discreet.record.release import Release
from discreet.text import listed

Reader = Callable[[int, Prior, Sequence[Outcome]], NoiseAware]
"""Reads the outcomes of one group together, given its position and its prior."""


def combined_table(releases: Sequence[Release], prior: Prior | None, same_data: bool, read: Reader) -> "CombinedTable":
    """Combine tables of the same groups into one posterior.

    Raises InvalidInputError where groups, impossible cells or public sizes differ, and RefusedError where a total ties groups together.
    """
    first = releases[0]
    for release in releases:
        if not isinstance(release.mechanism, Tabled):
            raise RefusedError(f"tables with noise on every cell are combined, not those of {release.mechanism.title}")
        if not release.cells.fits(first.cells):
            raise InvalidInputError(
                "tables with different groups or impossible cells are not combined: one has groups by "
                f"{listed(first.cells.groups.columns)}, {len(first.cells.groups):,} of them, another by "
                f"{listed(release.cells.groups.columns)}, {len(release.cells.groups):,} of them; all must be declared alike"
            )
        if release.mechanism._table.published == "total":
            raise RefusedError(
                "tables whose total alone is public are not combined: it ties the sizes of all groups together, so that no group can be "
                "read by itself"
            )
    if same_data and len({release.sizes for release in releases if release.sizes is not None}) > 1:
        raise InvalidInputError("releases about the same records have one size for each group, and these say different ones")
    return CombinedTable(tuple(releases), prior, read, same_data)


@dataclass(frozen=True, eq=False, repr=False)
class CombinedTable(TablePosterior):
    """The posterior of several tables read together. Groups are independent: no table whose total alone is public is combined."""

    releases: tuple[Release, ...]
    prior: Prior | None
    """The reader's own prior of every group, if there is one."""
    read: Reader
    same_data: bool

    @property
    def cells(self) -> Cells:
        """Groups, categories and the cells that cannot occur."""
        return self.releases[0].cells

    def _posterior(self, position: int) -> NoiseAware:
        possible, outcomes, priors = self.cells.possible[position], [], []
        impossible: tuple[Hashable, ...] = ()
        for release in self.releases:
            mechanism = release.mechanism
            assert isinstance(mechanism, Tabled)  # noqa: S101
            own, impossible = self._possible_prior(position, dict(mechanism.priors).get(self.by[position], mechanism.prior))
            size = None if release.sizes is None else release.sizes[position]
            priors.append(own)
            alone = mechanism._alone(own, size or None)
            outcomes.append(Outcome(alone, tuple(release.raw[position][possible].tolist()), size))
        prior = None if self.prior is None else agreed_prior([self.releases[0].prior], self.prior)
        given = None if prior is None else self._possible_prior(position, prior)[0]
        return replace(self.read(position, agreed_prior(priors, given), outcomes), impossible=impossible)

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The number of records in each group where all tables are about the same ones, and it is public."""
        return next((release.sizes for release in self.releases if release.sizes is not None), None) if self.same_data else None

    @property
    def log_evidence(self) -> float:
        if not self.same_data or (self._occurring() < 2).any() or 0 in (self.sizes or ()):
            raise RefusedError(
                "the evidence of several tables is computed where they are about the same records, and no group is known to be empty or "
                "has one category alone; post[group].log_evidence has that of one group"
            )
        check_groups_drawn(len(self))
        return float(sum(self[group].log_evidence for group in self.by))

    def _count_alone(self, position: int) -> tuple[float, float]:
        """Public sizes are known; otherwise NaN, because several releases of one count alone are not read together."""
        return (nan, nan) if self.sizes is None else (float(self.sizes[position]), 0.0)

    @property
    def _records(self) -> int | None:
        return None if self.sizes is None else sum(self.sizes)

    @cached_property
    def _seed(self) -> int:
        return seed_of(sorted(seed_of_outcome(release.mechanism, release.raw) for release in self.releases))

    def __repr__(self) -> str:
        return f"CombinedTable({len(self):,} groups by {len(self.categories)} categories, {len(self.releases)} releases, {self.by!r})"
