"""The screen on which a reader reads a record, which is public."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.commands.html import element


class Opened:
    """The records that were opened, of which the last few are kept."""


async def _opened(_: Request) -> Response:
    return HTMLResponse(element("h1", "Read"))


ROUTES = [Route("/read", _opened)]
