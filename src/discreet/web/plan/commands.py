"""The command line and the Python that do what the screen for plans does."""

from discreet.present.html import Html
from discreet.requests.kinds import prior_code, quoted
from discreet.requests.plan import PlanRequest
from discreet.requests.plan_screen import PlanQuestion
from discreet.web.code_to_copy import request_command, same


def same_plan(place: str, asked: PlanRequest, shown: str = "print(found)") -> Html:
    """Return the code that asks the same on the command line and in Python."""
    return same(place, request_command("plan", asked), asked.python(shown))


def prior_line(question: PlanQuestion, *, labels: bool = False) -> str:
    """The Python that makes the prior, with the labels of the categories where these matter."""
    return f"prior = {prior_code(question.prior, labels=labels)}"


def made_line(question: PlanQuestion) -> str:
    """The Python that makes `question.whole_mechanism()`, once there is a prior."""
    if question.groups is None:
        n = question.size if question.planned_public == "total" else None
        return f"made = dc.mechanism({question.mechanism!r}, prior, n={n}, epsilon={quoted(question.epsilon)})"
    shown = question.groups_shown or 1
    sizes = {"sizes": f"[{question.size}] * {shown}", "total": str(question.size * shown), "nothing": "None"}[question.public]
    by = f'{{"group": [f"group {{i + 1}}" for i in range({shown})]}}'
    return f"made = dc.LatticeGeometric(prior, n={sizes}, epsilon={quoted(question.epsilon)}, by={by})"
