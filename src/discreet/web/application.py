"""The page and its server: on this machine alone, at an address whose code only the one who started it learns."""

import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from discreet.data.engines import remove_own, scratch_directory
from discreet.errors import InvalidInputError
from discreet.web import access, forms
from discreet.web.access import ADDRESS_SECONDS, Keys
from discreet.web.budget import routes as budget_screen
from discreet.web.plan import routes as plan_screen
from discreet.web.read import routes as read_screen
from discreet.web.release import routes as release_screen
from discreet.web.release.context import ReleaseContext
from discreet.web.release.store import Store, default_folder
from discreet.web.state import Ledgers, Opened, Turns, Uploads

_FILES = {
    "/": ("web", "static/index.html", "text/html"),
    "/report.css": ("present", "page.css", "text/css"),
    "/style.css": ("web", "static/style.css", "text/css"),
    "/plan.css": ("web", "static/plan.css", "text/css"),
    "/plan.js": ("web", "static/plan.js", "text/javascript"),
    "/read.css": ("web", "static/read.css", "text/css"),
    "/read.js": ("web", "static/read.js", "text/javascript"),
    "/release.css": ("web", "static/release.css", "text/css"),
    "/release.js": ("web", "static/release.js", "text/javascript"),
    "/budget.css": ("web", "static/budget.css", "text/css"),
    "/budget.js": ("web", "static/budget.js", "text/javascript"),
    "/access.js": ("web", "static/access.js", "text/javascript"),
    "/page.js": ("web", "static/page.js", "text/javascript"),
    "/htmx.min.js": ("web", "static/htmx.min.js", "text/javascript"),
}
"""The files of the page, which are the same for everyone; no other file is ever read for an answer."""


def application(keys: access.Keys, private: Path, ledger: str | None = None) -> ASGIApp:
    """The whole of it, behind its checks.

    `private` is a folder that nobody else can read, and that goes with the process. `ledger` is the one that the screens begin with, a path
    or a URL.
    """
    screens = plan_screen, release_screen, budget_screen, read_screen
    routes = [*_files(), *access.ROUTES, *forms.ROUTES, *(route for screen in screens for route in screen.ROUTES)]
    app = Starlette(routes=routes, exception_handlers=forms.HANDLERS)
    app.state.keys = keys
    app.state.drafts = forms.Drafts()
    app.state.turns = Turns()
    app.state.quick_turns = Turns()
    app.state.records = Opened()
    app.state.ledgers = Ledgers(ledger)
    app.state.desk = ReleaseContext(Store(default_folder()), Uploads(private), app.state.ledgers)
    app.state.budgets = budget_screen.Budgets(app.state.ledgers)
    return access.Guard(app, keys=keys, open_paths=frozenset(_FILES))


def _files() -> Iterable[Route]:
    for path, (package, name, kind) in _FILES.items():
        content = resources.files(f"discreet.{package}").joinpath(name).read_bytes()

        async def answer(_: Request, content: bytes = content, kind: str = kind) -> Response:
            return Response(content, media_type=kind)

        yield Route(path, answer)


_ADDRESS = "127.0.0.1"
_FIRST_PORT, _LAST_PORT = 1024, 65535
_WAITING = 64
"""Connections that wait to be taken up."""


def serve(port: int | None, *, browser: bool, ledger: str | None = None) -> None:
    """Answer until interrupted. Without a port, any that is free. `ledger` is the one that the page begins with."""
    listener = _listener(port)
    keys = Keys(f"{_ADDRESS}:{listener.getsockname()[1]}")
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    with listener, scratch_directory() as private:
        config = uvicorn.Config(
            application(keys, Path(private), ledger),
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        address = _address(keys)
        more = _prints_addresses(keys)
        sys.stdout.write(f"discreet explore is at {address}\n{more}Press Ctrl+C to end it.\n")
        sys.stdout.flush()
        if browser:
            webbrowser.open(_door(Path(private), address).as_uri())
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            sys.stdout.write("\nended\n")
            sys.stdout.flush()
    remove_own()
    os._exit(0)  # a thread may still compute what nobody waits for


def _listener(port: int | None) -> socket.socket:
    if port is not None and not _FIRST_PORT <= port <= _LAST_PORT:
        raise InvalidInputError(
            f"--port must be a whole number from {_FIRST_PORT} to {_LAST_PORT}, got {port}; leave it out for any that is free"
        )
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_ADDRESS, port or 0))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise InvalidInputError(
            f"port {port} cannot be used ({error.strerror}); give another --port, or none for any that is free"
        ) from None
    return listener


def _address(keys: Keys) -> str:
    """Return the address of the page, with a code that opens it once."""
    return f"http://{keys.host}/#{keys.code(ADDRESS_SECONDS)}"


def _prints_addresses(keys: Keys) -> str:
    """Print, at a terminal, a new address whenever Enter is pressed: a tab that was closed took its own along. Return what is said about
    it.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        return ""
    if hasattr(signal, "SIGTTIN"):
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background reading fails, and does not stop the server

    def wait() -> None:
        with suppress(OSError, ValueError):
            while sys.stdin.readline():
                sys.stdout.write(f"{_address(keys)}\n")
                sys.stdout.flush()

    Thread(target=wait, daemon=True).start()
    return "This address opens one tab. Press Enter for another one.\n"


def _door(private: Path, address: str) -> Path:
    """A file that only its owner can read, and that leads a browser to the page.

    A browser is started with an address that every user of the machine can see in the list of processes: it is that of the file. The file
    is in a folder that the next start removes if this process is killed; what it holds is worth nothing once the page was opened.
    """
    door = private / "explore.html"
    descriptor = os.open(door, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">\n')
    return door


def _leave(*_: Any) -> None:
    """End as if interrupted, so that the file goes away."""
    raise KeyboardInterrupt
