"""The screen on which a steward plans: no data are asked for and none are seen."""

import re
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.present.html import Html, element, joined
from discreet.progress import Progress
from discreet.requests.fields import WrongError, labelled
from discreet.requests.plan_screen import FURTHER_PART, GOAL_PART, PRIVACY_PART, QUESTION_PART, GoalQuestion, PlanQuestion
from discreet.requests.release import RESEARCH_PART
from discreet.web.forms import KEEP_SHOWN, messages, tab_of, typed
from discreet.web.parts import folded, part, rows, written
from discreet.web.plan.answer import answer, example, is_quick
from discreet.web.plan.later import compared, curves, goal
from discreet.web.state import Turns

_LATER = ("answer", "example", "curves", "compared")
"""The places that slow answers fill: what is computed for them ends when the question changes."""
_PAGE = written("plan")
_FIELDS, _GOAL_FIELDS = labelled(PlanQuestion), labelled(GoalQuestion)
_STALE = "Something in the form is not right yet: what is shown here is the answer from before."


def _place(request: Request, name: str) -> str:
    return f"{tab_of(request)} plan {name}"


def plan_form(typed: Mapping[str, str], goal: Mapping[str, str]) -> str:
    """The screen, with what was typed into its two forms before."""
    fields = joined(
        part(PRIVACY_PART, rows("plan", PlanQuestion, PRIVACY_PART, typed), class_="dial"),
        part(QUESTION_PART, rows("plan", PlanQuestion, QUESTION_PART, typed)),
        folded(FURTHER_PART, rows("plan", PlanQuestion, FURTHER_PART, typed)),
        folded(RESEARCH_PART, rows("plan", PlanQuestion, RESEARCH_PART, typed)),
    )
    wanted = part(GOAL_PART, rows("plan", GoalQuestion, GOAL_PART, goal), element("button", "Find ε", type="submit"))
    before, between, after = re.split("FIELDS|GOAL", _PAGE)
    return f"{before}{fields}{between}{wanted}{after}"


async def _opened(request: Request) -> Response:
    drafts = request.app.state.drafts
    return HTMLResponse(plan_form(drafts.of(request, "plan"), drafts.of(request, "goal")))


async def _answered(request: Request) -> Response:
    """The answer, or a place that asks for it where it takes a while."""
    turns: Turns = request.app.state.turns
    for name in _LATER:
        turns.end(_place(request, name))
    try:
        question = PlanQuestion.read(await typed(request), "form")
        if is_quick(question):
            found = await request.app.state.quick_turns.run(_place(request, "at once"), lambda _: answer(question))
        else:
            found = _slowly()
    except WrongError as error:
        return _wrong(error.by_field)
    except DiscreetError as error:
        found = element("p", str(error), class_="warn")
    return HTMLResponse(joined(found, _right()), headers={"HX-Trigger": "plan-answered"})


def _slowly() -> Html:
    computing = element("p", "Computing…", class_="computing", role="status")
    return element(
        "div", computing, hx_post="/plan/slowly", hx_trigger="load", hx_include="#plan-form", hx_target="#plan-answer", class_="waiting"
    )


def _wrong(by_field: Mapping[str, str]) -> Response:
    """Show messages beside their fields, and keep the last answer, marked as such."""
    stale = element("p", _STALE, id="plan-stale", class_="warn", role="status", hx_swap_oob="true")
    return HTMLResponse(joined(messages("plan", _FIELDS, by_field), stale), headers=KEEP_SHOWN)


def _right() -> Html:
    stale = element("p", id="plan-stale", class_="warn", role="status", hidden="", hx_swap_oob="true")
    return joined(messages("plan", _FIELDS, {}), stale)


def _later(name: str, compute: Callable[[PlanQuestion, Progress], Html]) -> Callable[[Request], object]:
    """A slow answer to the question of the form, for a place of the page.

    A form that has become wrong since then is not explained here but by the answer to it, which may have come already.
    """

    async def answered(request: Request) -> Response:
        try:
            question = PlanQuestion.read(await typed(request), "form")
        except WrongError:
            return Response(status_code=204)
        try:
            found = await request.app.state.turns.run(_place(request, name), lambda check: compute(question, check))
        except WrongError as error:
            return _wrong(error.by_field)
        except DiscreetError as error:
            found = element("p", str(error), class_="warn")
        return HTMLResponse(found)

    return answered


async def _goal(request: Request) -> Response:
    fields = await typed(request)
    try:
        question = PlanQuestion.read(fields, "form")
    except WrongError as error:
        return _wrong(error.by_field)
    try:
        wanted = GoalQuestion.read(fields, "form")
        found = await request.app.state.turns.run(_place(request, "goal"), lambda check: goal(question, wanted, check))
    except WrongError as error:
        return HTMLResponse(messages("plan", _GOAL_FIELDS, error.by_field))
    return HTMLResponse(joined(found, messages("plan", _GOAL_FIELDS, {})))


ROUTES = [
    Route("/plan", _opened),
    Route("/plan/answer", _answered, methods=["POST"]),
    Route("/plan/slowly", _later("answer", lambda question, _: answer(question)), methods=["POST"]),
    Route("/plan/example", _later("example", lambda question, _: example(question)), methods=["POST"]),
    Route("/plan/curves", _later("curves", curves), methods=["POST"]),
    Route("/plan/compared", _later("compared", compared), methods=["POST"]),
    Route("/plan/goal", _goal, methods=["POST"]),
]
