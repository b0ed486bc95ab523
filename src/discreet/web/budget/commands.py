"""The command line and the Python that do what the screen for budgets does. A password is never in them."""

from dataclasses import replace

from discreet.present.html import Html
from discreet.requests.budget import BudgetRequest
from discreet.web.code_to_copy import command_line, note, request_command, same


def same_overview(shown: str) -> Html:
    """How to list the datasets of a ledger, of whose place this is shown."""
    lines = "for budget in ledger.datasets():", "    print(budget.dataset, budget.total, ledger.remaining(budget.dataset))"
    return _same("budget-overview", command_line("ledger show", [shown]), shown, *lines)


def same_dataset(shown: str, dataset: str) -> Html:
    """How to list the spends of a dataset."""
    lines = (
        f"print(ledger.remaining({dataset!r}))",
        f"for line in ledger.history({dataset!r}):",
        "    print(line.number, line.day, line.loss, line.note)",
    )
    return _same("budget-history", command_line("ledger history", [shown, dataset]), shown, *lines)


def same_creation(shown: str, new: BudgetRequest) -> Html:
    """How to create a dataset."""
    return _same("budget-created", request_command("ledger create", replace(new, ledger=shown)), shown, *new.python())


def _same(place: str, command: str | None, shown: str, *lines: str) -> Html:
    python = "\n".join(["import discreet as dc", "", f"ledger = dc.Ledger({shown!r})", *lines])
    return same(place, command, python, note(command, shown))
