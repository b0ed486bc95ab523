"""The application: the page, its own files, and what each screen answers."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from discreet.explore import budget_screen, plan_screen, read_screen, release_screen
from discreet.explore.access import Guard
from discreet.explore.forms import HANDLERS
from discreet.explore.ledgers import Ledgers
from discreet.explore.release_desk import Desk
from discreet.explore.release_store import Store, default_folder
from discreet.explore.turns import Turns
from discreet.explore.uploads import Uploads

_FILES = {
    "/": ("explore", "static/index.html", "text/html"),
    "/report.css": ("commands", "page.css", "text/css"),
    "/style.css": ("explore", "static/style.css", "text/css"),
    "/plan.css": ("explore", "static/plan.css", "text/css"),
    "/plan.js": ("explore", "static/plan.js", "text/javascript"),
    "/read.css": ("explore", "static/read.css", "text/css"),
    "/read.js": ("explore", "static/read.js", "text/javascript"),
    "/release.css": ("explore", "static/release.css", "text/css"),
    "/release.js": ("explore", "static/release.js", "text/javascript"),
    "/budget.css": ("explore", "static/budget.css", "text/css"),
    "/budget.js": ("explore", "static/budget.js", "text/javascript"),
    "/page.js": ("explore", "static/page.js", "text/javascript"),
    "/htmx.min.js": ("explore", "static/htmx.min.js", "text/javascript"),
}
"""The files of the page, which are the same for everyone; no other file is ever read for an answer."""


def application(token: str, port: int, private: Path, ledger: str | None = None) -> ASGIApp:
    """The whole of it, behind its checks.

    `private` is a folder that nobody else can read, and that goes with the process. `ledger` is the one that the screens begin with, a path
    or a URL.
    """
    routes = [*_files(), *plan_screen.ROUTES, *release_screen.ROUTES, *budget_screen.ROUTES, *read_screen.ROUTES]
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    app.state.turns = Turns()
    app.state.quick_turns = Turns()
    app.state.records = read_screen.Opened()
    app.state.ledgers = Ledgers(ledger)
    app.state.desk = Desk(Store(default_folder()), Uploads(private), app.state.ledgers)
    app.state.budgets = budget_screen.Budgets(app.state.ledgers)
    return Guard(app, token=token, port=port, open_paths=frozenset(_FILES))


def _files() -> Iterable[Route]:
    for path, (package, name, kind) in _FILES.items():
        content = resources.files(f"discreet.{package}").joinpath(name).read_bytes()

        async def answer(_: Request, content: bytes = content, kind: str = kind) -> Response:
            return Response(content, media_type=kind)

        yield Route(path, answer)
