"""The application: the page, its own files, and what each screen answers."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from discreet.web import access, drafts
from discreet.web.budget import routes as budget_screen
from discreet.web.forms import HANDLERS
from discreet.web.ledgers import Ledgers
from discreet.web.plan import routes as plan_screen
from discreet.web.read import routes as read_screen
from discreet.web.release import routes as release_screen
from discreet.web.release.context import ReleaseContext
from discreet.web.release.store import Store, default_folder
from discreet.web.turns import Turns
from discreet.web.uploads import Uploads

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
    routes = [*_files(), *access.ROUTES, *drafts.ROUTES, *(route for screen in screens for route in screen.ROUTES)]
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    app.state.keys = keys
    app.state.drafts = drafts.Drafts()
    app.state.turns = Turns()
    app.state.quick_turns = Turns()
    app.state.records = read_screen.Opened()
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
