"""Forms that were sent, and the messages beside fields that are wrong."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from discreet import limits
from discreet.errors import DiscreetError
from discreet.present.html import Html, element, joined
from discreet.requests.fields import WrongError
from discreet.web.access import TooLongError
from discreet.web.turns import SupersededError

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


async def _superseded(_: Request, __: Exception) -> Response:
    """Show nothing: the answer to the newer question will be shown."""
    return Response(status_code=204)


async def _too_long(_: Request, __: Exception) -> Response:
    return HTMLResponse(element("p", "This is longer than the page takes.", class_="error"), status_code=413)


async def _failed(_: Request, error: Exception) -> Response:
    """The answer where something went wrong that is nobody's input: of what kind it was is said on the terminal."""
    sys.stderr.write(f"discreet explore: a part of the page failed with {type(error).__name__}\n")
    return HTMLResponse(element("p", "This part could not be computed. The terminal says more.", class_="error"), status_code=500)


HANDLERS = {SupersededError: _superseded, TooLongError: _too_long, Exception: _failed}
"""The handlers of errors that reach the application."""
