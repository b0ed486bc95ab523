"""The screen on which a steward plans: no data are asked for and none are seen."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.commands.html import element


async def _opened(_: Request) -> Response:
    return HTMLResponse(element("h1", "Plan"))


ROUTES = [Route("/plan", _opened)]
