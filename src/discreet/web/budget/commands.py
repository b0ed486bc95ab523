"""The command line and the Python that do what the screen for budgets does. A password is never in them."""

import csv
from io import StringIO

from discreet.present.html import Html
from discreet.web.budget.question import NewDataset
from discreet.web.code_to_copy import command_line, note, same
from discreet.web.plan.commands import quoted


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


def same_creation(shown: str, new: NewDataset) -> Html:
    """How to create a dataset."""
    columns = StringIO()
    csv.writer(columns, lineterminator="").writerow(new.neighbours.within)
    options = {
        "--epsilon": new.typed["epsilon"],
        "--delta": new.typed["delta"] if new.total.delta else "",
        "--unit": "" if new.unit == "record" else new.unit,
        "--public": "" if new.public == "total" else new.public,
        "--by": columns.getvalue(),
        "--planned-epsilon": new.typed["planned"],
    }
    given = [part for name, value in options.items() if value for part in (name, value)]
    named = {
        "delta": quoted(new.total.delta) if new.total.delta else "",
        "unit": "" if new.unit == "record" else repr(new.unit),
        "neighbours": repr(str(new.neighbours)) if new.public == "nothing" else "",
        "within": repr(list(new.neighbours.within)) if new.neighbours.within else "",
        "planned_epsilon": "" if new.planned is None else quoted(new.planned),
    }
    words = "".join(f", {name}={value}" for name, value in named.items() if value)
    line = f"budget = ledger.create({new.dataset!r}, epsilon={quoted(new.total.epsilon)}{words})"
    return _same("budget-created", command_line("ledger create", [shown, new.dataset], given), shown, line, "print(budget)")


def _same(place: str, command: str | None, shown: str, *lines: str) -> Html:
    python = "\n".join(["import discreet as dc", "", f"ledger = dc.Ledger({shown!r})", *lines])
    return same(place, command, python, note(command, shown))
