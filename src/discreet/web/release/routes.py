"""The screen on which records are counted and a posterior is released: looked at, confirmed once, and fetched as often as wanted."""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import replace
from secrets import token_urlsafe
from threading import Lock
from typing import TypeVar

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.data.sources import columns_of, rows_of
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError, SourceError
from discreet.present.exports import picture
from discreet.present.how_read import HowRead
from discreet.present.html import Html, element, joined
from discreet.present.page import answered, page_content
from discreet.present.page_rows import shares_of
from discreet.present.study import study_page, study_parts
from discreet.record.release import Release
from discreet.requests.fields import WrongError, labelled
from discreet.requests.release import CheckRequest
from discreet.requests.studies.file import with_table
from discreet.requests.studies.questions import StudyTextRequest
from discreet.web.forms import KEEP_SHOWN, field, file_route, in_page, messages, name_sent, tab_of, typed
from discreet.web.parts import written
from discreet.web.read import view as read_view
from discreet.web.release.context import ReleaseContext
from discreet.web.release.question import FIELDS, Question, check_file, packed, read, read_study
from discreet.web.release.store import KeptRelease, State, declared_source, draw_once, look, records_of, state
from discreet.web.release.view import (
    REMOVABLE,
    charged,
    checked,
    columns,
    drawn,
    form_fields,
    listed,
    looked,
    sent,
    study_fields,
    study_plan,
)
from discreet.web.state import Record, file_name
from discreet.web.state import read as read_record

_RELEASE_FORM = written("release")
_LISTED_RELEASES = 20
"""Releases that are listed: the last ones."""
_BESIDE = {"--other-group ": "by", "--other ": "categories", "--nulls ": "nulls", "--encoding": "encoding"}
"""The field beside which an error is said that recommends an option of the shell."""
_Made = TypeVar("_Made")
_CHANGED = {"HX-Trigger": "release-changed"}
STUDY_FIELDS = labelled(StudyTextRequest)
_FORMS = {"release": FIELDS, "study": STUDY_FIELDS}
"""The fields of the two forms."""


def _desk(request: Request) -> ReleaseContext:
    found: ReleaseContext = request.app.state.desk
    return found


async def _opened(request: Request) -> Response:
    """The form, with what was typed before and a file that was sent; in an untouched one the ledger that the page was started with."""
    typed_before = {"ledger": request.app.state.ledgers.default} | request.app.state.drafts.of(request, "release")
    upload, file = typed_before.get("upload", ""), None
    with suppress(InvalidInputError):
        file = sent(upload, _desk(request).uploads.name(upload))
    return HTMLResponse(_RELEASE_FORM.replace("FIELDS", form_fields(typed_before, file)).replace("STUDY", _study_fields(request)))


async def _upload(request: Request) -> Response:
    """A file is the body itself; its name comes in a header, in which it is written as in an address."""
    name = file_name(name_sent(request))
    return HTMLResponse(sent(await _desk(request).uploads.take(name, request.stream()), name))


async def _looked(request: Request) -> Response:
    """Show what a release, or a study, would publish and cost, or what was drawn for the same question before."""
    desk, fields = _desk(request), await typed(request)

    def answer() -> Html:
        known = desk.without_password(fields)
        question = read_study(known) if _screen(request) == "study" else read(known)
        with ExitStack() as stack:
            with field("ledger"):
                ledger = stack.enter_context(desk.ledger(desk.ledger_name(question)))
            for asked in [] if fields.get("again") else desk.asked_before(question):
                if asked.record is not None:
                    return drawn(asked, records_of(asked), again=True)
                if state(asked, ledger) == "charged":
                    return charged(asked)
            found = look(question, desk.looked_at(question), declared_source(desk.kept(question)), ledger)
        return looked(found, desk.ask(question, found.described).key)

    return await _shown(request, answer, _CHANGED)


async def _checked(request: Request) -> Response:
    """Check the data for the curator alone; nothing of the answer is kept."""
    desk, fields = _desk(request), await typed(request)

    def answer() -> Html:
        question: Question = read_study(fields) if _screen(request) == "study" else read(fields, CheckRequest)
        return checked(question.examined(desk.looked_at(question)))

    return await _shown(request, answer, {})


async def _columns(request: Request) -> Response:
    """The columns of the file that is named or was sent, for the curator alone."""
    desk, fields = _desk(request), await typed(request)

    def listed_columns() -> Html:
        check_file(fields.get("file", ""), fields.get("upload", ""))
        place = fields.get("file") or str(desk.uploads.path(fields["upload"]))
        return columns(columns_of(place, fields.get("encoding") or "utf-8"))

    return HTMLResponse(await to_thread.run_sync(listed_columns, limiter=desk.workers))


async def _rows(request: Request) -> Response:
    """Return how many rows are counted, in words, for the curator who waits: nothing where that is not known at once."""
    desk, fields = _desk(request), await typed(request)

    def told() -> str:
        place = read_study(fields).study.path if fields.get("text") else fields.get("file") or str(desk.uploads.path(fields["upload"]))
        number = rows_of(place)
        return "" if number is None else f"{number:,} rows"

    try:
        return HTMLResponse(await to_thread.run_sync(told))
    except (DiscreetError, WrongError, KeyError, OSError):
        return HTMLResponse("")


def _screen(request: Request) -> str:
    """Return which of the two forms asks."""
    return request.url.path.split("/")[1]


async def _shown(request: Request, answer: Callable[[], Html], headers: Mapping[str, str]) -> Response:
    """An answer to the form, or what is wrong beside its fields."""
    screen = _screen(request)
    try:
        shown = await to_thread.run_sync(answer, limiter=_desk(request).workers)
    except WrongError as error:
        return _wrong(error.by_field, screen)
    except DiscreetError as error:
        wrong = {"text": str(error)} if screen == "study" else {_field_of(error): in_page(error)}
        return _wrong(wrong, screen)
    return HTMLResponse(joined(shown, messages(screen, _FORMS[screen], {})), headers=headers)


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


def _wrong(by_field: Mapping[str, str], screen: str) -> Response:
    """Show messages beside their fields, and in one place above all, which takes the place of an earlier look."""
    told = "Nothing was charged. Something in the form is not right yet: it is said beside its field."
    return HTMLResponse(joined(element("p", told, class_="warn", role="status"), messages(screen, _FORMS[screen], by_field)))


# --- a study ----------------------------------------------------------------------------------------------------------


def _study_fields(request: Request, key: str = "") -> Html:
    """The fields of a study, as they stand under this key, or new ones."""
    before = request.app.state.drafts.of(request, "study", key) if key else {}
    return study_fields(key or token_urlsafe(16), {"ledger": request.app.state.ledgers.default} | before)


async def _study(request: Request) -> Response:
    """The study with a key that stood in an address."""
    return HTMLResponse(_study_fields(request, (await typed(request)).get("key", "")[:64]))


async def _study_planned(request: Request) -> Response:
    """Return how wide the intervals of every table will be: no data are read."""
    fields = await typed(request)
    if not fields.get("text"):
        return HTMLResponse(messages("study", STUDY_FIELDS, {}))
    try:
        asked = read_study(fields)
        shown = await request.app.state.turns.run(f"{tab_of(request)} study", lambda _: study_plan(asked.study.plan(asked.n), asked.n))
    except (WrongError, DiscreetError) as error:
        wrong = error.by_field if isinstance(error, WrongError) else {"text": str(error)}
        return HTMLResponse(messages("study", STUDY_FIELDS, wrong), headers=KEEP_SHOWN)
    return HTMLResponse(joined(shown, messages("study", STUDY_FIELDS, {})))


async def _study_grown(request: Request) -> Response:
    """The study with the table of the other form added."""
    desk, drafts, fields = _desk(request), request.app.state.drafts, await typed(request)
    key = fields.get("key", "")[:64]
    try:
        question = read(fields, CheckRequest)
        with field("column"):
            asked = replace(question.request, file=_path_of(desk, question))
            text = with_table(fields.get("text", ""), fields.get("folder") or ".", asked)
    except WrongError as error:
        return HTMLResponse(messages("release", FIELDS, error.by_field), headers=KEEP_SHOWN)
    drafts.keep(key, "study", {**drafts.of(request, "study", key), **{name: fields.get(name, "") for name in STUDY_FIELDS}, "text": text})
    return HTMLResponse(joined(_study_fields(request, key), messages("release", FIELDS, {})))


def _path_of(desk: ReleaseContext, question: Question) -> str:
    """The path of the file, from the root on."""
    if not question["file"]:
        raise WrongError({"file": "a study names its file by a path: give one in place of a copy"})
    return desk.kept(question)["file"]


# --- charged and drawn ------------------------------------------------------------------------------------------------


async def _draw(request: Request) -> Response:
    desk, fields = _desk(request), await typed(request)
    key = fields.get("key", "")

    def once() -> Html:
        asked = desk.store.find(key)
        found = asked if asked.record is not None else made(asked)
        return drawn(found, records_of(found), again=False)

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
        """Return the states of all but what was only looked at, which leaves no line."""
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
    await to_thread.run_sync(lambda: _removed(desk, fields.get("key", ""), fields.get("state", "")))
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


async def _of_records(request: Request, fields: Mapping[str, str], compute: Callable[[KeptRelease, Mapping[str, Release]], _Made]) -> _Made:
    """Return what is made from the records that are kept."""
    desk = _desk(request)

    def made() -> _Made:
        asked = desk.store.find(fields.get("key", ""))
        return compute(asked, records_of(asked))

    return await to_thread.run_sync(made, limiter=desk.workers)


def _file(name: str, compute: Callable[[KeptRelease, Mapping[str, Release]], bytes]) -> Route:
    return file_route(f"/release/{name}", lambda request, fields: _of_records(request, fields, compute))


def _record(asked: KeptRelease, found: Mapping[str, Release]) -> bytes:
    """The record, or the folder of a study, packed."""
    return (asked.record or "").encode() if "" in found else packed(read_study(asked.fields).study, found)


def _report(asked: KeptRelease, found: Mapping[str, Release]) -> bytes:
    if "" not in found:
        return study_page(found, asked.fields["title"], HowRead())
    return page_content(found[""], shares_of(found[""]), asked.record or "", f"discreet-{asked.key[:8]}.html", [])


def _tables(asked: KeptRelease, found: Mapping[str, Release]) -> Html:
    if "" not in found:
        return study_parts(found, asked.fields["title"], HowRead())
    return answered(found[""], shares_of(found[""]), one_table=True)


async def _answer(request: Request) -> Response:
    return HTMLResponse(await _of_records(request, await typed(request), _tables))


def _picture(kind: str) -> Callable[[KeptRelease, Mapping[str, Release]], bytes]:
    def made(_: KeptRelease, found: Mapping[str, Release]) -> bytes:
        if "" not in found:
            raise InvalidInputError("a picture is of one table: read one of them here, or download the page of all")
        with _DRAWING:
            return picture(found[""], kind)

    return made


_DRAWING = Lock()
"""Pictures are drawn one at a time: the settings of matplotlib, which they change for as long, are those of the whole process."""


async def _read_it(request: Request) -> Response:
    """The record as the screen for reading shows it."""

    def opened(asked: KeptRelease, found: Mapping[str, Release]) -> Record:
        name = f"discreet-{asked.key[:8]}"
        if "" not in found:
            return read_record(_report(asked, found), f"{name}.html")
        return read_record((asked.record or "").encode(), f"{name}.json")

    record = await _of_records(request, await typed(request), opened)
    opened_records = request.app.state.records
    return HTMLResponse(read_view.opened_record(opened_records.keep(record), opened_records))


ROUTES = [
    Route("/release", _opened),
    Route("/release/upload", _upload, methods=["POST"]),
    Route("/release/look", _looked, methods=["POST"]),
    Route("/release/columns", _columns, methods=["POST"]),
    Route("/release/rows", _rows, methods=["POST"]),
    Route("/release/check", _checked, methods=["POST"]),
    Route("/release/draw", _draw, methods=["POST"]),
    Route("/release/list", _listed, methods=["POST"]),
    Route("/release/remove", _remove, methods=["POST"]),
    Route("/release/forget", _forget, methods=["POST"]),
    Route("/release/open", _read_it, methods=["POST"]),
    Route("/release/answer", _answer, methods=["POST"]),
    _file("record", _record),
    _file("report", _report),
    _file("png", _picture("png")),
    _file("svg", _picture("svg")),
    Route("/study", _study, methods=["POST"]),
    Route("/study/plan", _study_planned, methods=["POST"]),
    Route("/study/look", _looked, methods=["POST"]),
    Route("/study/check", _checked, methods=["POST"]),
    Route("/study/add", _study_grown, methods=["POST"]),
]
