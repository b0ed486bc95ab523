"""The view of the screen for budgets: a ledger and its datasets, one of them with its spends, and the form for a new one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from secrets import token_urlsafe

from discreet import limits
from discreet.ledger.budgets import Budget, Spend, period_words
from discreet.ledger.charges import why_more
from discreet.ledger.ledger import Ledger
from discreet.ledger.statements import Statement, statements_of
from discreet.model.datasets import Relation
from discreet.present.budgets import left_of, staying
from discreet.present.html import Html, element, isolated, joined, table, table_row, void
from discreet.present.page_rows import cut
from discreet.requests.budget import COLUMNS_PART, DATASET_PART, MANY_PART, BudgetRequest
from discreet.text import plain
from discreet.web.budget.card import budget_card
from discreet.web.parts import command_line, note, request_command, rows, same


def ledger_view(ledger: Ledger, shown: str, chosen: str, news: Html | None = None) -> Html:
    """A ledger whose place is shown so: its datasets, the chosen one or else the first, and a form for another."""
    latest = {one.budget.dataset: one for one in ledger.statements()} if ledger.exists() else {}
    statements = [*latest.values()]
    place = element("code", isolated(shown))
    if not statements:
        words = "There is no ledger at ", place, " yet. It is made together with its first dataset."
        return _inside(shown, element("p", *words, class_="lead"), create_form(first=True))
    names = [statement.budget.dataset for statement in statements]
    name = chosen if chosen in names else names[0]
    one = element(
        "div", dataset_view(ledger, shown, name), id="budget-one", class_="budget-one", tabindex="-1", aria_label="The chosen dataset"
    )
    listed = element("div", _datasets(statements, name), same_overview(shown), class_="budget-all")
    number = "1 dataset" if len(names) == 1 else f"{len(names):,} datasets"
    desk = element("div", listed, one, create_form(first=False), class_="budget-desk")
    return _inside(shown, *([] if news is None else [news]), element("h2", f"{number} in ", place), desk)


def _inside(shown: str, *content: str) -> Html:
    """Parts whose requests are about this ledger. JSON of ASCII alone is left as it is on its way into an attribute."""
    return element("div", *content, hx_vals=json.dumps({"ledger": shown}))


# --- all datasets -----------------------------------------------------------------------------------------------------


def _datasets(statements: Sequence[Statement], chosen: str) -> Html:
    listed = statements[: limits.LEDGER_DATASETS]
    rows = [element("li", _row(statement, statement.budget.dataset == chosen)) for statement in listed]
    parts = [element("ul", *rows, class_="budget-list", aria_label="Datasets")]
    if len(listed) < len(statements):
        parts.append(_by_name(len(statements) - len(listed)))
    return joined(*parts)


def _row(statement: Statement, chosen: bool) -> Html:
    budget = statement.budget
    used = f"{100.0 * float(min(used_share(statement), Fraction(1))):.2f}%"
    bar = element("svg", element("rect", class_="spend", width=used, height="100%"))
    current = {"aria_current": "true"} if chosen else {}
    return element(
        "button",
        element("b", isolated(cut(budget.dataset))),
        element("span", f"left{period_words(statement.period)}: {left_of(statement)}, of {budget.amount}", class_="quiet"),
        element("span", bar, class_="mini-bar", aria_hidden="true"),
        type="button",
        hx_post="/budget/dataset",
        hx_target="#budget-one",
        hx_sync="closest .budget-list:replace",
        hx_vals=json.dumps({"dataset": budget.dataset}),
        **current,
    )


def used_share(statement: Statement) -> Fraction:
    """Return how much of a budget is used: of its ε or of its δ, whichever is nearer its end; with a filter, by whichever rule
    allows more.
    """
    budget, spent = statement.budget, statement.spent
    by_sum = spent.epsilon / budget.total.epsilon
    if budget.filter is not None and statement.divergence is not None:
        return min(by_sum, statement.divergence / budget.filter.limit)
    return max(by_sum, spent.delta / budget.total.delta) if budget.total.delta else by_sum


def _by_name(more: int) -> Html:
    """A ledger with very many datasets: one that is not listed is named."""
    label = element("label", f"{more:,} more are not listed: open one by its name", for_="budget-named")
    field = void("input", id="budget-named", name="dataset", type="text", autocomplete="off")
    sent = {"hx_post": "/budget/dataset", "hx_target": "#budget-one"}
    return element("form", label, field, element("button", "Open", type="submit"), class_="budget-named", **sent)


# --- one dataset ------------------------------------------------------------------------------------------------------


def dataset_view(ledger: Ledger, shown: str, dataset: str) -> Html:
    """The card of a dataset and its latest spends. The page remembers which it is for when the ledger is read again."""
    budget, most = ledger.budget(dataset), limits.LEDGER_SPENDS
    periods = ledger.periods(dataset)
    if budget.every is not None and not periods:
        (statement,) = statements_of(budget, ())
    else:
        statement = ledger.statement(dataset, latest=most, period=str(periods[-1].period) if periods else None)
    name = budget.dataset
    remembered = void("input", id="budget-chosen", name="dataset", type="hidden", value=name, hx_swap_oob="true")
    card = budget_card(statement, place="budget-screen")
    lines = ledger.history(dataset) if periods else ()
    every = replace(statement, latest=lines[-most:], spends=len(lines)) if periods else statement
    parts = card, _paying(budget, shown), *_periods(budget, periods), _spends(every), same_dataset(shown, name, budget.every), remembered
    return joined(*parts)


def _periods(budget: Budget, periods: Sequence[Statement]) -> list[Html]:
    """Show the spends in each period and what is left of it, the latest ones first, and what those lose who stay."""
    if not periods:
        return []
    rows = [table_row(str(one.period), str(one.spent), left_of(one)) for one in reversed(periods[-limits.LEDGER_SPENDS :])]
    words = f"{staying(budget, periods)[:1].upper()}{staying(budget, periods)[1:]}."
    return [table(words, (str(budget.every).title(), "Spent", "Left"), rows, class_="budget-spends")]


def _paying(budget: Budget, shown: str) -> Html:
    """The way to the form of a release that this budget pays for, filled in as far as the budget decides it."""
    public = "nothing" if budget.neighbours == Relation.ADD_REMOVE_ONE else "total"
    filled = json.dumps({"ledger": shown, "dataset": budget.dataset, "public": public})
    return element("p", element("button", "Release something from this budget", type="button", data_release=filled), class_="onward")


def _spends(statement: Statement) -> Html:
    if not statement.latest:
        return element("p", "Nothing has been spent of it yet.", class_="quiet budget-spends")
    words = "What has been spent, latest first"
    if statement.spends > len(statement.latest):
        words = f"The latest {len(statement.latest):,} of {statement.spends:,} spends, latest first; the command below lists all of them"
    rows = [_spend_row(statement.budget, line) for line in reversed(statement.latest)]
    return table(words, ("Day (UTC)", "Release", "Charged"), rows, class_="budget-spends")


def _spend_row(budget: Budget, line: Spend) -> Html:
    note = [element("span", isolated(line.note))] if line.note else []
    what = described(line.description) or cut(plain(line.mechanism))
    release = [*note, *([element("span", what, class_="quiet")] if what else [])]
    charged = [element("b", f"{line.loss}{period_words(line.period)}")]
    why = why_more(budget, line)
    if why:
        own = f"for its own {line.guarantee} (to {line.step}), as two steps: {why}"
        charged.append(element("span", own, class_="quiet"))
    if line.divergence is not None:
        charged.append(element("span", f"divergence {float(line.divergence):.4g}", class_="quiet"))
    when = joined(str(line.day), element("span", f"no. {line.number}", class_="quiet"))
    return table_row(when, joined(*release) or "–", joined(*charged))


def described(description: Mapping[str, object]) -> str:
    """A mechanism in a few words: its name, what is public about n, and the table it is of. Whatever else is there is left out."""
    if not isinstance(description, Mapping) or "mechanism" not in description:
        return ""
    words = [cut(plain(description["mechanism"]))]
    of_table = description.get("table")
    if isinstance(of_table, Mapping):
        words.append(f"table of {cut(plain(of_table.get('groups')))} groups")
    elif isinstance(description.get("n"), int):
        words.append(f"n = {description['n']:,}")
    return ", ".join(words)


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


def ledger_field(value: str, **attributes: str) -> Html:
    """Make the field for the ledger; what is shown in it has no password."""
    return void(
        "input",
        id="budget-ledger",
        name="ledger",
        type="text",
        value=value,
        spellcheck="false",
        autocomplete="off",
        autocapitalize="off",
        aria_describedby="budget-ledger-hint budget-ledger-error",
        **attributes,
    )


def _error(name: str) -> Html:
    return element("p", id=f"budget-{name}-error", class_="error", aria_live="polite")


# --- a new dataset ----------------------------------------------------------------------------------------------------


def create_form(*, first: bool) -> Html:
    """A form for a dataset. Its key makes a second request of the same form no second dataset."""
    key = void("input", type="hidden", name="request", value=token_urlsafe(16))
    fields = [
        rows("budget", BudgetRequest, DATASET_PART),
        element("div", rows("budget", BudgetRequest, COLUMNS_PART), class_="by"),
        element("details", element("summary", MANY_PART), rows("budget", BudgetRequest, MANY_PART)),
    ]
    button = element("button", "Create the dataset", type="submit", class_="primary")
    act = element("div", button, element("p", "A budget cannot be changed later.", class_="hint"), class_="act")
    sent = {"hx_post": "/budget/create", "hx_target": "#budget-answer", "hx_sync": "this:drop", "hx_disabled_elt": "find .primary"}
    form = element("form", key, *fields, act, _error("create"), id="budget-create", novalidate="", autocomplete="off", **sent)
    if first:
        return element("section", element("h2", "The first dataset"), form, class_="budget-new")
    return element("details", element("summary", "Add a dataset"), form, class_="budget-new")
