"""Mechanisms that add noise to the counts of one variable or of all groups of a table: what the table is, and what is checked of it."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar, cast

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike

from discreet.arrays import Counts, Drawn
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import Clamped, Projected, Report, TableReport
from discreet.model.cells import Groups, cells_of, groups_of
from discreet.model.datasets import Space
from discreet.model.dirichlet import Beta, Dirichlet, Prior
from discreet.model.tables import TableSpace, space_of
from discreet.record.table_json import check_header
from discreet.validation import check_parameter, check_records, check_unlabelled, items_of, spelling


def _listed_cells(value: Any) -> tuple[tuple[Hashable, ...], ...]:
    cells = items_of(value)
    if cells is None:
        raise InvalidInputError("impossible must be a list of cells, such as [('north', 'm', 'pregnant')]")
    return tuple(tuple(cell) if isinstance(cell, (list, tuple)) else (cell,) for cell in cells)


def _shares(value: Any) -> tuple[Fraction, ...] | None:
    if value is None:
        return None
    if isinstance(value, (Dirichlet, Beta)):
        return value.exact
    check_unlabelled(value, "shares")
    given = items_of(value)
    if given is None:
        raise InvalidInputError("shares must be a Dirichlet, or a list of positive numbers, with an entry for each group")
    shares = tuple(check_parameter(share, f"shares[{i}]") for i, share in enumerate(given))
    if not shares:
        raise InvalidInputError("shares must have a concentration for each group, got none; leave it out for a 1 for each")
    return shares


def _priors(value: Any) -> tuple[tuple[Hashable, Prior], ...]:
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidInputError("priors must be a mapping of groups to their priors")
    if not all(isinstance(prior, (Dirichlet, Beta)) for _, prior in pairs):
        raise InvalidInputError("priors must give a Dirichlet or a Beta to each group that it names")
    return pairs


@define(frozen=True, slots=False, repr=False)
class Tabled(Mechanism[Drawn]):
    """A mechanism whose `noise` is for every cell of a table as well as for every count of one variable."""

    by: Groups = field(default=None, kw_only=True, converter=groups_of)
    """The groups of a table: columns with their labels, as {"region": ["north", "south"]}; no columns for one variable."""
    impossible: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, converter=_listed_cells)
    """Cells of a table that cannot occur: the labels of a group and a category."""
    shares: tuple[Fraction, ...] | None = field(default=None, kw_only=True, converter=_shares)
    """The prior of the groups' shares where only their total is public: a concentration for each group, by default 1."""
    priors: tuple[tuple[Hashable, Prior], ...] = field(default=(), kw_only=True, converter=_priors)
    """Groups with another prior than `prior`, which all others have: {group: prior}."""

    _layout: ClassVar[tuple[str, ...]] = ("by", "impossible", "shares", "priors")
    _needs_total: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        if not self.by.columns:
            for name in self._layout[1:]:
                if getattr(self, name):
                    raise InvalidInputError(f"{name} is about the groups of a table: say which there are, with by=")
        else:
            self._check_table(self.by)
        super().__attrs_post_init__()

    def _check_table(self, by: Groups) -> None:
        if self.shares is not None and self._table.published != "total":
            raise InvalidInputError("shares is the prior of the groups' shares where n is one public total; leave it out")
        if self.shares is not None and len(self.shares) != len(by):
            raise InvalidInputError(f"shares must have a concentration for each of the {len(by):,} groups, got {len(self.shares):,}")
        places = [by.index(group) for group, _ in self.priors]
        if len(set(places)) != len(places):
            raise InvalidInputError("priors must name each group once; it names one twice")
        if any([*map(spelling, prior.categories)] != [*map(spelling, self.prior.categories)] for _, prior in self.priors):
            raise InvalidInputError("the priors of all groups must have the categories of prior, in its order")
        # As declared and in the declared order, however they were spelled, so that one table has one description.
        object.__setattr__(self, "impossible", tuple(map(self._table.cells.named, self._table.cells.impossible)))
        object.__setattr__(self, "priors", tuple((by[places[i]], self.priors[i][1]) for i in np.argsort(places).tolist()))

    @property
    @abstractmethod
    def noise(self) -> CellNoise:
        """The noise, which has a likelihood for each cell."""

    @cached_property
    def _table(self) -> TableSpace:
        """The tables it may be given. Raises RefusedError for a mechanism of one variable."""
        if not self.by.columns:
            raise RefusedError("this is a mechanism for one variable; a table has groups, which by= declares")
        return space_of(cells_of(self.by, self.prior.categories, self.impossible), self.n)

    @cached_property
    def space(self) -> Space:
        """The datasets it may be given: counts of one variable, or tables."""
        return super().space if not self.by.columns else self._table

    def _own_report(self) -> Report:
        """The nearest counts that are not negative and have the public totals."""
        if self.by.columns:
            return TableReport(self._table)
        return Projected(self.n) if isinstance(self.n, int) else Clamped()

    def _check_labels(self) -> None:
        """Refuse labels that a record cannot hold."""
        super()._check_labels()
        if self.by.columns:
            check_header(self, self.by)

    def __repr__(self) -> str:
        return super().__repr__() if not self.by.columns else f"{super().__repr__()[:-1]}, by={self.by!r})"

    def _checked(self, counts: ArrayLike) -> Counts:
        """The counts of one variable, or of a table as an array of a row a group; refused if they are not of its space."""
        return super()._checked(counts) if not self.by.columns else self._table.checked(counts)

    @property
    def _keeps_totals(self) -> bool:
        """Return whether noisy counts have the totals that are public."""
        return bool(self.noise.blocks)

    def _is_outcome(self, raw: Any) -> bool:
        """Return whether this is a raw outcome of some dataset."""
        return super()._is_outcome(raw) if not self.by.columns else self._table.holds(np.asarray(raw), keeps_totals=self._keeps_totals)

    def _alone(self, prior: Prior, n: int | None) -> "Tabled[tuple[int, ...]]":
        """The mechanism of one group with a public number of records, or a private one, as one variable."""
        layout: dict[str, Any] = {"by": None, "impossible": (), "shares": None, "priors": (), "report": None}
        alone: Any = evolve(self, prior=prior, n=n, **layout)
        return cast("Tabled[tuple[int, ...]]", alone)

    def log_prob(self, counts: ArrayLike, raw: ArrayLike) -> float:
        """Log probability of one raw outcome. For study: it is a function of the private counts."""
        if not self.by.columns:
            return super().log_prob(counts, raw)
        outcome = np.asarray(raw)
        if outcome.shape != self._table.cells.shape or outcome.dtype.kind not in "iu":
            raise InvalidInputError(f"a raw outcome of this mechanism is a table of whole numbers of shape {self._table.cells.shape}")
        noise, possible = outcome - self._checked(counts), self._table.cells.possible
        return float(self.noise.log_probability(noise[possible])) if not noise[~possible].any() else -inf

    def simulate(self, counts: ArrayLike, size: int, rng: np.random.Generator | int | None = None) -> Counts:
        """Fast float Monte Carlo draws of the reported counts, for experiments. Never publish them: they are not exact."""
        if not self.by.columns:
            return super().simulate(counts, size, rng)
        private, possible = self._checked(counts), self._table.cells.possible
        noise = np.zeros((check_records(size, "size"), *private.shape), dtype=np.int64)
        noise[:, possible] = self.noise.simulate(len(noise), np.random.default_rng(rng))
        return np.stack([self.report(private + one) for one in noise])
