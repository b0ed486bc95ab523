"""What was typed into the forms of each tab: in memory alone, so that a reload shows it again and no disk holds it."""

from collections import OrderedDict
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.web.forms import typed

_FORMS = 128
"""Forms, of all tabs, of which is kept what was typed."""


class Drafts:
    """The fields of the forms that were typed into last. A password in the place of a ledger is not shown again."""

    def __init__(self) -> None:
        self._fields: OrderedDict[tuple[str, str], Mapping[str, str]] = OrderedDict()

    def keep(self, tab: str, form: str, fields: Mapping[str, str]) -> None:
        """Keep what stands in a form of a tab."""
        self._fields[tab, form] = fields
        self._fields.move_to_end((tab, form))
        while len(self._fields) > _FORMS:
            self._fields.popitem(last=False)

    def of(self, request: Request, form: str) -> dict[str, str]:
        """What was typed into a form of the tab that asks; nothing if it was not touched."""
        return dict(self._fields.get((_tab(request), form), {}))


def _tab(request: Request) -> str:
    return request.headers.get("X-Discreet-Tab", "")[:64]


async def _typed(request: Request) -> Response:
    fields, state = await typed(request), request.app.state
    hidden = {"ledger": state.ledgers.shown(fields["ledger"])} if fields.get("ledger") else {}
    state.drafts.keep(_tab(request), request.path_params["form"][:64], fields | hidden)
    return Response(status_code=204)


ROUTES = [Route("/typed/{form}", _typed, methods=["POST"])]
