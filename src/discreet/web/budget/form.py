"""The fields of the screen for budgets: where the ledger is, and a new dataset."""

from secrets import token_urlsafe

from discreet.present.html import Html, element, void
from discreet.requests.budget import COLUMNS_PART, DATASET_PART, MANY_PART, BudgetRequest
from discreet.web.form_fields import rows

_LEDGER_HINT = (
    "A file, such as ledger.db, or postgresql://user@host/database. For a new ledger, type the name of a new file. Keep "
    "a password in ~/.pgpass or in PGPASSWORD; one that is typed here "
    "is used, and not shown again."
)


def opening(default: str) -> Html:
    """The screen before a ledger is open; the one that the page begins with is opened at once."""
    head = element(
        "header",
        element("h1", "Keep a budget"),
        element(
            "p",
            "Every release about the same people uses up some of their privacy. A ledger says how much may ever be spent on a dataset, "
            "and what has been.",
            class_="lead",
        ),
        class_="budget-head",
    )
    button = element("button", "Open", type="submit", class_="primary")
    row = element("div", ledger_field(default), button, class_="budget-open")
    hint = element("p", _LEDGER_HINT, class_="hint", id="budget-ledger-hint")
    chosen = void("input", id="budget-chosen", name="dataset", type="hidden", value="")
    form = element(
        "form",
        element("label", "Ledger", for_="budget-ledger"),
        row,
        hint,
        _error("ledger"),
        chosen,
        id="budget-form",
        hx_post="/budget/open",
        hx_trigger="load, submit, refresh" if default else "submit, refresh",
        hx_target="#budget-answer",
        hx_sync="this:replace",
        autocomplete="off",
        novalidate="",
    )
    return element("div", head, form, element("div", id="budget-answer", class_="budget-answer"), class_="budget")


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
