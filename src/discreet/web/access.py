"""Checks of who may ask the page's server: docs/howto/explore.md says against whom each of them stands."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from secrets import compare_digest, token_urlsafe

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet import limits

TOKEN_HEADER = "X-Discreet-Token"  # noqa: S105 - the name of the header, not what is in it
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


_OPEN_POSTS = frozenset(("/access/redeem", "/access/proof"))
"""Paths that are answered without the token: the way to it, and the proof that this server has it."""
_LONGEST_CODE = 200
"""Bytes of a code or of a challenge."""
_SECRET_BYTES = 32
_MOST_CODES = 1000
_RELOAD_SECONDS = 30
"""The seconds for which a page's code for its own reload is valid: the page renews it until it is left."""
ADDRESS_SECONDS = 3600
"""The seconds for which an address that is printed or opened is valid."""


class TooLongError(Exception):
    """A request's body is longer than any that the page sends."""


class Keys:
    """The token that every request of the page carries, and the codes that are redeemed for it, once each.

    A browser writes addresses and what pages store to the disk. So an address holds a code, which is worth nothing once its page was
    opened, and the token is in the memory of the server and of the page alone.
    """

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.host = host
        self._clock = clock
        self.token = token_urlsafe(_SECRET_BYTES)
        self._codes: OrderedDict[str, float] = OrderedDict()

    def code(self, seconds: float) -> str:
        """A new code, which is worth the token for so many seconds."""
        code = token_urlsafe(_SECRET_BYTES)
        self._codes[code] = self._clock() + seconds
        while len(self._codes) > _MOST_CODES:
            self._codes.popitem(last=False)
        return code

    def redeem(self, code: str) -> bool:
        """Return whether a code is worth the token. It is worth nothing afterwards."""
        return self._codes.pop(code, 0.0) > self._clock()

    def proof(self, challenge: bytes) -> str:
        """Return the answer to a challenge that only this server and its pages can give."""
        return hmac.new(self.token.encode(), f"{self.host} ".encode() + challenge, "sha256").hexdigest()


class Guard:
    """An application behind its checks: only its own page, on this machine, with the token, is answered.

    `open_paths` are answered without a token: the page itself and its scripts and styles, which a browser asks for before any script
    can add a header, and which say nothing.
    """

    def __init__(self, app: ASGIApp, *, keys: Keys, open_paths: frozenset[str]) -> None:
        self._app = app
        self._token = keys.token
        self._host = keys.host
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        await self._app(scope, _bounded(receive), send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """The answer to a request that is not the page's own; None if it is."""
        if scope["type"] != "http":
            return PlainTextResponse("only http is spoken here", 403)
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self._host]:
            return PlainTextResponse("this server answers to its own address alone", 403)
        origins = headers.getlist("origin")
        if origins not in ([], [f"http://{self._host}"]) or (not origins and scope["method"] not in ("GET", "HEAD")):
            return PlainTextResponse("this server answers to its own page alone", 403)
        if scope["path"] in self._open_paths and scope["method"] in ("GET", "HEAD"):
            return None
        if scope["path"] in _OPEN_POSTS and scope["method"] == "POST":
            return None
        given = headers.getlist(TOKEN_HEADER)
        if len(given) != 1 or not compare_digest(given[0].encode(), self._token.encode()):
            return PlainTextResponse("the page has no token: use a new address of `discreet explore`", 403)
        return None


def _bounded(receive: Receive) -> Receive:
    """The parts of a body, up to `limits.REQUEST_BYTES` of them in all."""
    taken = 0

    async def receive_bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limits.REQUEST_BYTES:
            raise TooLongError
        return message

    return receive_bounded


async def _short(request: Request) -> bytes:
    """A body of a few bytes, which anyone may send."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_CODE:
            raise TooLongError
    return body


async def _redeem(request: Request) -> Response:
    keys: Keys = request.app.state.keys
    if not keys.redeem((await _short(request)).decode(errors="replace")):
        return PlainTextResponse("this code was used before, or is too old", 403)
    return PlainTextResponse(keys.token)


async def _proof(request: Request) -> Response:
    keys: Keys = request.app.state.keys
    return PlainTextResponse(keys.proof(await _short(request)))


async def _code(request: Request) -> Response:
    """A new code in place of the one that the page has had so far."""
    keys: Keys = request.app.state.keys
    keys.redeem((await _short(request)).decode(errors="replace"))
    return PlainTextResponse(keys.code(_RELOAD_SECONDS))


ROUTES = [
    Route("/access/redeem", _redeem, methods=["POST"]),
    Route("/access/proof", _proof, methods=["POST"]),
    Route("/access/code", _code, methods=["POST"]),
]
