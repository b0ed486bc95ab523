"""`discreet ledger`: budgets, and what has been spent of them."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli.options import Command, CommandGroup, JsonOption
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError, LedgerError
from discreet.present.budgets import budget_fields, hidden, left_words, spend_fields
from discreet.present.terminal import cell, errors_in_one_line, print_json, print_table
from discreet.requests.budget import BudgetRequest, SpendRequest
from discreet.requests.fields import fields_of
from discreet.requests.kinds import number_words
from discreet.requests.release import LEDGER_VARIABLE

if TYPE_CHECKING:
    from discreet.ledger.ledger import Budget, Ledger, Spend

app = typer.Typer(name="ledger", cls=CommandGroup, no_args_is_help=True, help="Budgets, and what has been spent of them.")
_COMPOSED_AT = "1e-6"
_WHOLE = ("number", "day (UTC)", "mechanism")
"""Columns that are not wrapped."""
LedgerArgument = Annotated[
    str | None,
    typer.Argument(help=fields_of(BudgetRequest)["ledger"].help, show_default=False),
]
DatasetArgument = Annotated[str | None, typer.Argument(help=fields_of(BudgetRequest)["dataset"].help, show_default=False)]


def _open(location: str | None) -> "Ledger":
    from discreet.ledger.ledger import Ledger

    location = location or os.environ.get(LEDGER_VARIABLE)
    if not location:
        raise InvalidInputError(f"name the ledger, a file or a database URL, or set {LEDGER_VARIABLE} to it")
    return Ledger(location)


def _dataset_of(ledger: str | None, dataset: str | None) -> tuple["Ledger", str]:
    """The ledger and the dataset of a command. A single name is the dataset's, and the environment names the ledger."""
    if dataset is None:
        ledger, dataset = None, ledger
    if dataset is None or (ledger is None and not os.environ.get(LEDGER_VARIABLE)):
        raise InvalidInputError(
            f"name the ledger and then the dataset; the dataset alone is enough where {LEDGER_VARIABLE} names the ledger"
        )
    return _open(ledger), dataset


def _say(text: str) -> None:
    Console(highlight=False, emoji=False).print(escape(text), soft_wrap=True)


@app.command(cls=Command)
@asks(BudgetRequest)
def create(asked: BudgetRequest) -> None:
    """Open a dataset with a total budget, which cannot be changed later.

    Example: discreet ledger create ledger.db survey --epsilon 3 --unit person
    """
    budget = asked.created(*_dataset_of(asked.ledger, asked.dataset))
    _say(f"{budget.dataset}: {budget.total}; hides {hidden(budget.neighbours)} ({_neighbours(budget)})")
    if budget.filter is not None and asked.planned is not None:
        from discreet.ledger.filters import affordable

        _say(
            f"kept by a {budget.filter}: {affordable(budget.filter, asked.planned)} releases of ε = {number_words(asked.planned)}, "
            f"however they are chosen; the plain sum allows {budget.total.epsilon // asked.planned}"
        )


@app.command(cls=Command)
@asks(SpendRequest)
def spend(asked: SpendRequest) -> None:
    """Charge a dataset for a release that is made elsewhere, before it is made. It must protect what the budget protects.

    Example: discreet ledger spend ledger.db survey --epsilon 0.5 --note "income by region, with another program"
    """
    book, name = _dataset_of(asked.ledger, asked.dataset)
    line = book.spend(name, asked.epsilon, asked.delta, neighbours=asked.relation, note=asked.note)
    try:
        left = left_words(book.remaining(name), book.budget(name))
    except LedgerError:  # the spend stands all the same
        left = "it could not be read"
    own = "" if line.loss == line.guarantee else f" for a release of {line.guarantee}"
    _say(f"{line.dataset}: spent {line.loss}{own} ({_neighbours(line)}); left: {left}")


@app.command(cls=Command)
def show(ledger: LedgerArgument = None, as_json: JsonOption = False) -> None:
    """List the datasets with their budgets, the rule that keeps them, and what is left of them.

    Example: discreet ledger show ledger.db
    """
    with errors_in_one_line():
        book = _open(ledger)
        budgets = [(found.budget, found.remaining) for found in book.statements()]
    if as_json:
        print_json([budget_fields(budget, left) for budget, left in budgets])
    else:
        rows = [(b.dataset, _step(b), b.total, "sum" if b.filter is None else b.filter, left_words(left, b)) for b, left in budgets]
        _print(("dataset", "neighbours", "budget", "rule", "left"), rows)


@app.command(cls=Command)
def history(ledger: LedgerArgument = None, dataset: DatasetArgument = None, as_json: JsonOption = False) -> None:
    """List what has been spent on a dataset, oldest first, and what it amounts to.

    Example: discreet ledger history ledger.db survey
    """
    with errors_in_one_line():
        book, name = _dataset_of(ledger, dataset)
        lines = book.history(name)
        total = _totals(book, name)
    if as_json:
        print_json([spend_fields(line) for line in lines])
    else:
        rows = [(line.number, line.day, line.loss, f"{line.guarantee}; {_step(line)}", line.mechanism, line.note) for line in lines]
        _print(("number", "day (UTC)", "spent", "guarantee", "mechanism", "note"), rows)
        for text in total:
            _say(text)


def _step(subject: "Budget | Spend") -> str:
    return subject.neighbours.of(subject.unit)


def _neighbours(subject: "Budget | Spend") -> str:
    return f"neighbours: {_step(subject)}"


def _totals(book: "Ledger", dataset: str) -> list[str]:
    """The sum, what is left of the budget and by which rule, and what exact composition makes of the list."""
    budget = book.budget(dataset)
    lines = [f"spent in all: {book.spent(dataset)}; left: {left_words(book.remaining(dataset), budget)}; {_neighbours(budget)}"]
    if budget.filter is not None:
        used = sum(line.divergence or 0 for line in book.history(dataset)) / budget.filter.limit
        lines.append(
            f"kept by a {budget.filter}, of which {100 * float(used):.3g} % is used: however each release was chosen in view of the "
            f"earlier ones, all of them together have {budget.total}"
        )
    accountant = book.accountant(dataset)
    if accountant.is_exact and len(accountant.parts) > 1 and (composed := accountant.epsilon(_COMPOSED_AT)) < accountant.basic[0]:
        figure = f"ε = {composed:.4g} at δ = {_COMPOSED_AT}"
        lines.append(f"by exact composition, if this list had been fixed beforehand: {figure}")
    return lines


def _print(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    table = Table()
    for name in names:
        table.add_column(name, no_wrap=name in _WHOLE)
    for row in rows:
        table.add_row(*map(cell, row))
    print_table(table)
