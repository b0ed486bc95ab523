"""The command line and the Python that do what the screen for plans does."""

from fractions import Fraction
from shlex import join
from typing import Any

from discreet.web.plan.question import MECHANISMS, PlanQuestion, number_words


def plan_command(question: PlanQuestion, *words: str) -> str:
    """`discreet plan` about what is planned, with further words."""
    expect = [] if question.expect is None else ["--expect", ",".join(map(number_words, question.expect))]
    name = [] if question.mechanism == MECHANISMS[0] else ["--mechanism", question.mechanism]
    return join(["discreet", "plan", *words, *_prior_and_public(question), *name, *expect])


def compare_command(question: PlanQuestion) -> str:
    """`discreet compare` about what is planned."""
    sizes = ["--n", str(question.size), "--epsilon", number_words(question.planned_epsilon)]
    return join(["discreet", "compare", *sizes, *_prior_and_public(question), "--no-errors"])


def _prior_and_public(question: PlanQuestion) -> list[str]:
    return ["--prior", question.prior_words, *([] if question.planned_public == "total" else ["--public", "nothing"])]


def prior_line(question: PlanQuestion, *, labels: bool = False) -> str:
    """The Python that makes the prior, with the labels of the categories where these matter."""
    prior, family = question.prior, question.prior_words.partition(":")[0]
    if family in ("uniform", "jeffreys"):
        return f"prior = dc.Dirichlet.{family}({f'categories={list(prior.categories)!r}' if labels else prior.k})"
    given = f", categories={list(prior.categories)!r}" if labels else ""
    return f"prior = dc.Dirichlet({[number_words(a) for a in prior.exact]!r}{given})"


def python(question: PlanQuestion, call: str, *positional: str, shown: str = "print(found)", chosen: bool = True, **named: Any) -> str:
    """Python that calls a planning function with the question's prior and with what else is given."""
    if question.planned_public != "total":
        named["public"] = question.planned_public
    if chosen and question.mechanism != MECHANISMS[0]:
        named["mechanism"] = question.mechanism
    if chosen and question.expect is not None:
        named["expect"] = [number_words(share) for share in question.expect]
    arguments = ", ".join(["prior", *positional, *(f"{name}={value!r}" for name, value in named.items())])
    return f"import discreet as dc\n\n{prior_line(question)}\nfound = dc.{call}({arguments})\n{shown}"


def made_line(question: PlanQuestion) -> str:
    """The Python that makes `question.whole_mechanism()`, once there is a prior."""
    if question.groups is None:
        n = question.size if question.planned_public == "total" else None
        return f"made = dc.mechanism({question.mechanism!r}, prior, n={n}, epsilon={quoted(question.epsilon)})"
    shown = question.groups_shown or 1
    sizes = {"sizes": f"[{question.size}] * {shown}", "total": str(question.size * shown), "nothing": "None"}[question.public]
    by = f'{{"group": [f"group {{i + 1}}" for i in range({shown})]}}'
    return f"made = dc.LatticeGeometric(prior, n={sizes}, epsilon={quoted(question.epsilon)}, by={by})"


def quoted(value: Fraction) -> str:
    """An exact number as a literal of Python: whole ones as they are, others as text, which is read exactly."""
    return str(value) if value.denominator == 1 else repr(number_words(value))
