"""The screen on which a steward plans: no data are asked for and none are seen."""

from collections.abc import Callable, Mapping
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.present.html import Html, element, joined
from discreet.progress import Progress
from discreet.requests.fields import WrongError
from discreet.web.form_fields import folded, part, rows
from discreet.web.forms import KEEP_SHOWN, FieldError, messages, typed
from discreet.web.plan.answer import answer, is_quick
from discreet.web.plan.example import example
from discreet.web.plan.later import GOAL_FIELDS, compared, curves, goal
from discreet.web.plan.question import FIELDS, FURTHER_PART, QUESTION_PART, PlanQuestion, read
from discreet.web.turns import Turns

_LATER = ("answer", "example", "curves", "compared")
"""The places that slow answers fill: what is computed for them ends when the question changes."""
PLAN_FORM = (
    resources.files("discreet.web")
    .joinpath("static/plan.html")
    .read_text("utf-8")
    .replace(
        "FIELDS",
        joined(
            part(QUESTION_PART, rows("plan", PlanQuestion, QUESTION_PART)), folded(FURTHER_PART, rows("plan", PlanQuestion, FURTHER_PART))
        ),
    )
)
_STALE = "Something in the form is not right yet: what is shown here is the answer from before."


def _place(request: Request, name: str) -> str:
    return f"{request.headers.get('X-Discreet-Tab', '')} plan {name}"


async def _opened(_: Request) -> Response:
    return HTMLResponse(PLAN_FORM)


async def _answered(request: Request) -> Response:
    """The answer, or a place that asks for it where it takes a while."""
    turns: Turns = request.app.state.turns
    for name in _LATER:
        turns.end(_place(request, name))
    try:
        question = read(await typed(request))
        if is_quick(question):
            found = await request.app.state.quick_turns.run(_place(request, "at once"), lambda _: answer(question))
        else:
            found = _slowly()
    except (WrongError, FieldError) as error:
        return _wrong(_by_field(error))
    except DiscreetError as error:
        found = element("p", str(error), class_="warn")
    return HTMLResponse(joined(found, _right()), headers={"HX-Trigger": "plan-answered"})


def _slowly() -> Html:
    computing = element("p", "Computing…", class_="computing", role="status")
    return element(
        "div", computing, hx_post="/plan/slowly", hx_trigger="load", hx_include="#plan-form", hx_target="#plan-answer", class_="waiting"
    )


def _by_field(error: WrongError | FieldError) -> Mapping[str, str]:
    return error.by_field if isinstance(error, WrongError) else {error.field: str(error)}


def _wrong(by_field: Mapping[str, str]) -> Response:
    """What is wrong is said beside its field, and the last answer stays, and says that it is."""
    stale = element("p", _STALE, id="plan-stale", class_="warn", role="status", hx_swap_oob="true")
    return HTMLResponse(joined(messages("plan", FIELDS, by_field), stale), headers=KEEP_SHOWN)


def _right() -> Html:
    stale = element("p", id="plan-stale", class_="warn", role="status", hidden="", hx_swap_oob="true")
    return joined(messages("plan", FIELDS, {}), stale)


def _later(name: str, compute: Callable[[PlanQuestion, Progress], Html]) -> Callable[[Request], object]:
    """A slow answer to the question of the form, for a place of the page.

    A form that has become wrong since then is not explained here but by the answer to it, which may have come already.
    """

    async def answered(request: Request) -> Response:
        try:
            question = read(await typed(request))
            found = await request.app.state.turns.run(_place(request, name), lambda check: compute(question, check))
        except WrongError:
            return Response(status_code=204)
        except FieldError as error:
            return _wrong({error.field: str(error)})
        except DiscreetError as error:
            found = element("p", str(error), class_="warn")
        return HTMLResponse(found)

    return answered


async def _goal(request: Request) -> Response:
    fields = await typed(request)
    try:
        question = read(fields)
        found = await request.app.state.turns.run(_place(request, "goal"), lambda check: goal(question, fields, check))
    except WrongError as error:
        return _wrong(error.by_field)
    except FieldError as error:
        return HTMLResponse(messages("plan", GOAL_FIELDS, {error.field: str(error)}))
    return HTMLResponse(joined(found, messages("plan", GOAL_FIELDS, {})))


ROUTES = [
    Route("/plan", _opened),
    Route("/plan/answer", _answered, methods=["POST"]),
    Route("/plan/slowly", _later("answer", lambda question, _: answer(question)), methods=["POST"]),
    Route("/plan/example", _later("example", lambda question, _: example(question)), methods=["POST"]),
    Route("/plan/curves", _later("curves", curves), methods=["POST"]),
    Route("/plan/compared", _later("compared", compared), methods=["POST"]),
    Route("/plan/goal", _goal, methods=["POST"]),
]
