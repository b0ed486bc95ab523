"""`discreet ledger`: budgets, and what has been spent of them."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from discreet.cli.questions import Command, CommandGroup, asks
from discreet.errors import InvalidInputError, LedgerError
from discreet.present.budgets import budget_fields, hidden, left_of, left_words, spend_fields, staying
from discreet.present.terminal import cell, print_json, print_table
from discreet.requests.budget import BudgetRequest, HistoryRequest, LedgerRequest, SpendRequest
from discreet.requests.kinds import number_words
from discreet.requests.release import LEDGER_VARIABLE

if TYPE_CHECKING:
    from discreet.ledger.ledger import Budget, Ledger, Spend, Statement

app = typer.Typer(name="ledger", cls=CommandGroup, no_args_is_help=True, help="Budgets, and what has been spent of them.")
_COMPOSED_AT = "1e-6"
_WHOLE = ("number", "day (UTC)")
"""Columns that are not wrapped."""


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


@app.command(cls=Command)
@asks(BudgetRequest)
def create(asked: BudgetRequest) -> None:
    """Open a dataset with a total budget, which cannot be changed later.

    Example: discreet ledger create ledger.db survey --epsilon 3 --unit person
    """
    budget = asked.created(*_dataset_of(asked.ledger, asked.dataset))
    typer.echo(f"{budget.dataset}: {budget.amount}; hides {hidden(budget)} (neighbours: {budget.step})")
    if budget.every is not None:
        from discreet.record.guarantee import stay_words

        typer.echo(stay_words(budget.every, budget.total))
    if budget.filter is not None and asked.planned is not None:
        from discreet.ledger.filters import affordable

        typer.echo(
            f"kept by a {budget.filter}: {affordable(budget.filter, asked.planned)} releases of ε = {number_words(asked.planned)}, "
            f"however they are chosen; the plain sum allows {budget.total.epsilon // asked.planned}"
        )


@app.command(cls=Command)
@asks(SpendRequest)
def spend(asked: SpendRequest) -> None:
    """Charge a dataset for a release that is made elsewhere, before it is made. It must protect what the budget protects.

    Example: discreet ledger spend ledger.db survey --epsilon 0.5 --note "income by region, with another program"
    """
    from discreet.ledger.budgets import period_words

    book, name = _dataset_of(asked.ledger, asked.dataset)
    line = book.spend(name, asked.epsilon, asked.delta, neighbours=asked.relation, note=asked.note, period=asked.period)
    try:
        left = left_words(book.remaining(name, asked.period), book.budget(name))
    except LedgerError:  # the spend stands all the same
        left = "it could not be read"
    own = "" if line.loss == line.guarantee else f" for a release of {line.guarantee}"
    typer.echo(f"{line.dataset}: spent {line.loss}{period_words(line.period)}{own} (neighbours: {line.step}); left: {left}")


@app.command(cls=Command)
@asks(LedgerRequest)
def show(asked: LedgerRequest) -> None:
    """List the datasets with their budgets, the rule that keeps them, and what is left of them.

    Example: discreet ledger show ledger.db
    """
    found = _open(asked.ledger).statements()
    if asked.as_json:
        print_json([budget_fields(one) for one in found])
    else:
        _print(("dataset", "neighbours", "budget", "rule", "left"), [_shown(one) for one in found])


@app.command(cls=Command)
@asks(HistoryRequest)
def history(asked: HistoryRequest) -> None:
    """List what has been spent on a dataset, oldest first, and what it amounts to.

    Example: discreet ledger history ledger.db survey
    """
    book, name = _dataset_of(asked.ledger, asked.dataset)
    lines, budget, periods = book.history(name), book.budget(name), book.periods(name)
    total = _totals(book, budget)
    if asked.as_json:
        print_json([spend_fields(line) for line in lines])
    else:
        dated = () if budget.every is None else ("period",)
        _print(("number", "day (UTC)", *dated, "spent", "guarantee", "release"), [_line(one, dated) for one in lines])
        if periods:
            _print((budget.every or "", "spends", "spent", "left"), [(p.period, p.spends, p.spent, left_of(p)) for p in periods])
        for text in total:
            typer.echo(text)


def _shown(one: "Statement") -> tuple[object, ...]:
    budget = one.budget
    name = budget.dataset if budget.every is None else f"{budget.dataset}, {one.period or f'any {budget.every}'}"
    return name, budget.step, budget.amount, "sum" if budget.filter is None else budget.filter, left_of(one)


def _line(line: "Spend", dated: tuple[str, ...]) -> tuple[object, ...]:
    period = [str(line.period).replace("..", " to ")] if dated else []
    what = "; ".join(text for text in (line.mechanism, line.note) if text)
    return line.number, line.day, *period, line.loss, f"{line.guarantee}; {line.step}", what


def _totals(book: "Ledger", budget: "Budget") -> list[str]:
    """The sum, what is left of the budget and by which rule, and what exact composition makes of the list."""
    dataset, kept = budget.dataset, f"neighbours: {budget.step}"
    if budget.every is not None:
        periods = book.periods(dataset)
        lines = [f"{staying(budget, periods) if periods else 'nothing has been spent'}; {budget.amount}; {kept}"]
    else:
        lines = [f"spent in all: {book.spent(dataset)}; left: {left_words(book.remaining(dataset), budget)}; {kept}"]
    if budget.filter is not None and budget.every is None:
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
