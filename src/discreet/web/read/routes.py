"""The screen on which a reader reads a record, which is public."""

import sys
from collections.abc import Callable, Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet import limits
from discreet.errors import DiscreetError
from discreet.present.exports import TABLE_ENDINGS
from discreet.present.html import Html, element, joined
from discreet.progress import Progress
from discreet.requests.fields import WrongError, labelled
from discreet.requests.read_screen import ReadContrast, ReadMargins, ReadOther, ReadRequest, ReadShares, ReadTable, ReadThreshold
from discreet.web.forms import KEEP_SHOWN, file_route, messages, name_sent, one_line, tab_of, typed
from discreet.web.parts import written
from discreet.web.read import answers as read_answers
from discreet.web.read.answers import table_file, table_same
from discreet.web.read.question import Asked, ReadQuestion, question
from discreet.web.read.view import opened_record
from discreet.web.state import Opened, read


async def _opening(_: Request) -> Response:
    """The place where a record is opened: by choosing a file, by dropping one, or by pasting it."""
    return HTMLResponse(written("read").replace("MOST", str(limits.REQUEST_BYTES)))


async def _open(request: Request) -> Response:
    """A record is the body itself; its name comes in a header, in which it is written as in an address."""
    content = await request.body()
    name = name_sent(request)
    try:
        record = await request.app.state.turns.run(_part(request, "open"), lambda _: read(content, name))
    except DiscreetError as error:
        return HTMLResponse(messages("read", ["file"], {"file": one_line(error)}), headers=KEEP_SHOWN)
    opened: Opened = request.app.state.records
    return HTMLResponse(joined(opened_record(opened.keep(record), opened), messages("read", ["file"], {})))


async def _again(request: Request) -> Response:
    """The record with a key that stood in an address, if it is still open."""
    return HTMLResponse(opened_record((await typed(request)).get("record", ""), request.app.state.records))


async def _alone(request: Request) -> Response:
    """One table of a study, as a record of its own."""
    fields, opened = await typed(request), request.app.state.records
    record = opened.find(fields.get("record", "")).alone(fields.get("table", ""))
    return HTMLResponse(opened_record(opened.keep(record), opened))


def _part(request: Request, place: str) -> str:
    """The place of this tab that an answer fills."""
    return f"{tab_of(request)}/read/{place}"


def _answered(place: str, kind: type[Asked], compute: Callable[[ReadQuestion[Asked], Opened, Progress], Html]) -> Route:
    """A part of the screen that is computed from its form; what is wrong is said beside the fields that were sent."""

    async def answer(request: Request) -> Response:
        given, opened = await typed(request), request.app.state.records
        record = opened.find(given.get("record", ""))
        own = [name for name in labelled(kind) if name in given]
        try:
            asked = question(kind, given["record"], record, given)
            body = await request.app.state.turns.run(_part(request, place), lambda tell: compute(asked, opened, tell))
        except WrongError as error:
            return HTMLResponse(messages("read", {*own, *error.by_field}, error.by_field), headers=KEEP_SHOWN)
        except DiscreetError as error:
            body = element("p", f"Not computed: {one_line(error)}", class_="warn")
        except (ArithmeticError, ValueError, MemoryError) as error:  # a record that no draw leads to, but whoever writes one by hand
            sys.stderr.write(f"discreet explore: a part of the page failed with {type(error).__name__}\n")
            body = element("p", "Not computed: the numbers of this record are beyond what can be computed with here.", class_="warn")
        return HTMLResponse(joined(body, messages("read", own, {})))

    return Route(f"/read/{place}", answer, methods=["POST"])


def _file(place: str, kind: type[Asked], compute: Callable[[ReadQuestion[Asked], Opened, Progress], bytes]) -> Route:
    """A file that is made from the record and what was chosen."""

    async def made(request: Request, given: Mapping[str, str]) -> bytes:
        opened: Opened = request.app.state.records
        asked = question(kind, given.get("record", ""), opened.find(given.get("record", "")), given)
        content: bytes = await request.app.state.turns.run(_part(request, place), lambda tell: compute(asked, opened, tell))
        return content

    return file_route(f"/read/{place}", made)


ROUTES = [
    Route("/read", _opening),
    Route("/read/open", _open, methods=["POST"]),
    Route("/read/record", _again, methods=["POST"]),
    _answered("answer", ReadShares, read_answers.answer),
    _answered("contrast", ReadContrast, read_answers.contrast),
    _answered("other", ReadOther, read_answers.other),
    _answered("above", ReadThreshold, read_answers.above),
    _answered("margins", ReadMargins, read_answers.margins),
    _answered("verify", ReadRequest, read_answers.verified),
    _answered("study", ReadRequest, read_answers.study),
    Route("/read/alone", _alone, methods=["POST"]),
    _answered("table", ReadTable, table_same),
    _file("report", ReadRequest, read_answers.report),
    *(_file(ending[1:], ReadTable, partial(table_file, ending)) for ending in TABLE_ENDINGS),
]
