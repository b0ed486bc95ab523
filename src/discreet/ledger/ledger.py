"""The budget ledger: what may be spent on each dataset and what has been, durable before any randomness is drawn.

A spend is committed to the disk before `spend` returns. A crash after that wastes budget; nothing can un-spend it. Everything stored is
public: names, parameters and days, never counts.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet import limits
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError
from discreet.frames import forgets_variables
from discreet.ledger.budgets import (
    Budget,
    Loss,
    RenyiFilter,
    Spend,
    Unit,
    as_json,
    budget_of,
    budget_row,
    check_affordable,
    checked_amount,
    checked_loss,
    checked_text,
    composed,
    spend_of,
    spend_row,
    today,
    unspent,
)
from discreet.ledger.database import HOW_TO_BEGIN, budgets, make_engine, prepare, selected, spends
from discreet.ledger.names import check_new_name, cleaned
from discreet.record.guarantee import Guarantee, rounded_up
from discreet.validation import Number, check_positive, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sqlalchemy import Connection

    from discreet.analysis.composition import Accountant
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.record.release import Release

__all__ = ["Budget", "Ledger", "Loss", "RenyiFilter", "Spend", "composed"]


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
        self._where = self._engine.url.render_as_string(hide_password=True) if self._is_server else str(self._engine.url.database)
        self._check_file()

    def __repr__(self) -> str:
        return f"Ledger({self._where!r})"

    def create(
        self, dataset: str, epsilon: Number, delta: Number = 0, *, unit: Unit = "record", planned_epsilon: Number | None = None
    ) -> Budget:
        """Open a dataset with a total budget; the ledger itself is made with its first dataset. A budget is never changed later.

        With `planned_epsilon`, the ε of a typical one of many small releases, the dataset is also kept by a Rényi filter, which needs a
        `delta` above 0: releases are then taken beyond the plain sum, however each is chosen in view of the earlier ones, and all of
        them together are (ε, δ)-private (docs/ledger.md). Releases with other ε are taken too.
        """
        name = checked_text(cleaned(checked_text(dataset, "dataset", limits.NAME_CHARACTERS)), "dataset", limits.NAME_CHARACTERS)
        if unit not in ("record", "person"):
            raise InvalidInputError(f"unit must be 'record' or 'person', got {shown(unit)!r}")
        total = checked_loss(epsilon, delta, "the budget's ")
        rule = None if planned_epsilon is None else _planned_filter(total, planned_epsilon)
        budget = Budget(name, total, unit, today(), rule)
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
        note: str = "",
        description: Mapping[str, Any] | None = None,
    ) -> Spend:
        """Take a release's loss from the dataset's budget, durably, before its randomness is drawn.

        `loss` is the mechanism's guarantee, or ε with `delta`. When this returns, the spend is on the disk. When it raises, nothing may
        be released: a refused spend (`BudgetError`) was not recorded, and one that failed (`LedgerError`) may or may not have been.
        """
        return self._spend(dataset, loss, delta, note, {} if description is None else description, None)

    def _spend(
        self,
        dataset: str,
        loss: Guarantee | Loss | Number,
        delta: Number,
        note: str,
        description: Mapping[str, Any],
        mechanism: "Mechanism | None",
    ) -> Spend:
        amount, unit = checked_amount(loss, delta)
        text, public = checked_text(note, "note", limits.NOTE_CHARACTERS, empty=True), as_json(description)
        rule = self.budget(dataset).filter  # never changed, so it may be looked up before the transaction that others wait for
        divergence = None if rule is None else _divergence(amount, mechanism, rule.order)
        with self._transaction("write") as connection:
            budget = self._known(connection, dataset)
            if budget.filter != rule:
                raise LedgerError(f"the ledger {self._where!r} was replaced meanwhile; do not release")
            if budget.unit == "person" and unit == "record":
                raise BudgetError(
                    f"the budget of {budget.dataset!r} protects persons and this release only records: say whose a row is, with "
                    "privacy_id (in the shell, --privacy-id COLUMN)"
                )
            check_affordable(budget, _history(connection, budget), amount, divergence)
            row = spend_row(budget, amount, unit or budget.unit, text, public, divergence)
            number = connection.execute(spends().insert().values(row)).inserted_primary_key
        if number is None:
            raise LedgerError("the ledger did not say which line it wrote; do not release")
        return spend_of({**row, "number": number[0]})

    @forgets_variables
    def release(self, dataset: str, mechanism: "Mechanism", counts: "ArrayLike", *, unit: Unit | None = None, note: str = "") -> "Release":
        """Release counts and charge the dataset's budget for it: everything is checked, then the spend is durable, then it is drawn."""
        if not hasattr(mechanism, "prepare"):
            raise InvalidInputError(
                f"mechanism must be a mechanism, such as LatticeGeometric(prior, n, epsilon), not {type(mechanism).__name__}"
            )
        return self.draw(dataset, mechanism.prepare(counts, unit=unit), note=note)

    @forgets_variables
    def draw(self, dataset: str, prepared: "Prepared", *, note: str = "") -> "Release":
        """Charge the dataset's budget for a release that `Mechanism.prepare` has checked, durably, and draw it in whole quanta of time."""
        mechanism = prepared.mechanism
        self._spend(dataset, prepared.guarantee, 0, note, described(mechanism), mechanism)
        return prepared.draw(steady=True)

    def accountant(self, dataset: str) -> "Accountant":
        """The releases so far, for exact composition: at a given δ, often far less ε than the sum.

        Its figures hold for a list of releases that was fixed beforehand. They do not hold where releases were chosen, or stopped, in
        view of earlier outcomes: there the plain sum holds, and the budget of a dataset that is kept by a filter (docs/ledger.md).
        """
        from discreet.analysis.composition import Accountant

        found = Accountant()
        for line in self.history(dataset):
            found = found.add(_part(line))
        return found

    def history(self, dataset: str) -> tuple[Spend, ...]:
        """Every spend on a dataset, oldest first."""
        with self._transaction("read") as connection:
            return _history(connection, self._known(connection, dataset))

    def spent(self, dataset: str) -> Loss:
        """What has been spent on a dataset, by basic composition."""
        return composed(line.loss for line in self.history(dataset))

    def remaining(self, dataset: str) -> Loss:
        """The most that one more release of a dataset may spend: what is left of the sum or, if that is more, of its filter."""
        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            left, filter_left = unspent(budget, _history(connection, budget))
        if budget.filter is None or filter_left is None:
            return left
        from discreet.ledger.filters import largest_epsilon

        return Loss(max(left.epsilon, largest_epsilon(filter_left, budget.filter.order)))

    def budget(self, dataset: str) -> Budget:
        """The budget of a dataset."""
        with self._transaction("read") as connection:
            return self._known(connection, dataset)

    def datasets(self) -> tuple[Budget, ...]:
        """The budget of every dataset, by name."""
        with self._transaction("read") as connection:
            rows = connection.execute(selected(connection, budgets()).order_by(budgets().c.dataset)).mappings()
            return tuple(budget_of(cast("Mapping[str, Any]", row)) for row in rows)

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
        except (SQLAlchemyError, ValueError) as error:  # a ValueError is a row that someone has edited by hand
            raise LedgerError(self._explained(error)) from None

    def _explained(self, error: Exception) -> str:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if "locked" in reason or "lock timeout" in reason:
            reason = f"another process has held it for more than {self._timeout:g} seconds"
        if "not a database" in reason:
            reason = "the file is something else"
        return f"the ledger {self._where!r} could not be used: {reason}; do not release"

    def _known(self, connection: "Connection", dataset: str) -> Budget:
        """The budget of a dataset: of just this name, as older ledgers may hold it, or of the name as it is kept now."""
        given = checked_text(dataset, "dataset", limits.NAME_CHARACTERS)
        for name in (given, cleaned(given)):
            budget = _budget(connection, name)
            if budget is not None:
                return budget
        known = ", ".join(repr(name) for name in sorted(_names(connection))) or "none"
        raise LedgerError(f"dataset {dataset!r} is not in the ledger; those in it: {known}")


def described(mechanism: "Mechanism") -> dict[str, Any]:
    """The public description of a mechanism, from which an accountant can make it again."""
    from discreet.record.json import written_parameters

    name, parameters = mechanism.described()
    return {
        "mechanism": name,
        "parameters": written_parameters(parameters),
        "prior": [str(a) for a in mechanism.prior.exact],
        "n": mechanism.n,
    }


def _part(line: Spend) -> "Mechanism | Guarantee":
    """The mechanism of a spend, if its description makes one with just the guarantee that was charged; else that guarantee alone."""
    from discreet.mechanisms.registry import rebuilt
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.json import read_parameters

    charged = Guarantee(rounded_up(line.loss.epsilon), rounded_up(line.loss.delta), "proof", line.unit)
    if not {"mechanism", "parameters", "prior", "n"} <= set(line.description):
        return charged
    described = line.description
    try:
        found = rebuilt(described["mechanism"], read_parameters(described["parameters"]), Dirichlet(described["prior"]), described["n"])
        same = (found.guarantee.epsilon, found.guarantee.delta) == (charged.epsilon, charged.delta)
    except (DiscreetError, KeyError, TypeError, ValueError):  # a line about something that cannot be made here
        return charged
    return found if same else charged


def _planned_filter(total: Loss, planned_epsilon: Number) -> RenyiFilter:
    from discreet.ledger.filters import planned_filter

    return planned_filter(total, planned_epsilon)


def _divergence(amount: Loss, mechanism: "Mechanism | None", order: Fraction) -> Fraction:
    """What a release is charged by a filter of this order: by the mechanism's own laws where they are known and can be listed."""
    from discreet.ledger.filters import largest_divergence, mechanism_divergence

    charged = largest_divergence(amount.epsilon, order)
    return charged if mechanism is None else min(charged, mechanism_divergence(mechanism, order))


def _names(connection: "Connection") -> list[str]:
    return [str(name) for name in connection.scalars(budgets().select().with_only_columns(budgets().c.dataset))]


def _budget(connection: "Connection", dataset: str) -> Budget | None:
    """The budget of a dataset. In a writing transaction its row stays locked to the end, so that spends on it queue up."""
    query = selected(connection, budgets()).where(budgets().c.dataset == dataset)
    if connection.get_execution_options().get("discreet_mode") == "write":
        query = query.with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else budget_of(cast("Mapping[str, Any]", row))


def _history(connection: "Connection", budget: Budget) -> tuple[Spend, ...]:
    query = selected(connection, spends()).where(spends().c.dataset == budget.dataset).order_by(spends().c.number)
    return tuple(spend_of(cast("Mapping[str, Any]", row)) for row in connection.execute(query).mappings())
