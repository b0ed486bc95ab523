"""The budget ledger: what may be spent on each dataset and what has been, durable before any randomness is drawn.

A spend is committed to the disk before `spend` returns. A crash after that wastes budget; nothing can un-spend it. Everything stored is
public: names, parameters and days, never counts.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet import limits
from discreet.errors import DiscreetError, InvalidInputError, LedgerError, SecondBudgetWarning
from discreet.frames import forgets_variables, warn_caller
from discreet.ledger.budgets import (
    Budget,
    DamagedRowError,
    History,
    Loss,
    Promise,
    Purpose,
    RenyiFilter,
    Spend,
    Unit,
    budget_of,
    budget_row,
    check_first,
    checked_loss,
    checked_promise,
    checked_text,
    composed,
    spend_of,
    spend_row,
    today,
)
from discreet.ledger.charges import charge_for_all, exact_promise, second_budget_words
from discreet.ledger.database import HOW_TO_BEGIN, budgets, is_made, make_engine, prepare, selected, shown_url, spends
from discreet.ledger.names import check_new_name, cleaned
from discreet.ledger.statements import Statement, charged_amounts, check_affordable, statement_of
from discreet.model.datasets import Relation, check_within
from discreet.record.guarantee import Guarantee, rounded_up
from discreet.validation import Number, check_positive, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sqlalchemy import Connection

    from discreet.analysis.composition import Accountant
    from discreet.arrays import Drawn
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.model.tables import TableSpace
    from discreet.record.about import About
    from discreet.record.release import Release

__all__ = ["Budget", "History", "Ledger", "Loss", "RenyiFilter", "Spend", "Statement", "composed"]


class Ledger:
    """Budgets and spends, in an SQLite file (a path) or a PostgreSQL database (a URL).

    >>> import tempfile
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> budget = ledger.create("survey", epsilon=1)
    >>> for _ in range(10):
    ...     line = ledger.spend("survey", 0.1)
    >>> print(ledger.remaining("survey"))
    ε = 0
    """

    def __init__(self, location: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        self._timeout = float(check_positive(timeout, "timeout"))
        self._engine = make_engine(os.fspath(location), self._timeout)
        self._where = shown_url(self._engine.url) if self._is_server else str(self._engine.url.database)
        self._check_file()

    def __repr__(self) -> str:
        return f"Ledger({self._where!r})"

    def create(
        self,
        dataset: str,
        epsilon: Number,
        delta: Number = 0,
        *,
        unit: Unit = "record",
        neighbours: str | Relation = Relation.REPLACE_ONE,
        within: Iterable[str] = (),
        planned_epsilon: Number | None = None,
    ) -> Budget:
        """Open a dataset with a total budget; the ledger itself is made with its first dataset. A budget is never changed later.

        `neighbours` says what the budget hides: "replace one", what someone answered, for releases that publish n; "add or remove one",
        also that someone took part, for releases that do not. A release without n may be charged to either; to the first it costs twice
        its ε. `within` names the columns of groups that nobody changes, as ["region", "sex"]: the budget then hides what someone answered
        and not their group, and takes releases that publish the sizes of groups by these columns (docs/howto/ledger.md).

        With `planned_epsilon`, the ε of a typical one of many small releases, the dataset is also kept by a Rényi filter, which needs a
        `delta` above 0: releases are then taken beyond the plain sum, however each is chosen in view of the earlier ones, and all of
        them together are (ε, δ)-private (docs/howto/ledger.md). Releases with other ε are taken too.
        """
        name = checked_text(cleaned(checked_text(dataset, "dataset", limits.NAME_CHARACTERS)), "dataset", limits.NAME_CHARACTERS)
        if unit not in ("record", "person"):
            raise InvalidInputError(f"unit must be 'record' or 'person', got {shown(unit)!r}")
        relation, total, rule = check_within(neighbours, within), checked_loss(epsilon, delta, "the budget's "), None
        if planned_epsilon is not None:
            from discreet.ledger.filters import planned_filter

            rule = planned_filter(total, planned_epsilon)
        budget = Budget(name, total, unit, today(), rule, relation)
        with self._transaction("write", new=True) as connection:
            others = _names(connection)
            if name in others:
                raise LedgerError(f"dataset {name!r} is already in the ledger; its budget cannot be changed")
            check_new_name(name, others)
            connection.execute(budgets().insert().values(budget_row(budget)))
        return budget

    def spend(
        self,
        dataset: str,
        loss: Guarantee | Loss | Number,
        delta: Number = 0,
        *,
        neighbours: str | Relation | None = None,
        within: Iterable[str] = (),
        note: str = "",
        description: Mapping[str, Any] | None = None,
        request: str | None = None,
        source: str | None = None,
    ) -> Spend:
        """Take a release's loss from the dataset's budget, durably, before its randomness is drawn.

        `loss` is the mechanism's guarantee, or ε with `delta`, which are taken to hold for the budget's own neighbours unless `neighbours`
        or `within` says for which. The charge may be more than the release's own loss: see `create`. When this returns, the spend is on
        the disk. When it raises, nothing may be released: a refused spend (`BudgetError`) was not recorded, and one that failed
        (`LedgerError`) may or may not have been.

        `request` is a key that whoever asks makes up, such as `secrets.token_hex(16)`, and sends again if they do not know whether they
        were heard. A dataset is charged for a key once: the second time raises a `RepeatedError`, and nothing may be drawn.

        `source` declares what the records are read from, such as the path of a file. A `SecondBudgetWarning` says before anything is
        spent that the same source was charged to another dataset: two budgets for the same people add up.
        """
        purpose = Purpose(note, {} if description is None else description, request, source)
        promise = checked_promise(loss, delta, neighbours, within)
        warn_of_second_budget(self, dataset, source)
        return self._spend(dataset, [(promise, None)], purpose)

    def _spend(self, dataset: str, parts: "Sequence[tuple[Promise, Mechanism | None]]", purpose: Purpose) -> Spend:
        budget = self.budget(dataset)  # never changed, so it may be looked up before the transaction that others wait for
        charge = charge_for_all(budget, parts)
        with self._transaction("write") as connection:
            if self._known(connection, dataset) != budget:
                raise LedgerError(f"the ledger {self._where!r} was replaced meanwhile; do not release")
            lines = _history(connection, budget)
            check_first(budget, lines, purpose.request)
            check_affordable(statement_of(budget, ((line.loss, line.divergence, 1) for line in lines)), charge)
            row = spend_row(budget, charge, purpose)
            number = connection.execute(spends().insert().values(row)).inserted_primary_key
        if number is None:
            raise LedgerError("the ledger did not say which line it wrote; do not release")
        return spend_of({**row, "number": number[0]})

    @forgets_variables
    def release(
        self,
        dataset: str,
        mechanism: "Mechanism[Drawn]",
        counts: "ArrayLike",
        *,
        unit: Unit | None = None,
        note: str = "",
        about: "About | None" = None,
        request: str | None = None,
        source: str | None = None,
    ) -> "Release[Drawn]":
        """Release counts and charge the dataset's budget for it: everything is checked, then the spend is durable, then it is drawn.

        `note` is kept in the ledger alone; `about` are public words that the record holds. A `request` is charged and drawn once, and a
        `source` that was charged to another dataset is warned of: see `spend`.
        """
        if not hasattr(mechanism, "prepare"):
            raise InvalidInputError(
                f"mechanism must be a mechanism, such as LatticeGeometric(prior, n, epsilon), not {type(mechanism).__name__}"
            )
        prepared = mechanism.prepare(counts, unit=unit, about=about)
        warn_of_second_budget(self, dataset, source)
        return self.draw(dataset, prepared, note=note, request=request, source=source)

    @forgets_variables
    def draw(
        self, dataset: str, prepared: "Prepared[Drawn]", *, note: str = "", request: str | None = None, source: str | None = None
    ) -> "Release[Drawn]":
        """Charge the dataset's budget for a release that `Mechanism.prepare` has checked, durably, and draw it in whole quanta of time.

        It warns of nothing: ask `charged_elsewhere` about the source first.
        """
        mechanism = prepared.mechanism
        purpose = Purpose(note, described(mechanism), request, source)
        self._spend(dataset, [(checked_promise(prepared.guarantee, 0), mechanism)], purpose)
        return prepared.draw()

    def charge_together(
        self, dataset: str, prepared: "Mapping[str, Prepared]", *, note: str = "", request: str | None = None, source: str | None = None
    ) -> Spend:
        """Charge the dataset's budget for several releases by one line, durably, all or nothing: whoever calls it draws them afterwards.

        The line has the exact sum of their losses. It warns of nothing: ask `charged_elsewhere` about the source first.
        """
        parts = [(exact_promise(one), one.mechanism) for one in prepared.values()]
        return self._spend(dataset, parts, Purpose(note, described_together(prepared), request, source))

    def charged_elsewhere(self, dataset: str, source: str) -> tuple[str, ...]:
        """The other datasets that were charged for releases of this source, by name. No data are read: sources are compared as declared."""
        Purpose(source=source)  # which checks it
        with self._transaction("read") as connection:
            budget, query = self._known(connection, dataset), selected(connection, spends())
            if "source" not in query.selected_columns:  # an older ledger, in which no spend names its source
                return ()
            found = query.with_only_columns(spends().c.dataset).where(spends().c.source == source, spends().c.dataset != budget.dataset)
            return tuple(str(name) for name in connection.scalars(found.distinct().order_by(spends().c.dataset)))

    def accountant(self, dataset: str) -> "Accountant":
        """The releases so far, for exact composition: at a given δ, often far less ε than the sum.

        Its figures hold for a list of releases that was fixed beforehand. They do not hold where releases were chosen, or stopped, in
        view of earlier outcomes: there the plain sum holds, and the budget of a dataset that is kept by a filter (docs/howto/ledger.md).
        """
        from discreet.analysis.composition import Accountant

        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            lines = _history(connection, budget)
        found = Accountant(neighbours=budget.neighbours)
        for line in lines:
            found = found.add(_part(line, budget))
        return found

    def history(self, dataset: str) -> History:
        """Every spend on a dataset, oldest first."""
        with self._transaction("read") as connection:
            return History(_history(connection, self._known(connection, dataset)))

    def spent(self, dataset: str) -> Loss:
        """What has been spent on a dataset, by basic composition."""
        return composed(line.loss for line in self.history(dataset))

    def remaining(self, dataset: str) -> Loss:
        """The most that one more release of a dataset may be charged: what is left of the sum or, if that is more, of its filter.

        It is about the budget's own neighbours: a release about others may be charged more than its ε (see `create`).
        """
        return self.statement(dataset, latest=0).remaining

    def charged(self, dataset: str, request: str) -> Spend | None:
        """The spend that a request was charged with; None if it was not."""
        with self._transaction("read") as connection:
            budget, query = self._known(connection, dataset), selected(connection, spends())
            if "request" not in query.selected_columns:  # an older ledger, in which no spend has a key
                return None
            found = query.where(spends().c.dataset == budget.dataset, spends().c.request == request)
            row = connection.execute(found).mappings().one_or_none()
            return None if row is None else spend_of(cast("Mapping[str, Any]", row))

    def statement(self, dataset: str, *, latest: int | None = None) -> Statement:
        """What has been charged to a dataset in all, what is left, and its latest spends: at most so many, or all of them."""
        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            lines = _history(connection, budget, 1 if latest == 0 else latest)
            # Spends on a dataset wait for each other, so that what is committed meanwhile has a higher number.
            amounts = charged_amounts(connection, budget.dataset, lines[-1].number) if lines else {}
        return statement_of(budget, amounts.get(budget.dataset, ()), () if latest == 0 else lines)

    def statements(self) -> tuple[Statement, ...]:
        """The statement of every dataset, by name, without its spends."""
        with self._transaction("read") as connection:
            found, amounts = _budgets(connection), charged_amounts(connection)
        return tuple(statement_of(budget, amounts.get(budget.dataset, ())) for budget in found)

    def budget(self, dataset: str) -> Budget:
        with self._transaction("read") as connection:
            return self._known(connection, dataset)

    def datasets(self) -> tuple[Budget, ...]:
        """The budget of every dataset, by name."""
        with self._transaction("read") as connection:
            return _budgets(connection)

    def exists(self) -> bool:
        """Whether there is a ledger yet: it is made with its first dataset."""
        if not self._is_server and not Path(self._where).exists():
            return False
        with self._transaction("read", new=True) as connection:
            return is_made(connection)

    # --- access -------------------------------------------------------------------------------------------------------

    @property
    def _is_server(self) -> bool:
        return self._engine.dialect.name != "sqlite"

    def _check_file(self) -> None:
        """Refuse at once what can never become a ledger, or is not one."""
        if self._is_server:
            return
        path = Path(self._where)
        try:
            is_directory, has_parent, is_there = path.is_dir(), path.parent.is_dir(), path.exists()
        except OSError as error:
            raise LedgerError(f"the ledger {shown(self._where)!r} cannot be looked up: {error.strerror}") from None
        if is_directory:
            raise LedgerError(f"the ledger {self._where!r} is a directory; name a file in it, such as {str(path / 'ledger.db')!r}")
        if not has_parent:
            raise LedgerError(f"the ledger's directory {str(path.parent)!r} does not exist")
        if is_there:
            with self._transaction("read", new=True):
                pass

    @contextmanager
    def _transaction(self, mode: Literal["read", "write"], *, new: bool = False) -> "Iterator[Connection]":
        """A connection inside one transaction, committed at the end; every failure of the database becomes a LedgerError."""
        from sqlalchemy.exc import SQLAlchemyError

        if not (self._is_server or new or Path(self._where).exists()):
            raise LedgerError(f"there is no ledger {self._where!r}; {HOW_TO_BEGIN}")
        try:
            with self._engine.connect().execution_options(discreet_mode=mode) as connection, connection.begin():
                prepare(connection, self._timeout, writing=mode == "write", new=new, where=self._where)
                yield connection
        except DiscreetError:
            raise
        except SQLAlchemyError as error:
            raise self._unusable(self._reason(error)) from None
        except DamagedRowError as error:
            raise self._unusable(str(error)) from None
        except (ValueError, ArithmeticError, TypeError, RecursionError):  # of a damaged row, which their words may quote
            raise self._unusable("a row in it is damaged, or someone has edited it") from None

    def _unusable(self, reason: str) -> LedgerError:
        return LedgerError(f"the ledger {self._where!r} could not be used: {reason}; do not release")

    def _reason(self, error: Exception) -> str:
        """What a database says, in one line that quotes no row."""
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if "locked" in reason or "lock timeout" in reason:
            return f"another process has held it for more than {self._timeout:g} seconds"
        if "Could not decode" in reason:
            return "a text in it is not UTF-8"
        return "the file is something else" if "not a database" in reason else reason

    def _known(self, connection: "Connection", dataset: str) -> Budget:
        """The budget of a dataset: of just this name, as older ledgers may hold it, or of the name as it is kept now."""
        given = checked_text(dataset, "dataset", limits.NAME_CHARACTERS)
        for name in (given, cleaned(given)):
            budget = _budget(connection, name)
            if budget is not None:
                return budget
        known = sorted(_names(connection))
        more = f" and {len(known) - _DATASETS_IN_MESSAGE:,} more" if len(known) > _DATASETS_IN_MESSAGE else ""
        listed = ", ".join(repr(name) for name in known[:_DATASETS_IN_MESSAGE]) or "none"
        raise LedgerError(f"dataset {dataset!r} is not in the ledger; those in it: {listed}{more}")


_DATASETS_IN_MESSAGE = 20
"""Datasets that a message names."""


def warn_of_second_budget(ledger: Ledger, dataset: str, source: str | None) -> None:
    """Warn whoever asked if a source was charged to another dataset."""
    said = None if source is None else second_budget_words(ledger.charged_elsewhere(dataset, source))
    if said is not None:
        warn_caller(said, SecondBudgetWarning)


def described(mechanism: "Mechanism") -> dict[str, Any]:
    """The public description of a mechanism, from which an accountant can make it again, unless it is of a table."""
    from discreet.model.tables import TableSpace
    from discreet.record.json import written_parameters

    name, parameters = mechanism.described()
    return {
        "mechanism": name,
        "parameters": written_parameters(parameters),
        "prior": [str(a) for a in mechanism.prior.exact],
        "n": mechanism.space.n,
        **({_TABLE: _described_table(mechanism.space)} if isinstance(mechanism.space, TableSpace) else {}),
    }


def described_together(prepared: "Mapping[str, Prepared]") -> dict[str, Any]:
    """The public description of several releases that are charged by one line."""
    return {"tables": {name: described(one.mechanism) for name, one in prepared.items()}}


_TABLE = "table"


def _described_table(space: "TableSpace") -> dict[str, Any]:
    """How large a table is and what is public about it. Sizes, of which there may be a million, are told apart by their digest."""
    return {
        "columns": list(space.cells.groups.columns),
        "groups": len(space.cells.groups),
        "cells": space.k,
        "public": space.published,
        **({} if space.sizes is None else {"sizes": f"sha256:{sha256(','.join(map(str, space.sizes)).encode()).hexdigest()}"}),
    }


def _part(line: Spend, budget: Budget) -> "Mechanism | Guarantee":
    """The mechanism of a spend, if its description makes one with just its guarantee; else what was charged, as a guarantee.

    A table is taken by its charge, because its description is too short to make its mechanism again. So is a release that protects persons
    if the budget hides that a record comes or goes: see `charge_for`. A charge is about the budget's unit, and says so no more than a
    mechanism does: all parts are of one unit.
    """
    from discreet.mechanisms.registry import rebuilt
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.json import read_parameters

    charged = Guarantee(rounded_up(line.loss.epsilon), rounded_up(line.loss.delta), "proof", neighbours=budget.neighbours)
    doubled_by_unit = line.loss != line.guarantee and line.neighbours == budget.neighbours
    if doubled_by_unit or _TABLE in line.description or not {"mechanism", "parameters", "prior", "n"} <= set(line.description):
        return charged
    described = line.description
    try:
        found = rebuilt(described["mechanism"], read_parameters(described["parameters"]), Dirichlet(described["prior"]), described["n"])
        own = Guarantee(rounded_up(line.guarantee.epsilon), rounded_up(line.guarantee.delta), "proof", line.unit, line.neighbours)
        same = replace(found.guarantee, basis=own.basis, unit=own.unit) == own
    except (DiscreetError, KeyError, TypeError, ValueError):  # a line about something that cannot be made here
        return charged
    return found if same else charged


def _names(connection: "Connection") -> list[str]:
    return [str(name) for name in connection.scalars(budgets().select().with_only_columns(budgets().c.dataset))]


def _budget(connection: "Connection", dataset: str) -> Budget | None:
    """The budget of a dataset. In a writing transaction its row stays locked to the end, so that spends on it queue up."""
    query = selected(connection, budgets()).where(budgets().c.dataset == dataset)
    if connection.get_execution_options().get("discreet_mode") == "write":
        query = query.with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else budget_of(cast("Mapping[str, Any]", row))


def _budgets(connection: "Connection") -> tuple[Budget, ...]:
    rows = connection.execute(selected(connection, budgets()).order_by(budgets().c.dataset)).mappings()
    return tuple(budget_of(cast("Mapping[str, Any]", row)) for row in rows)


def _history(connection: "Connection", budget: Budget, latest: int | None = None) -> tuple[Spend, ...]:
    """The spends on a dataset, oldest first: all of them, or the latest."""
    query = selected(connection, spends()).where(spends().c.dataset == budget.dataset).order_by(spends().c.number.desc()).limit(latest)
    rows = connection.execute(query).mappings().all()
    return tuple(spend_of(cast("Mapping[str, Any]", row)) for row in reversed(rows))
