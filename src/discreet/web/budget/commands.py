"""The command line and the Python that do what the screen for budgets does. A password is never in them."""

from dataclasses import replace

from discreet.present.html import Html
from discreet.requests.budget import BudgetRequest
from discreet.web.code_to_copy import command_line, note, request_command, same


def same_overview(shown: str) -> Html:
    """Return the command that lists the datasets of a ledger, of whose place this is shown."""
    lines = "for one in ledger.statements():", "    print(one.name, one.budget.total, one.remaining)"
    return _same("budget-overview", command_line("ledger show", [shown]), shown, *lines)


def same_dataset(shown: str, dataset: str, every: str | None = None) -> Html:
    """Return the command that lists the spends of a dataset, and what is left of it or, where each has a budget, of its periods."""
    by_period = f"for one in ledger.periods({dataset!r}):", "    print(one.name, one.remaining)"
    lines = (
        *((f"print(ledger.remaining({dataset!r}))",) if every is None else by_period),
        f"for line in ledger.history({dataset!r}):",
        "    print(line.number, line.day, line.loss, line.note)",
    )
    return _same("budget-history", command_line("ledger history", [shown, dataset]), shown, *lines)


def same_creation(shown: str, new: BudgetRequest) -> Html:
    """Return the command that creates a dataset."""
    return _same("budget-created", request_command("ledger create", replace(new, ledger=shown)), shown, *new.python())


def _same(place: str, command: str | None, shown: str, *lines: str) -> Html:
    python = "\n".join(["import discreet as dc", "", f"ledger = dc.Ledger({shown!r})", *lines])
    return same(place, command, python, note(command, shown))
