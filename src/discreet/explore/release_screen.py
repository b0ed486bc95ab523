"""The screen on which records are counted and a posterior is released: looked at, confirmed once, and fetched as often as wanted."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.commands.files import picture
from discreet.commands.html import Html, element, joined
from discreet.commands.options import LEDGER_VARIABLE
from discreet.commands.page import answered
from discreet.commands.page_rows import shares_of
from discreet.commands.report import page_content
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError, SourceError
from discreet.explore import read_view
from discreet.explore.forms import FieldError, WrongError, messages, typed
from discreet.explore.opened_records import read as read_record
from discreet.explore.release_once import State, draw_once, look, state
from discreet.explore.release_question import FIELDS, read
from discreet.explore.release_store import Asked, Store
from discreet.explore.release_view import charged, drawn, listed, looked, sent
from discreet.explore.uploads import Uploads, file_name
from discreet.ledger.ledger import Ledger
from discreet.record.release import Release

_FORM = resources.files("discreet.explore").joinpath("static/release.html").read_text("utf-8")
_LONGEST_NAME = 4000
_MASS = 0.95
_LISTED = 20
"""Releases that are listed: the last ones."""
_CHANGED = {"HX-Trigger": "release-changed"}


class Desk:
    """What the screen works with: where releases are kept, what was sent, and the ledger that it was started with."""

    def __init__(self, store: Store, uploads: Uploads, ledger: str | None) -> None:
        self.store = store
        self.uploads = uploads
        self._ledger = ledger
        self._sent: dict[str, str] = {}
        self.workers = CapacityLimiter(2)

    def source(self, asked: Asked, upload: str = "") -> Path | str:
        """Where the records of a question are: at their path, or where the copy that the browser sent was put."""
        if asked.fields.get("file"):
            return asked.fields["file"]
        if upload:
            self._sent[asked.key] = upload
        return self.uploads.path(self._sent.get(asked.key, ""))

    def sent_for(self, key: str) -> None:
        """The records of this question are not needed any more."""
        self.uploads.remove(self._sent.pop(key, ""))

    def named_ledger(self, text: str) -> Ledger:
        """The ledger of a form; without one, that which the page was started with."""
        location = text or self._ledger
        if not location:
            raise FieldError(
                "ledger", f"name a ledger: the path of its file, or the URL of a PostgreSQL database; {LEDGER_VARIABLE} names one for all"
            )
        try:
            found = Ledger(location)
        except DiscreetError as error:
            raise FieldError("ledger", str(error)) from None
        if text and _HIDDEN in found.location:
            raise FieldError(
                "ledger",
                f"a password would be kept on the disk: leave it out of the URL (~/.pgpass or PGPASSWORD give it), or start "
                f"the page with {LEDGER_VARIABLE}",
            )
        return found

    def kept_ledger(self, asked: Asked) -> Ledger:
        """The ledger that a question is charged to."""
        own = None if self._ledger is None else Ledger(self._ledger)
        if own is not None and own.location == asked.ledger:
            return own
        if _HIDDEN in asked.ledger:
            raise LedgerError(
                f"this release is charged to {asked.ledger}, whose password is not kept: start the page with {LEDGER_VARIABLE}"
            )
        return Ledger(asked.ledger)


_HIDDEN = ":***@"
"""How a location says that it has a password."""


def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


async def _opened(_: Request) -> Response:
    named = bool(os.environ.get(LEDGER_VARIABLE))
    placeholder = "the one the page was started with" if named else "ledger.db"
    return HTMLResponse(_FORM.replace("LEDGER-PLACEHOLDER", placeholder))


async def _upload(request: Request) -> Response:
    """A file is the body itself; its name comes in a header, in which it is written as in an address."""
    name = file_name(unquote(request.headers.get("X-Discreet-Name", "")[:_LONGEST_NAME]))
    size = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal size
        async for part in request.stream():
            size += len(part)
            yield part

    try:
        key = await _desk(request).uploads.take(name, parts())
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    return HTMLResponse(sent(key, name, size))


async def _look(request: Request) -> Response:
    desk, fields = _desk(request), await typed(request)

    def answer() -> Html:
        question = read(fields)
        ledger = desk.named_ledger(question["ledger"])
        upload = question["upload"]
        source = desk.uploads.path(upload) if upload else question["file"]
        kept = {**question.fields, **({"upload": desk.uploads.name(upload)} if upload else {})}
        for asked in [] if fields.get("again") else desk.store.same(kept, ledger.location):
            if asked.record is not None:
                return drawn(asked, Release.from_json(asked.record), again=True)
            if state(asked, ledger) == "charged":
                return charged(asked)
        found = look(question, source, ledger)
        asked = desk.store.ask(kept, ledger.location, found.described)
        if upload:
            desk.source(asked, upload)
        return looked(found, asked.key)

    try:
        shown = await to_thread.run_sync(answer, limiter=desk.workers)
    except WrongError as error:
        return _wrong(error.by_field)
    except FieldError as error:
        return _wrong({error.field: str(error)})
    except DiscreetError as error:
        return _wrong({_field_of(error): str(error)})
    return HTMLResponse(joined(shown, messages("release", FIELDS, {})), headers=_CHANGED)


def _field_of(error: DiscreetError) -> str:
    """The field beside which an error is said that is not about what was typed alone."""
    if isinstance(error, BudgetError | LedgerError):
        return "dataset"
    return "file" if isinstance(error, SourceError | InvalidInputError) else "mechanism"


def _wrong(by_field: Mapping[str, str]) -> Response:
    """What is wrong is said beside its field, and in one place above all, which takes the place of an earlier look."""
    told = "Nothing was charged. Something in the form is not right yet: it is said beside its field."
    return HTMLResponse(joined(element("p", told, class_="warn", role="status"), messages("release", FIELDS, by_field)))


async def _draw(request: Request) -> Response:
    desk, fields = _desk(request), await typed(request)
    key = fields.get("key", "")

    def once() -> Asked:
        asked = desk.store.find(key)
        if asked.record is not None:
            return asked
        found = draw_once(desk.store, key, desk.source(asked, fields.get("upload", "")), desk.kept_ledger(asked))
        desk.sent_for(key)
        return found

    try:
        asked = await to_thread.run_sync(once, limiter=desk.workers)
    except (DiscreetError, WrongError) as error:
        said = str(error) if isinstance(error, DiscreetError) else "the question is not one that this version of discreet takes"
        told = "It was not drawn: "
        return HTMLResponse(
            element("p", told, said, ". The list below says whether it was charged.", class_="warn", role="alert"), headers=_CHANGED
        )
    assert asked.record is not None  # noqa: S101
    return HTMLResponse(drawn(asked, Release.from_json(asked.record), again=False), headers=_CHANGED)


async def _listed(request: Request) -> Response:
    desk = _desk(request)

    def states() -> list[tuple[Asked, State]]:
        return [(asked, _state(desk, asked)) for asked in desk.store.every()[:_LISTED]]

    return HTMLResponse(listed(await to_thread.run_sync(states)))


def _state(desk: Desk, asked: Asked) -> State:
    if asked.record is not None:
        return "drawn"
    try:
        return state(asked, desk.kept_ledger(asked))
    except DiscreetError:
        return "unknown"


async def _remove(request: Request) -> Response:
    """A release that was charged and not drawn stays: it could not be drawn any more."""
    desk, fields = _desk(request), await typed(request)

    def removed() -> None:
        with desk.store.alone(fields.get("key", "")) as asked:
            if _state(desk, asked) not in ("drawn", "asked"):
                raise InvalidInputError("this release was charged and not drawn: draw it first")
            desk.store.remove(asked.key)
            desk.sent_for(asked.key)

    try:
        await to_thread.run_sync(removed)
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    return await _listed(request)


def _of_record(name: str, compute: Callable[[Asked, Release], bytes | Html]) -> Route:
    """A part that is made from the record that is kept."""

    async def answer(request: Request) -> Response:
        desk, fields = _desk(request), await typed(request)

        def made() -> bytes | Html:
            asked = desk.store.find(fields.get("key", ""))
            if asked.record is None:
                raise InvalidInputError("this release was not drawn yet")
            return compute(asked, Release.from_json(asked.record))

        try:
            found = await to_thread.run_sync(made, limiter=desk.workers)
        except DiscreetError as error:
            return HTMLResponse(element("p", str(error), class_="error"), status_code=422)
        if isinstance(found, Html):
            return HTMLResponse(found)
        return Response(found, media_type="application/octet-stream", headers={"Content-Disposition": "attachment"})

    return Route(f"/release/{name}", answer, methods=["POST"])


def _record(asked: Asked, _: Release) -> bytes:
    return (asked.record or "").encode()


def _report(asked: Asked, found: Release) -> bytes:
    return page_content(found, shares_of(found, _MASS, slow=False), asked.record or "", f"discreet-{asked.key[:8]}.html", [])


def _answer(_: Asked, found: Release) -> Html:
    return answered(found, shares_of(found, _MASS, slow=False))


async def _read_it(request: Request) -> Response:
    """The record as the screen for reading shows it."""
    desk, fields = _desk(request), await typed(request)
    try:
        asked = desk.store.find(fields.get("key", ""))
        record = read_record((asked.record or "").encode(), f"discreet-{asked.key[:8]}.json")
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    key = request.app.state.records.keep(record)
    return HTMLResponse(read_view.opened_record(key, record), headers={"HX-Trigger": "release-read"})


ROUTES = [
    Route("/release", _opened),
    Route("/release/upload", _upload, methods=["POST"]),
    Route("/release/look", _look, methods=["POST"]),
    Route("/release/draw", _draw, methods=["POST"]),
    Route("/release/list", _listed, methods=["POST"]),
    Route("/release/remove", _remove, methods=["POST"]),
    Route("/release/open", _read_it, methods=["POST"]),
    _of_record("record", _record),
    _of_record("report", _report),
    _of_record("png", lambda _, found: picture(found, "png")),
    _of_record("svg", lambda _, found: picture(found, "svg")),
    _of_record("answer", _answer),
]
