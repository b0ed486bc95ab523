"""Forms that were sent: what was typed, what is kept of it for a reload, and the messages beside fields that are wrong."""

import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet import limits
from discreet.errors import DiscreetError
from discreet.present.html import Html, element, joined
from discreet.requests.fields import WrongError, spoken
from discreet.requests.release import ReleaseRequest
from discreet.web.access import TooLongError
from discreet.web.state import GoneError, SupersededError

_Value = TypeVar("_Value")
_MOST_FORM_FIELDS = 200
"""The most fields of a request: more than any form of the page has."""
_LONGEST_NAME_SENT = 4000
"""Characters of a header in which a file's name is sent: an address writes some of a name's as nine."""
KEEP_SHOWN = {"HX-Reswap": "none"}
"""The header of an answer with which what is shown stays, but for the messages beside the fields."""


def name_sent(request: Request) -> str:
    """Return the name of the file that is the body of a request: a header says it, written as in an address."""
    return unquote(request.headers.get("X-Discreet-Name", "")[:_LONGEST_NAME_SENT])


async def typed(request: Request) -> dict[str, str]:
    """The fields of a form by their names; one that was sent twice has its last value."""
    body = await request.body()
    if len(body) > limits.FORM_BYTES:
        raise TooLongError
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FORM_FIELDS)
    except ValueError:
        return {}
    return {name: value.strip() for name, value in pairs}


def tab_of(request: Request) -> str:
    """Return the name that a tab of the page has given itself."""
    return request.headers.get("X-Discreet-Tab", "")[:64]


@contextmanager
def field(name: str) -> Iterator[None]:
    """Whatever is refused inside is said beside this field."""
    try:
        yield
    except DiscreetError as error:
        raise WrongError({name: str(error)}) from None


def messages(screen: str, fields: Iterable[str], wrong: Mapping[str, str]) -> Html:
    """The places beside the fields of a screen, which are in the page already: empty, or with what is wrong."""
    return joined(
        *(
            element("p", wrong.get(name, ""), id=f"{screen}-{name}-error", class_="error", hx_swap_oob="true", aria_live="polite")
            for name in fields
        )
    )


def in_page(error: DiscreetError) -> str:
    """Return an error's message, with the labels of the release's fields in place of the shell's options."""
    return spoken(error.in_shell, ReleaseRequest, "form")


def one_line(error: DiscreetError) -> str:
    """Return an error's message as a command says it."""
    return " ".join(error.in_shell.splitlines())


def file_route(path: str, make: Callable[[Request, Mapping[str, str]], Awaitable[bytes]]) -> Route:
    """The route of a file that the page saves; why there is none is said with a status that keeps the page from saving it."""

    async def answer(request: Request) -> Response:
        try:
            content = await make(request, await typed(request))
        except WrongError as error:
            return HTMLResponse(element("p", " ".join(error.by_field.values()), class_="error"), status_code=422)
        except DiscreetError as error:
            status = 410 if isinstance(error, GoneError) else 422
            return HTMLResponse(element("p", one_line(error), class_="error"), status_code=status)
        return Response(content, media_type="application/octet-stream", headers={"Content-Disposition": "attachment"})

    return Route(path, answer, methods=["POST"])


async def _refused(request: Request, error: Exception) -> Response:
    """Say what is refused where the answer would have been."""
    if not isinstance(error, DiscreetError):
        raise error
    said = in_page(error) if request.url.path.startswith("/release/") else one_line(error)
    return HTMLResponse(element("p", said, class_="error"))


async def _superseded(_: Request, __: Exception) -> Response:
    """Show nothing: the answer to the newer question will be shown."""
    return Response(status_code=204)


async def _too_long(_: Request, __: Exception) -> Response:
    return HTMLResponse(element("p", "This is longer than the page takes.", class_="error"), status_code=413)


async def _failed(_: Request, error: Exception) -> Response:
    """The answer where something went wrong that is nobody's input: of what kind it was is said on the terminal."""
    sys.stderr.write(f"discreet explore: a part of the page failed with {type(error).__name__}\n")
    return HTMLResponse(element("p", "This part could not be computed. The terminal says more.", class_="error"), status_code=500)


HANDLERS = {DiscreetError: _refused, SupersededError: _superseded, TooLongError: _too_long, Exception: _failed}
"""The handlers of errors that reach the application."""


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
