"""The screen on which a steward keeps budgets: a ledger is opened, its datasets are seen, and new ones are created."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from anyio import CapacityLimiter, Lock, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError, InvalidInputError
from discreet.ledger.budgets import Loss
from discreet.present.html import Html, element, isolated, joined
from discreet.requests.budget import BudgetRequest
from discreet.requests.fields import FieldContext, WrongError, labelled
from discreet.web.budget.view import dataset_view, ledger_field, ledger_view, same_creation
from discreet.web.forms import KEEP_SHOWN, messages, typed
from discreet.web.parts import written
from discreet.web.state import Ledgers, opened_ledger

_AT_ONCE = 8
"""Ledgers that are read at the same time: a database that does not answer must not keep the rest of the page waiting."""
_CREATIONS = 256
"""Requests to create a dataset that are remembered."""

_Value = TypeVar("_Value")


class Budgets:
    """The page's ledgers, and the requests to create a dataset that were carried out already."""

    def __init__(self, ledgers: Ledgers) -> None:
        self.ledgers = ledgers
        self._limiter = CapacityLimiter(_AT_ONCE)
        self._created: OrderedDict[object, BudgetRequest] = OrderedDict()
        self._lock = Lock()

    async def read(self, compute: Callable[[], _Value]) -> _Value:
        """Compute something from a ledger, in a thread."""
        return await to_thread.run_sync(compute, limiter=self._limiter)

    async def create(self, location: str, fields: Mapping[str, str]) -> BudgetRequest:
        """Create a dataset in a ledger, once for every form that is sent, however often it is."""
        form = location, tuple(sorted(fields.items()))
        async with self._lock:
            if not fields.get("request") or form not in self._created:
                self._created[form] = await self.read(lambda: _created(location, fields))
            while len(self._created) > _CREATIONS:
                self._created.popitem(last=False)
            return self._created[form]


def _created(location: str, fields: Mapping[str, str]) -> BudgetRequest:
    """Create a dataset, which then has the name under which the ledger keeps it."""
    new = BudgetRequest.read(fields, "form", {"dataset": _check_name})
    with opened_ledger(location) as ledger:
        return replace(new, dataset=new.created(ledger, new.dataset or "").dataset)


def _check_name(name: str | None, _: FieldContext) -> None:
    if not name:
        raise InvalidInputError("the dataset needs a name, such as survey 2024")


# --- answers ----------------------------------------------------------------------------------------------------------


async def _opening(request: Request) -> Response:
    """The screen before a ledger is open; the one that the page begins with is opened at once."""
    default = request.app.state.budgets.ledgers.default
    return HTMLResponse(written("budget").replace("LOAD", "load, " if default else "").replace("FIELD", ledger_field(default)))


async def _opened(request: Request) -> Response:
    fields, budgets = await typed(request), request.app.state.budgets
    given = fields.get("ledger", "")
    location = budgets.ledgers.location(given)
    try:
        if not given:
            raise InvalidInputError("name the ledger: a file, such as ledger.db, or a database URL")
        found = await budgets.read(lambda: _view(location, budgets.ledgers.shown(location), fields.get("dataset", "")))
    except DiscreetError as error:
        return HTMLResponse(messages("budget", ["ledger"], {"ledger": str(error)}))
    shown = budgets.ledgers.shown(location)
    field = [ledger_field(shown, hx_swap_oob="true")] if shown != given else []
    return HTMLResponse(joined(found, *field, messages("budget", ["ledger"], {})))


def _view(location: str, shown: str, dataset: str, news: Html | None = None) -> Html:
    with opened_ledger(location) as ledger:
        return ledger_view(ledger, shown, dataset, news)


async def _dataset(request: Request) -> Response:
    fields, budgets = await typed(request), request.app.state.budgets
    location = budgets.ledgers.location(fields.get("ledger", ""))

    def view() -> Html:
        with opened_ledger(location) as ledger:
            return dataset_view(ledger, budgets.ledgers.shown(location), fields.get("dataset", ""))

    return HTMLResponse(await budgets.read(view))


async def _create(request: Request) -> Response:
    fields, budgets = await typed(request), request.app.state.budgets
    location = budgets.ledgers.location(fields.get("ledger", ""))
    shown = budgets.ledgers.shown(location)
    try:
        new = await budgets.create(location, fields)
        found = await budgets.read(lambda: _view(location, shown, new.dataset or "", _news(shown, new)))
    except WrongError as error:
        return _wrong(error.by_field)
    except InvalidInputError as error:  # of a name that cannot be taken: all else was looked at before
        return _wrong({"dataset": str(error)})
    except DiscreetError as error:
        return _wrong({"create": str(error)})
    return HTMLResponse(found)


def _wrong(by_field: Mapping[str, str]) -> Response:
    return HTMLResponse(messages("budget", [*labelled(BudgetRequest), "create"], by_field), headers=KEEP_SHOWN)


def _news(shown: str, new: BudgetRequest) -> Html:
    words = element(
        "p",
        element("b", isolated(new.dataset or "")),
        f" was created, with {Loss(new.epsilon, new.delta)}. Releases can be charged to it now.",
    )
    return element("div", words, same_creation(shown, new), class_="budget-news", role="status", tabindex="-1")


ROUTES = [
    Route("/budget", _opening),
    Route("/budget/open", _opened, methods=["POST"]),
    Route("/budget/dataset", _dataset, methods=["POST"]),
    Route("/budget/create", _create, methods=["POST"]),
]
