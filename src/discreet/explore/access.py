"""Who may ask the page's server: docs/explore.md says against whom each check stands."""

from secrets import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
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


class TooLongError(Exception):
    """A request's body is longer than any that the page sends."""


class Guard:
    """An application behind its checks: only its own page, on this machine, with the token, is answered.

    `open_paths` are answered without a token: the page itself and its scripts and styles, which a browser asks for before any script
    can add a header, and which say nothing.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, open_paths: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._host = f"127.0.0.1:{port}"
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
        given = headers.getlist(TOKEN_HEADER)
        if len(given) != 1 or not compare_digest(given[0].encode(), self._token.encode()):
            return PlainTextResponse("the page was opened without its token: use the address that `discreet explore` printed", 403)
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
