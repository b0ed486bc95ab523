"""The budget ledger: what may be spent on each dataset and what has been, durable before any randomness is drawn.

A spend is committed to the disk before `spend` returns. A crash after that wastes budget; nothing can un-spend it. Everything stored is
public: names, parameters and days, never counts.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast

from discreet import limits
from discreet.errors import DiscreetError, InvalidInputError, LedgerError, SecondBudgetWarning
from discreet.frames import forgets_variables, warn_caller
from discreet.ledger.budgets import (
    Budget,
    Hides,
    History,
    Loss,
    Promise,
    Purpose,
    PurposeWords,
    RenyiFilter,
    Spend,
    SpendWords,
    Unit,
    check_first,
    checked_loss,
    checked_promise,
    checked_text,
    composed,
    today,
)
from discreet.ledger.charges import charge_for_all, check_period, described_together, exact_promise, part_of, second_budget_words
from discreet.ledger.database import budgets, is_made, make_engine, no_ledger, prepare, selected, shown_url, spends
from discreet.ledger.names import check_new_name, cleaned
from discreet.ledger.rows import DamagedRowError, budget_of, budget_row, spend_of, spend_row
from discreet.ledger.statements import (
    Statement,
    amounts_of,
    charged_amounts,
    check_affordable,
    statements_of,
)
from discreet.model.datasets import check_within
from discreet.model.periods import Every, PeriodRange, check_every
from discreet.record.guarantee import Guarantee
from discreet.text import shown
from discreet.validation import Number, check_positive, check_unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sqlalchemy import Connection, Select

    from discreet.analysis.composition import Accountant
    from discreet.arrays import Drawn
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.record.about import About
    from discreet.record.release import Release

_Made = TypeVar("_Made")

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
        every: Every | None = None,
        planned_epsilon: Number | None = None,
        **hides: Unpack[Hides],
    ) -> Budget:
        """Open a dataset with a total budget. The ledger itself is made with its first dataset, and a budget is never changed later.

        Args:
            dataset: The name of the dataset.
            epsilon, delta: The budget: all spends together stay within it.
            unit: "person" if the budget protects persons; releases that protect records alone are then refused.
            every: "day", "month", "quarter" or "year", if each such period has this budget. It then protects all records of one person in
                one period; someone who is there for m periods is protected by m times the budget in all (docs/howto/months.md).
            planned_epsilon: The ε of a typical one of many small releases. The dataset is then also kept by a Rényi filter, which needs a
                `delta` above 0: releases are taken beyond the plain sum, however each is chosen in view of the earlier ones, and all of
                them together are (ε, δ)-private. Releases with other ε are taken too.
            hides: `neighbours`, which says what the budget hides: "replace one", what someone answered, for releases that publish n; or
                "add or remove one", also that someone took part. Or `within`, the columns of groups that nobody changes, as
                ["region", "sex"], for releases that publish the sizes of these groups (docs/howto/ledger.md).

        Returns the `Budget`.

        Raises InvalidInputError for an argument that is not allowed, and LedgerError where the name is taken, or looks like one that is
        taken, or the ledger cannot be written.
        """
        name = checked_text(cleaned(checked_text(dataset, "dataset", limits.NAME_CHARACTERS)), "dataset", limits.NAME_CHARACTERS)
        if every is not None and check_every(every) and check_unit(unit) != "person":
            fault = "a budget for each period is about all that a person has in it"
            raise InvalidInputError(f"{fault}: give unit='person' with every", in_shell=f"{fault}: give --unit person with --every")
        relation = check_within(**hides)
        total, rule = checked_loss(epsilon, delta, "the budget's "), None
        if planned_epsilon is not None:
            from discreet.ledger.filters import planned_filter

            rule = planned_filter(total, planned_epsilon)
        budget = Budget(name, total, check_unit(unit), today(), rule, relation, every)
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
        period: str | None = None,
        **words: Unpack[SpendWords],
    ) -> Spend:
        """Take a release's loss from the dataset's budget, durably, before its randomness is drawn.

        Args:
            dataset: The name of the dataset.
            loss, delta: The mechanism's guarantee, or ε and δ. These hold for the budget's own neighbours unless `neighbours` or `within`
                says for which. The charge may be more than the release's own loss (docs/howto/ledger.md).
            period: The periods that the release reads, such as "2026-11" or "2026-01..2026-03", where each has a budget. All of them are
                charged, by one line, or none.
            words: `note` says in public what was released, and `description` how, in plain values. `request` is a key that whoever asks
                makes up, such as `secrets.token_hex(16)`, and sends again if an answer was lost: it is charged once. `source` is what the
                records are read from, such as the path of a file.

        Returns the `Spend`, which is on the disk.

        Raises:
            BudgetError: The budget does not allow this spend, which was not recorded.
            RepeatedError: The request was charged before; nothing may be drawn.
            LedgerError: The ledger failed. The spend may or may not have been recorded, and nothing may be released.

        A `SecondBudgetWarning` says before anything is spent that the same source was charged to another dataset: two budgets for the same
        people add up.
        """
        promise = checked_promise(loss, delta, words.pop("neighbours", None), words.pop("within", ()), period)
        described = words.pop("description", None)
        purpose = Purpose(description={} if described is None else described, **words)  # type: ignore[arg-type, misc] # what is left
        warn_of_second_budget(self, dataset, purpose.source)
        return self._spend(dataset, [(promise, None)], purpose)

    def _spend(self, dataset: str, parts: "Sequence[tuple[Promise, Mechanism | None]]", purpose: Purpose) -> Spend:
        budget = self.budget(dataset)  # never changed, so it may be looked up before the transaction that others wait for
        charge = charge_for_all(budget, parts)
        with self._transaction("write") as connection:
            if self._known(connection, dataset) != budget:
                raise LedgerError(f"the ledger {self._where!r} was replaced meanwhile; do not release")
            lines = _history(connection, budget)
            check_first(budget, lines, purpose.request)
            for one in statements_of(budget, amounts_of(lines), charge.promise.period):
                check_affordable(one, charge)
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
        about: "About | None" = None,
        period: str | None = None,
        **words: Unpack[PurposeWords],
    ) -> "Release[Drawn]":
        """Release counts and charge the dataset's budget for it: everything is checked, then the spend is durable, then it is drawn.

        Args:
            dataset: The name of the dataset.
            mechanism, counts, unit: As for `Mechanism.release`.
            about: Public words that the record holds.
            period: The periods that the counts are of, each of which is charged.
            words: `note`, which is kept in the ledger alone, `request` and `source`, as for `spend`.

        Returns the `Release`.

        Raises what `Mechanism.release` raises, before anything is spent, and what `spend` raises.
        """
        if not hasattr(mechanism, "prepare"):
            raise InvalidInputError(
                f"mechanism must be a mechanism, such as LatticeGeometric(prior, n, epsilon), not {type(mechanism).__name__}"
            )
        prepared = mechanism.prepare(counts, unit=unit, about=about, period=period)
        warn_of_second_budget(self, dataset, words.get("source"))
        return self.draw(dataset, prepared, **words)

    @forgets_variables
    def draw(self, dataset: str, prepared: "Prepared[Drawn]", **words: Unpack[PurposeWords]) -> "Release[Drawn]":
        """Charge the dataset's budget for a release that `Mechanism.prepare` has checked, durably, and draw it in whole quanta of time.

        It warns of nothing: ask `charged_elsewhere` about the source first.
        """
        self.charge_together(dataset, {"": prepared}, **words)
        return prepared.draw()

    def charge_together(self, dataset: str, prepared: "Mapping[str, Prepared]", **words: Unpack[PurposeWords]) -> Spend:
        """Charge the dataset's budget for releases by one line, durably, all or nothing: whoever calls it draws them afterwards.

        The line has the exact sum of their losses. The name of one that is charged alone may be "". It warns of nothing: ask
        `charged_elsewhere` about the source first. Raises InvalidInputError where there are none.
        """
        if not prepared:
            raise InvalidInputError("there are no releases to charge: give at least one")
        parts = [(exact_promise(one), one.mechanism) for one in prepared.values()]
        return self._spend(dataset, parts, Purpose(description=described_together(prepared), **words))

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
        Where each period has a budget, they are about someone who is there in all periods that were charged.
        """
        from discreet.analysis.composition import Accountant

        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            lines = _history(connection, budget)
        found = Accountant(neighbours=budget.neighbours)
        for line in lines:
            found = found.add(part_of(line, budget), 1 if line.period is None else len(line.period))
        return found

    def history(self, dataset: str) -> History:
        """Every spend on a dataset, oldest first."""
        with self._transaction("read") as connection:
            return History(_history(connection, self._known(connection, dataset)))

    def spent(self, dataset: str, period: str | None = None) -> Loss:
        """Return what has been spent on a dataset, or in one of its periods, by basic composition.

        Where each period has a budget and none is named, it is what someone may have lost who was there in all that were charged.
        """
        if period is None and self.budget(dataset).every is not None:
            return composed(one.lost for one in self.periods(dataset))
        return self.statement(dataset, latest=0, period=period).spent

    def remaining(self, dataset: str, period: str | None = None) -> Loss:
        """The most that one more release of a dataset may be charged: what is left of the sum or, if that is more, of its filter.

        It is about the budget's own neighbours: a release about others may be charged more than its ε (see `create`). Where each period
        has a budget, it is what is left in this one, or in each of several.
        """
        return self.statement(dataset, latest=0, period=period).remaining

    def charged(self, dataset: str, request: str) -> Spend | None:
        """The spend that a request was charged with; None if it was not."""
        with self._transaction("read") as connection:
            budget, query = self._known(connection, dataset), selected(connection, spends())
            if "request" not in query.selected_columns:  # an older ledger, in which no spend has a key
                return None
            found = query.where(spends().c.dataset == budget.dataset, spends().c.request == request)
            return next(iter(_made(connection, found, spend_of)), None)

    def statement(self, dataset: str, *, latest: int | None = None, period: str | None = None) -> Statement:
        """Return what has been charged to a dataset in all, what is left, and its latest spends: at most so many, or all of them.

        Where each period has a budget, it is about the one that is named or, of several, about that with the least left.
        """
        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            asked = None if period is None else PeriodRange.read(period)
            check_period(budget, asked)
            lines = _history(connection, budget, 1 if latest == 0 else latest if asked is None else None)
            # Spends on a dataset wait for each other, so that what is committed meanwhile has a higher number.
            amounts = charged_amounts(connection, budget.dataset, lines[-1].number) if lines else {}
        found = min(statements_of(budget, amounts.get(budget.dataset, ()), asked), key=lambda one: one.left.epsilon)
        own = [line for line in lines if found.period is None or (line.period is not None and found.period in line.period)]
        return replace(found, latest=tuple(own if latest is None else own[max(0, len(own) - latest) :]))

    def statements(self) -> tuple[Statement, ...]:
        """The statement of every dataset, by name, without its spends; where each period has a budget, of all that were charged."""
        return self._statements()

    def periods(self, dataset: str) -> tuple[Statement, ...]:
        """The statements of all periods of a dataset that something was charged to, in their order, without their spends."""
        return tuple(one for one in self._statements(dataset) if one.period is not None)

    def _statements(self, dataset: str | None = None) -> tuple[Statement, ...]:
        with self._transaction("read") as connection:
            found = _budgets(connection) if dataset is None else (self._known(connection, dataset),)
            amounts = charged_amounts(connection, None if dataset is None else found[0].dataset)
        return tuple(one for budget in found for one in statements_of(budget, amounts.get(budget.dataset, ())))

    def budget(self, dataset: str) -> Budget:
        """Return the budget of a dataset. Raises LedgerError where the ledger has none of this name."""
        with self._transaction("read") as connection:
            return self._known(connection, dataset)

    def datasets(self) -> tuple[Budget, ...]:
        """The budget of every dataset, by name."""
        with self._transaction("read") as connection:
            return _budgets(connection)

    def exists(self) -> bool:
        """Return whether there is a ledger yet: it is made with its first dataset."""
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
            raise no_ledger(repr(self._where))
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
        """Return the reason that a database gives, in one line that quotes no row."""
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


def _names(connection: "Connection") -> list[str]:
    return [str(name) for name in connection.scalars(budgets().select().with_only_columns(budgets().c.dataset))]


def _budget(connection: "Connection", dataset: str) -> Budget | None:
    """The budget of a dataset. In a writing transaction its row stays locked to the end, so that spends on it queue up."""
    query = selected(connection, budgets()).where(budgets().c.dataset == dataset)
    if connection.get_execution_options().get("discreet_mode") == "write":
        query = query.with_for_update()
    return next(iter(_made(connection, query, budget_of)), None)


def _budgets(connection: "Connection") -> tuple[Budget, ...]:
    return _made(connection, selected(connection, budgets()).order_by(budgets().c.dataset), budget_of)


def _history(connection: "Connection", budget: Budget, latest: int | None = None) -> tuple[Spend, ...]:
    """The spends on a dataset, oldest first: all of them, or the latest."""
    query = selected(connection, spends()).where(spends().c.dataset == budget.dataset).order_by(spends().c.number.desc()).limit(latest)
    return _made(connection, query, spend_of)[::-1]


def _made(connection: "Connection", query: "Select[Any]", make: Callable[[Mapping[str, Any]], _Made]) -> tuple[_Made, ...]:
    """Return the value made of each row that a query finds. All are fetched first, so that a damaged one leaves no ledger locked."""
    return tuple(make(cast("Mapping[str, Any]", row)) for row in connection.execute(query).mappings().all())
