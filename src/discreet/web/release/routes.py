"""The screen on which records are counted and a posterior is released: looked at, confirmed once, and fetched as often as wanted."""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from importlib import resources
from threading import Lock

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.data.sources import columns_of
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError, SourceError
from discreet.present.html import Html, element, joined
from discreet.present.page import answered, page_content
from discreet.present.page_rows import shares_of
from discreet.present.pictures import picture
from discreet.record.release import Release
from discreet.requests.fields import WrongError, spoken
from discreet.requests.release import CheckRequest, ReleaseRequest
from discreet.web.forms import field, messages, name_sent, typed
from discreet.web.opened_records import Record
from discreet.web.opened_records import read as read_record
from discreet.web.read import view as read_view
from discreet.web.release.context import ReleaseContext
from discreet.web.release.draw_once import State, declared_source, draw_once, look, state
from discreet.web.release.question import FIELDS, check_file, read
from discreet.web.release.store import KeptRelease
from discreet.web.release.view import REMOVABLE, charged, checked, columns, drawn, form_fields, listed, looked, sent
from discreet.web.uploads import file_name

_RELEASE_FORM = resources.files("discreet.web").joinpath("static/release.html").read_text("utf-8")
_LISTED_RELEASES = 20
"""Releases that are listed: the last ones."""
_BESIDE = {"--other-group ": "by", "--other ": "categories", "--nulls ": "nulls", "--encoding": "encoding"}
"""The field beside which an error is said that recommends an option of the shell."""
_CHANGED = {"HX-Trigger": "release-changed"}


def _desk(request: Request) -> ReleaseContext:
    found: ReleaseContext = request.app.state.desk
    return found


async def _opened(request: Request) -> Response:
    """The form, with what was typed before and a file that was sent; in an untouched one the ledger that the page was started with."""
    typed_before = {"ledger": request.app.state.ledgers.default} | request.app.state.drafts.of(request, "release")
    upload, file = typed_before.get("upload", ""), None
    with suppress(InvalidInputError):
        file = sent(upload, _desk(request).uploads.name(upload))
    return HTMLResponse(_RELEASE_FORM.replace("FIELDS", form_fields(typed_before, file)))


async def _upload(request: Request) -> Response:
    """A file is the body itself; its name comes in a header, in which it is written as in an address."""
    name = file_name(name_sent(request))
    try:
        key = await _desk(request).uploads.take(name, request.stream())
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    return HTMLResponse(sent(key, name))


async def _look(request: Request) -> Response:
    desk, fields = _desk(request), await typed(request)

    def answer() -> Html:
        question = read(desk.without_password(fields))
        with ExitStack() as stack:
            with field("ledger"):
                ledger = stack.enter_context(desk.ledger(desk.ledger_name(question)))
            for asked in [] if fields.get("again") else desk.asked_before(question):
                if asked.record is not None:
                    return drawn(asked, Release.from_json(asked.record), again=True)
                if state(asked, ledger) == "charged":
                    return charged(asked)
            found = look(question, desk.looked_at(question), declared_source(desk.kept(question)), ledger)
        return looked(found, desk.ask(question, found.described).key)

    return await _shown(desk, answer, _CHANGED)


async def _check(request: Request) -> Response:
    """Check the data for the curator alone; nothing of the answer is kept."""
    desk, fields = _desk(request), await typed(request)

    def answer() -> Html:
        question = read(fields, CheckRequest)
        return checked(question.request.examined(str(desk.looked_at(question)), "form"))

    return await _shown(desk, answer, {})


async def _columns(request: Request) -> Response:
    """The columns of the file that is named or was sent, for the curator alone."""
    desk, fields = _desk(request), await typed(request)

    def listed_columns() -> Html:
        check_file(fields.get("file", ""), fields.get("upload", ""))
        place = fields.get("file") or str(desk.uploads.path(fields["upload"]))
        return columns(columns_of(place, fields.get("encoding") or "utf-8"))

    try:
        return HTMLResponse(await to_thread.run_sync(listed_columns, limiter=desk.workers))
    except DiscreetError as error:
        return HTMLResponse(element("p", in_page(error), class_="error"))


async def _shown(desk: ReleaseContext, answer: Callable[[], Html], headers: Mapping[str, str]) -> Response:
    """An answer to the form, or what is wrong beside its fields."""
    try:
        shown = await to_thread.run_sync(answer, limiter=desk.workers)
    except WrongError as error:
        return _wrong(error.by_field)
    except DiscreetError as error:
        return _wrong({_field_of(error): in_page(error)})
    return HTMLResponse(joined(shown, messages("release", FIELDS, {})), headers=headers)


def in_page(error: DiscreetError) -> str:
    """Return an error's message, with the labels of the form's fields in place of the shell's options."""
    return spoken(error.in_shell, ReleaseRequest, "form")


def _field_of(error: DiscreetError) -> str:
    """The field beside which an error is said that is not about what was typed alone."""
    if isinstance(error, BudgetError | LedgerError):
        return "dataset"
    for option, name in _BESIDE.items():
        if option in error.in_shell:
            return name
    if str(error).startswith(("there is no column", "column ", "no value of column")):
        return "column"
    return "file" if isinstance(error, SourceError | InvalidInputError) else "mechanism"


def _wrong(by_field: Mapping[str, str]) -> Response:
    """Show messages beside their fields, and in one place above all, which takes the place of an earlier look."""
    told = "Nothing was charged. Something in the form is not right yet: it is said beside its field."
    return HTMLResponse(joined(element("p", told, class_="warn", role="status"), messages("release", FIELDS, by_field)))


async def _draw(request: Request) -> Response:
    desk, fields = _desk(request), await typed(request)
    key = fields.get("key", "")

    def once() -> Html:
        asked = desk.store.find(key)
        found = asked if asked.record is not None else made(asked)
        return drawn(found, Release.from_json(found.record or ""), again=False)

    def made(asked: KeptRelease) -> KeptRelease:
        try:
            source = desk.source(asked, fields.get("upload", ""))
        except InvalidInputError:
            found = desk.store.find(key)  # another tab may have drawn it meanwhile, and the file went with that
            if found.record is None:
                raise
            return found
        with desk.ledger(asked.ledger) as ledger:
            found = draw_once(desk.store, key, source, ledger)
        desk.forget_sent(key)
        return found

    try:
        with desk.drawing(key):
            shown = await to_thread.run_sync(once, limiter=desk.workers)
    except (DiscreetError, WrongError) as error:
        said = in_page(error) if isinstance(error, DiscreetError) else "the question is not one that this version of discreet takes"
        told = "It was not drawn: "
        return HTMLResponse(
            element("p", told, said, ". The list below says whether it was charged.", class_="warn", role="alert"), headers=_CHANGED
        )
    return HTMLResponse(shown, headers=_CHANGED)


async def _listed(request: Request) -> Response:
    desk = _desk(request)

    def states() -> list[tuple[KeptRelease, State]]:
        """Of all but what was only looked at, which leaves no line."""
        drawing = desk.drawn_now()  # before files are read: of one that ends in between, the old file is read
        every = desk.store.latest()
        return list(zip(every, _states(desk, every, drawing), strict=True))

    found = await to_thread.run_sync(states)
    asked = [one for one in found if one[1] != "asked"]
    return HTMLResponse(listed(asked[:_LISTED_RELEASES], len(found) - len(asked)))


def _states(desk: ReleaseContext, every: Sequence[KeptRelease], drawing: Set[str]) -> list[State]:
    """Return the states of questions. A ledger is opened once for all of them, and waited for once if it does not answer."""
    found: dict[str, State] = {asked.key: "drawn" if asked.record is not None else "drawing" for asked in every}
    open_ones = [asked for asked in every if asked.record is None and asked.key not in drawing]
    for name in dict.fromkeys(asked.ledger for asked in open_ones):
        charged_to = [asked for asked in open_ones if asked.ledger == name]
        found |= dict.fromkeys((asked.key for asked in charged_to), "unknown")
        with suppress(DiscreetError), desk.ledger(name) as ledger:
            found |= {asked.key: state(asked, ledger) for asked in charged_to}
    return [found[asked.key] for asked in every]


async def _remove(request: Request) -> Response:
    """Remove a question. One that was charged or drawn since it was listed stays: whoever pressed the button did not know."""
    desk, fields = _desk(request), await typed(request)
    try:
        await to_thread.run_sync(lambda: _removed(desk, fields.get("key", ""), fields.get("state", "")))
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    return await _listed(request)


def _removed(desk: ReleaseContext, key: str, listed_as: str) -> None:
    with desk.store.alone(key) as asked:
        [found] = _states(desk, [asked], desk.drawn_now())
        if found not in REMOVABLE:
            raise InvalidInputError("this release is being drawn, and nothing was removed: try again later")
        if found != listed_as:
            raise InvalidInputError("this release was charged or drawn in the meantime, and nothing was removed: open the page again")
        desk.store.remove(asked.key)
        desk.forget_sent(asked.key)


async def _forget(request: Request) -> Response:
    """Remove all that was looked at alone: nothing was charged for it."""
    desk = _desk(request)

    def forgotten() -> None:
        every = [one for one in desk.store.latest() if one.key not in desk.drawn_now()]
        for asked, found in zip(every, _states(desk, every, set()), strict=True):
            with suppress(DiscreetError):
                if found == "asked":
                    _removed(desk, asked.key, "asked")

    await to_thread.run_sync(forgotten)
    return await _listed(request)


def _of_record(name: str, compute: Callable[[KeptRelease, Release], bytes | Html]) -> Route:
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


def _record(asked: KeptRelease, _: Release) -> bytes:
    return (asked.record or "").encode()


def _report(asked: KeptRelease, found: Release) -> bytes:
    return page_content(found, shares_of(found), asked.record or "", f"discreet-{asked.key[:8]}.html", [])


def _answer(_: KeptRelease, found: Release) -> Html:
    return answered(found, shares_of(found))


def _picture(kind: str) -> Callable[[KeptRelease, Release], bytes]:
    def made(_: KeptRelease, found: Release) -> bytes:
        with _DRAWING:
            return picture(found, kind)

    return made


_DRAWING = Lock()
"""Pictures are drawn one at a time: the settings of matplotlib, which they change for as long, are those of the whole process."""


async def _read_it(request: Request) -> Response:
    """The record as the screen for reading shows it."""
    desk, fields = _desk(request), await typed(request)

    def opened() -> Record:
        asked = desk.store.find(fields.get("key", ""))
        return read_record((asked.record or "").encode(), f"discreet-{asked.key[:8]}.json")

    try:
        record = await to_thread.run_sync(opened)
    except DiscreetError as error:
        return HTMLResponse(element("p", str(error), class_="error"))
    key = request.app.state.records.keep(record)
    return HTMLResponse(read_view.opened_record(key, record))


ROUTES = [
    Route("/release", _opened),
    Route("/release/upload", _upload, methods=["POST"]),
    Route("/release/look", _look, methods=["POST"]),
    Route("/release/columns", _columns, methods=["POST"]),
    Route("/release/check", _check, methods=["POST"]),
    Route("/release/draw", _draw, methods=["POST"]),
    Route("/release/list", _listed, methods=["POST"]),
    Route("/release/remove", _remove, methods=["POST"]),
    Route("/release/forget", _forget, methods=["POST"]),
    Route("/release/open", _read_it, methods=["POST"]),
    _of_record("record", _record),
    _of_record("report", _report),
    _of_record("png", _picture("png")),
    _of_record("svg", _picture("svg")),
    _of_record("answer", _answer),
]
