"""The text of forms, by tab or by a key in the address: in memory alone, so that a reload shows it again and no disk holds it."""

from collections import OrderedDict
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.web.forms import tab_of, typed

_MOST_FORMS = 128
"""Forms, of all tabs, of which is kept what was typed."""


class Drafts:
    """The fields of the forms that were typed into last. A password in the place of a ledger is not shown again."""

    def __init__(self) -> None:
        self._fields: OrderedDict[tuple[str, str], Mapping[str, str]] = OrderedDict()

    def keep(self, owner: str, form: str, fields: Mapping[str, str]) -> None:
        """Keep what stands in a form of a tab, or in one that has a key."""
        self._fields[owner, form] = fields
        self._fields.move_to_end((owner, form))
        while len(self._fields) > _MOST_FORMS:
            self._fields.popitem(last=False)

    def of(self, request: Request, form: str, key: str = "") -> dict[str, str]:
        """Return what was typed into a form that has this key, or else of the tab that asks; nothing if it was not touched."""
        return dict(self._fields.get((key or tab_of(request), form), {}))


async def _typed(request: Request) -> Response:
    fields, state = await typed(request), request.app.state
    hidden = {"ledger": state.ledgers.shown(fields["ledger"])} if fields.get("ledger") else {}
    state.drafts.keep(fields.get("key", "")[:64] or tab_of(request), request.path_params["form"][:64], fields | hidden)
    return Response(status_code=204)


ROUTES = [Route("/typed/{form}", _typed, methods=["POST"])]
