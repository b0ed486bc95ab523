"""The screen on which a reader reads a record, which is public."""

import sys
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.present.html import Html, element, joined
from discreet.progress import Progress
from discreet.web.forms import KEEP_SHOWN, FieldError, messages, name_sent, typed
from discreet.web.opened_records import GoneError, Opened, read
from discreet.web.read import answers as read_answers
from discreet.web.read import margins as read_margins
from discreet.web.read.question import ReadQuestion, question
from discreet.web.read.view import gone, opened_record, opening

__all__ = ["ROUTES", "Opened"]

Compute = Callable[[ReadQuestion, Mapping[str, str], Opened, Progress], Html]


async def _opening(_: Request) -> Response:
    return HTMLResponse(opening())


async def _open(request: Request) -> Response:
    """A record is the body itself; its name comes in a header, in which it is written as in an address."""
    content = await request.body()
    name = name_sent(request)
    try:
        record = await request.app.state.turns.run(_part(request, "open"), lambda _: read(content, name))
    except DiscreetError as error:
        return HTMLResponse(messages("read", ["file"], {"file": _one_line(error)}), headers=KEEP_SHOWN)
    opened: Opened = request.app.state.records
    return HTMLResponse(joined(opened_record(opened.keep(record), record), messages("read", ["file"], {})))


def _part(request: Request, place: str) -> str:
    """The place of this tab that an answer fills."""
    return f"{request.headers.get('X-Discreet-Tab', '')[:64]}/read/{place}"


def _one_line(error: DiscreetError) -> str:
    return " ".join(error.in_shell.splitlines())


def _answered(place: str, compute: Compute, fields: tuple[str, ...], table_fields: tuple[str, ...] = ()) -> Route:
    """A part of the screen that is computed from its form; what is wrong is said beside one of these fields."""

    async def answer(request: Request) -> Response:
        given, opened = await typed(request), request.app.state.records
        try:
            record = opened.find(given.get("record", ""))
        except GoneError:
            return HTMLResponse(gone())
        own = (*fields, *(table_fields if record.release.by.columns else ()))
        try:
            asked = question(given["record"], record, given)
            body = await request.app.state.turns.run(_part(request, place), lambda tell: compute(asked, given, opened, tell))
        except FieldError as error:
            return HTMLResponse(messages("read", own, {error.field: str(error)}), headers=KEEP_SHOWN)
        except DiscreetError as error:
            body = element("p", f"Not computed: {_one_line(error)}", class_="warn")
        except (ArithmeticError, ValueError, MemoryError) as error:  # a record that no draw leads to, but whoever writes one by hand
            sys.stderr.write(f"discreet explore: a part of the page failed with {type(error).__name__}\n")
            body = element("p", "Not computed: the numbers of this record are beyond what can be computed with here.", class_="warn")
        return HTMLResponse(joined(body, messages("read", own, {})))

    return Route(f"/read/{place}", answer, methods=["POST"])


async def _report(request: Request) -> Response:
    given, opened = await typed(request), request.app.state.records
    try:
        record = opened.find(given.get("record", ""))
        asked = question(given["record"], record, given)
        content = await request.app.state.turns.run(_part(request, "report"), lambda tell: read_answers.report(asked, opened, tell))
    except GoneError:
        return HTMLResponse(gone(), status_code=410)
    except (FieldError, DiscreetError) as error:
        said = _one_line(error) if isinstance(error, DiscreetError) else str(error)
        return HTMLResponse(element("p", said, class_="error"), status_code=422)
    return Response(content, media_type="application/octet-stream", headers={"Content-Disposition": "attachment"})


_SETTINGS_FIELDS = ("level", "concentrations", "about")
ROUTES = [
    Route("/read", _opening),
    Route("/read/open", _open, methods=["POST"]),
    _answered("answer", read_answers.answer, _SETTINGS_FIELDS, ("group",)),
    _answered("contrast", read_answers.contrast, (*_SETTINGS_FIELDS, "first", "second"), ("category",)),
    _answered("above", read_answers.above, (*_SETTINGS_FIELDS, "of", "threshold"), ("within",)),
    _answered("margins", read_margins.margins, _SETTINGS_FIELDS, ("over",)),
    _answered("verify", read_answers.verified, ()),
    Route("/read/report", _report, methods=["POST"]),
]
