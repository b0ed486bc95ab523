"""`discreet ledger`: budgets, and what has been spent of them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.options import Command, Group, JsonOption, cell, errors_in_one_line, parse_number, print_json, print_table

if TYPE_CHECKING:
    from discreet.ledger import Budget, Ledger, Loss, Spend

__all__ = ["app"]

app = typer.Typer(name="ledger", cls=Group, no_args_is_help=True, help="Budgets, and what has been spent of them.")

_COMPOSED_AT = "1e-6"
_WHOLE = ("number", "time (UTC)", "mechanism", "unit")
"""Columns that are not wrapped."""

LedgerArgument = Annotated[str, typer.Argument(help="The ledger: a file, or a database URL.")]
DatasetArgument = Annotated[str, typer.Argument(help="The ledger's name for the records.")]


def _open(location: str) -> "Ledger":
    from discreet.ledger import Ledger

    return Ledger(location)


@app.command(cls=Command)
def create(
    ledger: LedgerArgument,
    dataset: DatasetArgument,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Total ε that may ever be spent on these records.")],
    delta: Annotated[str, typer.Option(help="Total δ that may ever be spent.")] = "0",
    unit: Annotated[str, typer.Option(help="Whose privacy the budget is about: record or person.")] = "record",
) -> None:
    """Open a dataset with a total budget, which cannot be changed later.

    Example: discreet ledger create ledger.db survey --epsilon 3 --unit person
    """
    with errors_in_one_line():
        budget = _open(ledger).create(
            dataset,
            parse_number(epsilon, "--epsilon"),
            parse_number(delta, "--delta"),
            unit=unit,  # type: ignore[arg-type]
        )
    Console(highlight=False, emoji=False).print(cell(f"{budget.dataset}: {budget.total}, protecting each {budget.unit}"))


@app.command(cls=Command)
def show(ledger: LedgerArgument, as_json: JsonOption = False) -> None:
    """List the datasets with their budgets and what is left of them.

    Example: discreet ledger show ledger.db
    """
    with errors_in_one_line():
        book = _open(ledger)
        budgets = [(budget, book.remaining(budget.dataset)) for budget in book.datasets()]
        rows: list[dict[str, Any]] = [
            {"dataset": b.dataset, "unit": b.unit, "budget": str(b.total), "left": str(left)} for b, left in budgets
        ]
    if as_json:
        print_json([_budget_fields(budget, left) for budget, left in budgets])
    else:
        _print(rows, ["dataset", "unit", "budget", "left"])


@app.command(cls=Command)
def history(ledger: LedgerArgument, dataset: DatasetArgument, as_json: JsonOption = False) -> None:
    """List what has been spent on a dataset, oldest first, and what it amounts to.

    Example: discreet ledger history ledger.db survey
    """
    with errors_in_one_line():
        book = _open(ledger)
        lines = book.history(dataset)
        rows: list[dict[str, Any]] = [
            {
                "number": line.number,
                "time": line.time.isoformat(timespec="seconds"),
                "spent": str(line.loss),
                "mechanism": str(line.description.get("mechanism", "")),
                "note": line.note,
            }
            for line in lines
        ]
        total = _totals(book, dataset)
    if as_json:
        print_json([_spend_fields(line) for line in lines])
    else:
        shown = [{**row, "time (UTC)": f"{line.time:%Y-%m-%d %H:%M:%S}"} for row, line in zip(rows, lines, strict=True)]
        _print(shown, ["number", "time (UTC)", "spent", "mechanism", "note"])
        Console(highlight=False, emoji=False).print(total)


def _totals(book: "Ledger", dataset: str) -> str:
    """The sum, and what the exact composition of the releases makes of it."""
    text = f"spent in all: {escape(str(book.spent(dataset)))}; left: {escape(str(book.remaining(dataset)))}"
    accountant = book.accountant(dataset)
    if accountant.is_exact and len(accountant.parts) > 1:
        text += f"\nby exact composition: ε = {accountant.epsilon(_COMPOSED_AT):.4g} at δ = {_COMPOSED_AT}"
    return text


def _budget_fields(budget: "Budget", left: "Loss") -> dict[str, Any]:
    """A budget as fields; numbers are never above what is left, nor below what may be spent."""
    from discreet.release import rounded_down, rounded_up

    return {
        "dataset": budget.dataset,
        "unit": budget.unit,
        "epsilon": rounded_up(budget.total.epsilon),
        "delta": rounded_up(budget.total.delta),
        "left_epsilon": rounded_down(left.epsilon),
        "left_delta": rounded_down(left.delta),
    }


def _spend_fields(line: "Spend") -> dict[str, Any]:
    """A line of the ledger as fields; numbers are never below what was spent."""
    from discreet.release import rounded_up

    return {
        "number": line.number,
        "time": line.time.isoformat(timespec="seconds"),
        "unit": line.unit,
        "epsilon": rounded_up(line.loss.epsilon),
        "delta": rounded_up(line.loss.delta),
        "mechanism": line.description.get("mechanism"),
        "note": line.note,
    }


def _print(rows: list[dict[str, Any]], names: list[str]) -> None:
    table = Table()
    for name in names:
        table.add_column(name, no_wrap=name in _WHOLE)
    for row in rows:
        table.add_row(*(cell(row[name]) for name in names))
    print_table(table)
