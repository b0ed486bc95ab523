"""The budget ledger: what may be spent on each dataset and what has been, durable before any randomness is drawn.

A spend is committed to the disk before `spend` returns. A crash after that wastes budget; nothing can un-spend it. Everything stored is
public: names, parameters and times, never counts.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet.database import HOW_TO_BEGIN, LONGEST_NAME, budgets, make_engine, prepare, spends
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError
from discreet.release import Guarantee, rounded_up
from discreet.validation import Number, check_positive, exact, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sqlalchemy import Connection

    from discreet.composition import Accountant
    from discreet.mechanisms import Mechanism
    from discreet.release import Release

__all__ = ["Budget", "Ledger", "Loss", "Spend"]

_LONGEST_NOTE = 1000
_LARGEST_NUMBER = 10**100
"""For the numerator and the denominator of an amount: far beyond any use, and sums stay fast."""

Unit = Literal["record", "person"]


@dataclass(frozen=True)
class Loss:
    """An amount of privacy loss, exactly."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        epsilon = f"ε = {_text(self.epsilon)}"
        return f"{epsilon}, δ = {_text(self.delta)}" if self.delta else epsilon


@dataclass(frozen=True)
class Budget:
    """What may be spent on a dataset in total."""

    dataset: str
    total: Loss
    unit: Unit
    """Whose privacy the budget is about: one record's or one person's."""
    created: datetime
    """In UTC."""


@dataclass(frozen=True)
class Spend:
    """One line of the ledger."""

    number: int
    """Rises with every spend in the ledger."""
    dataset: str
    loss: Loss
    unit: Unit
    note: str
    description: Mapping[str, Any]
    """The mechanism's public description: what an accountant needs to do better than adding up."""
    time: datetime
    """In UTC."""


def composed(losses: Iterable[Loss]) -> Loss:
    """The loss of several releases together, by basic composition: epsilons and deltas add up."""
    amounts = list(losses)
    return Loss(sum((loss.epsilon for loss in amounts), Fraction(0)), sum((loss.delta for loss in amounts), Fraction(0)))


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

    def create(self, dataset: str, epsilon: Number, delta: Number = 0, *, unit: Unit = "record") -> Budget:
        """Open a dataset with a total budget; the ledger itself is made with its first dataset. A budget is never changed later."""
        name = _checked_text(dataset, "dataset", LONGEST_NAME)
        if unit not in ("record", "person"):
            raise InvalidInputError(f"unit must be 'record' or 'person', got {shown(unit)!r}")
        budget = Budget(name, _checked_loss(epsilon, delta, "the budget's "), unit, _now())
        with self._transaction("write", new=True) as connection:
            if _budget(connection, name) is not None:
                raise LedgerError(f"dataset {name!r} is already in the ledger; its budget cannot be changed")
            connection.execute(budgets().insert().values(_budget_row(budget)))
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
        amount, unit = _amount(loss, delta)
        text, public = _checked_text(note, "note", _LONGEST_NOTE, empty=True), _as_json({} if description is None else description)
        with self._transaction("write") as connection:
            budget = self._known(connection, dataset)
            if budget.unit == "person" and unit == "record":
                raise BudgetError(
                    f"the budget of {dataset!r} protects persons and this release only records: say whose a row is, with "
                    "privacy_id (in the shell, --privacy-id COLUMN)"
                )
            left = _minus(budget.total, composed(line.loss for line in _history(connection, dataset)))
            if amount.epsilon > left.epsilon or amount.delta > left.delta:
                raise BudgetError(f"the release needs {amount} and {dataset!r} has {left} left of {budget.total}; nothing was spent")
            row = _spend_row(dataset, amount, unit or budget.unit, text, public)
            number = connection.execute(spends().insert().values(row)).inserted_primary_key
        if number is None:
            raise LedgerError("the ledger did not say which line it wrote; do not release")
        return _spend_of({**row, "number": number[0]})

    def release(self, dataset: str, mechanism: "Mechanism", counts: "ArrayLike", *, unit: Unit | None = None, note: str = "") -> "Release":
        """Release counts and charge the dataset's budget for it: everything is checked, then the spend is durable, then it is drawn."""
        if not hasattr(mechanism, "prepare"):
            raise InvalidInputError(
                f"mechanism must be a mechanism, such as LatticeGeometric(prior, n, epsilon), not {type(mechanism).__name__}"
            )
        prepared = mechanism.prepare(counts, unit=unit)
        self.spend(dataset, prepared.guarantee, note=note, description=described(mechanism))
        return prepared.draw()

    def accountant(self, dataset: str) -> "Accountant":
        """What has been spent on a dataset, by exact composition: at a given δ, often far less ε than the sum."""
        from discreet.composition import Accountant

        found = Accountant()
        for line in self.history(dataset):
            found = found.add(_part(line))
        return found

    def history(self, dataset: str) -> tuple[Spend, ...]:
        """Every spend on a dataset, oldest first."""
        with self._transaction("read") as connection:
            self._known(connection, dataset)
            return _history(connection, dataset)

    def spent(self, dataset: str) -> Loss:
        """What has been spent on a dataset, by basic composition."""
        return composed(line.loss for line in self.history(dataset))

    def remaining(self, dataset: str) -> Loss:
        """What may still be spent on a dataset."""
        with self._transaction("read") as connection:
            budget = self._known(connection, dataset)
            return _minus(budget.total, composed(line.loss for line in _history(connection, dataset)))

    def datasets(self) -> tuple[Budget, ...]:
        """The budget of every dataset, by name."""
        with self._transaction("read") as connection:
            rows = connection.execute(budgets().select().order_by(budgets().c.dataset)).mappings()
            return tuple(_budget_of(cast("Mapping[str, Any]", row)) for row in rows)

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
        budget = _budget(connection, _checked_text(dataset, "dataset", LONGEST_NAME))
        if budget is None:
            names = [str(name) for name in connection.scalars(budgets().select().with_only_columns(budgets().c.dataset))]
            known = ", ".join(repr(name) for name in sorted(names)) or "none"
            raise LedgerError(f"dataset {dataset!r} is not in the ledger; those in it: {known}")
        return budget


# --- values -----------------------------------------------------------------------------------------------------------


def described(mechanism: "Mechanism") -> dict[str, Any]:
    """The public description of a mechanism, from which an accountant can make it again."""
    from discreet.schema import written_parameters

    name, parameters = mechanism.described()
    return {
        "mechanism": name,
        "parameters": written_parameters(parameters),
        "prior": [str(a) for a in mechanism.prior.exact],
        "n": mechanism.n,
    }


def _part(line: Spend) -> "Mechanism | Guarantee":
    """The mechanism of a spend, if its description makes one with just the guarantee that was charged; else that guarantee alone."""
    from discreet.distributions import Dirichlet
    from discreet.mechanisms.registry import rebuilt
    from discreet.schema import read_parameters

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


def _text(value: Fraction) -> str:
    """The number as a decimal if it is one, else as a fraction: either way exactly."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    odd, fives = value.denominator >> twos, 0
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    if odd != 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def _checked_loss(epsilon: Number, delta: Number, whose: str) -> Loss:
    loss = Loss(check_positive(epsilon, f"{whose}epsilon"), exact(delta, f"{whose}delta"))
    if not 0 <= loss.delta < 1:
        raise InvalidInputError(f"{whose}delta must be at least 0 and below 1, got {shown(delta)}")
    if max(*loss.epsilon.as_integer_ratio(), *loss.delta.as_integer_ratio()) > _LARGEST_NUMBER:
        raise InvalidInputError(f"{whose}epsilon and delta must be numbers of at most 100 digits")
    return loss


def _amount(loss: Guarantee | Loss | Number, delta: Number) -> tuple[Loss, Unit | None]:
    if isinstance(loss, Guarantee):
        if loss.basis == "none":
            raise BudgetError("a release without a privacy guarantee has no loss that a budget could allow; nothing was spent")
        return _checked_loss(loss.epsilon, loss.delta, ""), loss.unit
    if isinstance(loss, Loss):
        return _checked_loss(loss.epsilon, loss.delta, ""), None
    return _checked_loss(loss, delta, ""), None


def _minus(total: Loss, spent: Loss) -> Loss:
    return Loss(total.epsilon - spent.epsilon, total.delta - spent.delta)


def _checked_text(value: Any, name: str, longest: int, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value.strip() or empty) or len(value) > longest or not value.replace("\n", " ").isprintable():
        raise InvalidInputError(f"{name} must be printable text of at most {longest} characters")
    return value


def _as_json(description: Mapping[str, Any]) -> str:
    """The description as JSON; only plain values are taken, so that counts cannot slip in as an array or a table."""

    def plain(value: Any) -> Any:
        if isinstance(value, Fraction):
            return _text(value)
        raise InvalidInputError(f"a description holds text, numbers, lists and mappings of them, not {type(value).__name__}")

    try:
        if isinstance(description, Mapping):
            return json.dumps(dict(description), default=plain, allow_nan=False, sort_keys=True, ensure_ascii=False)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, RecursionError):
        pass  # said below, without the value that json names
    raise InvalidInputError("a description must be a mapping from text to text, finite numbers, lists and mappings of them")


def _now() -> datetime:
    return datetime.now(UTC)


# --- rows: amounts and times as text, which every database keeps exactly ------------------------------------------------


def _budget_row(budget: Budget) -> dict[str, Any]:
    amounts = {"epsilon": _text(budget.total.epsilon), "delta": _text(budget.total.delta)}
    return {"dataset": budget.dataset, **amounts, "unit": budget.unit, "created": budget.created.isoformat()}


def _budget_of(row: Mapping[str, Any]) -> Budget:
    return Budget(row["dataset"], _loss_of(row), row["unit"], datetime.fromisoformat(row["created"]))


def _spend_row(dataset: str, amount: Loss, unit: Unit, note: str, description: str) -> dict[str, Any]:
    amounts = {"epsilon": _text(amount.epsilon), "delta": _text(amount.delta)}
    return {"dataset": dataset, **amounts, "unit": unit, "note": note, "description": description, "time": _now().isoformat()}


def _spend_of(row: Mapping[str, Any]) -> Spend:
    description, time = json.loads(row["description"]), datetime.fromisoformat(row["time"])
    return Spend(row["number"], row["dataset"], _loss_of(row), row["unit"], row["note"], description, time)


def _loss_of(row: Mapping[str, Any]) -> Loss:
    return Loss(Fraction(row["epsilon"]), Fraction(row["delta"]))


def _budget(connection: "Connection", dataset: str) -> Budget | None:
    """The budget of a dataset. In a writing transaction its row stays locked to the end, so that spends on it queue up."""
    query = budgets().select().where(budgets().c.dataset == dataset)
    if connection.get_execution_options().get("discreet_mode") == "write":
        query = query.with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _budget_of(cast("Mapping[str, Any]", row))


def _history(connection: "Connection", dataset: str) -> tuple[Spend, ...]:
    rows = connection.execute(spends().select().where(spends().c.dataset == dataset).order_by(spends().c.number)).mappings()
    return tuple(_spend_of(cast("Mapping[str, Any]", row)) for row in rows)
