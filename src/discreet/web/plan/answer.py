"""The first answer of the screen for plans: how wide intervals will be, what an attacker could learn, and an example."""

from typing import Any

from discreet.analysis.privacy import privacy_loss
from discreet.errors import DiscreetError, TooLargeError
from discreet.mechanisms import Mechanism
from discreet.planning.comparison import points
from discreet.planning.plans import plan
from discreet.planning.width_plans import WidthPlan
from discreet.present.curves import Bar, bars
from discreet.present.html import Html, element, joined, table, table_row
from discreet.present.odds import odds_factor, surest
from discreet.record.guarantee import Guarantee
from discreet.requests.cautions import little_said
from discreet.requests.kinds import number_words
from discreet.requests.plan_screen import PlanQuestion
from discreet.web.code_to_copy import same
from discreet.web.forms import field
from discreet.web.plan.commands import made_line, prior_line, same_plan
from discreet.web.plan.example import example, is_quick_example

_AT_ONCE_CATEGORIES = 8
_SUSPICIONS = 0.5, 0.1, 0.01


def is_quick(question: PlanQuestion) -> bool:
    """Return whether the answer comes while someone moves a slider, by public numbers."""
    if question.pooled:
        return False
    with field("mechanism"):
        return question.prior.k <= _AT_ONCE_CATEGORIES and question.has_noise and not question.planned_mechanism().report.is_search


def answer(question: PlanQuestion) -> Html:
    """Widths, odds, and the example if it is quick; otherwise a place that asks for it."""
    with field("mechanism"):
        question.planned_mechanism()
    parts = [_width_section(question), *_releasing(question), _odds_section(question)]
    inside = example(question) if is_quick(question) and is_quick_example(question) else _example_place()
    return joined(*parts, element("section", element("h2", "What would be published"), inside))


def _releasing(question: PlanQuestion) -> list[Html]:
    """The way to the form of a release; sizes of groups are published by the command line alone.

    The page fills in what stands in its form by then, which may be newer than this answer.
    """
    if question.public == "sizes":
        return []
    return [element("p", element("button", "Release as planned", type="button", data_release="plan"), class_="onward")]


def _example_place() -> Html:
    computing = element("p", "Computing an example…", class_="computing", role="status")
    options = {"hx_post": "/plan/example", "hx_trigger": "load delay:300ms", "hx_include": "#plan-form"}
    return element("div", computing, id="plan-example", class_="waiting", **options)


# --- how precise --------------------------------------------------------------------------------------------------------


def planned(question: PlanQuestion, **asked: Any) -> WidthPlan:
    """The plan of the question: what its ε gives, or what else is asked for."""
    given = {"mechanism": question.mechanism, "expect": question.expect, "public": question.planned_public} | question.together
    found = plan(question.prior, n=question.size, **given, **asked)
    if not isinstance(found, WidthPlan):
        raise TypeError(type(found).__name__)
    return found


def _width_section(question: PlanQuestion) -> Html:
    heading = element("h2", "How precise will it be?")
    asked = question.asks(n=question.size, epsilon=question.planned_epsilon, **question.together)
    ways = same_plan("plan-width", asked, "print(found.sentence)")
    try:
        found = planned(question, epsilon=question.planned_epsilon)
    except TooLargeError as error:
        return element("section", heading, element("p", str(error), class_="warn"), ways)
    sampling, noise, both = (f"{points(width)} points" for width in (found.plain, found.noise_alone, found.width))
    picture = bars(
        [
            Bar("Sampling alone, without privacy", sampling, (("sampling", float(found.plain)),)),
            Bar("Privacy noise alone", noise if found.noise_alone > 0.0 else "too little to see", (("noise", found.noise_alone),)),
            Bar("Both, as published", both, (("noise", float(found.width)), ("sampling", float(found.plain)))),
        ],
        "Expected width of the 95 % intervals of a share",
    )
    times = found.width / found.plain
    wider = "as wide as they would be without privacy" if times < 1.005 else f"{times:.2f} times as wide as they would be without privacy"
    caption = (
        f"Full width of the 95 % intervals that readers compute, in percentage points: {wider}. Uncertainties add up as squares, so the "
        "two parts do not simply add up."
    )
    said = little_said(question.size, question.planned_epsilon, question.planned_public)
    warning = [] if said is None else [element("p", f"{said[0].upper()}{said[1:]}.", class_="warn")]
    notes = element("p", *_notes(question), found.precision, class_="quiet")
    return element(
        "section",
        heading,
        element("p", _sentence(question, found), class_="lead"),
        *warning,
        picture,
        element("p", caption, class_="quiet"),
        notes,
        ways,
    )


def _sentence(question: PlanQuestion, found: WidthPlan) -> str:
    """The planner's sentence; where there are groups, with the ε of the whole table."""
    if question.groups is None:
        return found.sentence
    alone = "" if found.alone is None else f", and {points(found.alone)} if each group is read by itself"
    return (
        f"With ε = {number_words(question.epsilon)} for the whole table, the intervals of a group of {question.size:,} records will be "
        f"about {points(found.width)} points wide; without privacy {points(found.plain)}{alone}."
    )


def _notes(question: PlanQuestion) -> list[str]:
    """Return notes about a group of a table, and about a guess."""
    notes = []
    if question.groups is not None:
        together = " They are read together." if question.pooled else ""
        notes.append(f"This is one of {question.groups:,} groups, with {question.size:,} records.{together} ")
    if question.halved:
        notes.append(
            "Only the total of the table is public, so noise must hide the groups too: one group is planned with half of your ε, which is "
            "a little pessimistic. "
        )
    if question.public == "nothing":
        notes.append("How many records there are stays private: the number here is a guess, and must not come from the data. ")
    return notes


# --- what an attacker could learn ---------------------------------------------------------------------------------------


def _odds_section(question: PlanQuestion) -> Html:
    heading, made = element("h2", "What could an attacker learn?"), question.whole_mechanism()
    try:
        guarantee = made.guarantee
    except TooLargeError as error:
        return element("section", heading, element("p", str(error), class_="warn"))
    if guarantee.basis == "none":
        return element(
            "section", heading, element("p", "This mechanism promises nothing: a release may tell what single records say.", class_="warn")
        )
    hidden = "whether one person's record is in the data" if guarantee.hides_presence else "what one person's record says"
    factor = odds_factor(guarantee.epsilon)
    but = "" if guarantee.delta == 0 else f", but for a probability of at most {guarantee.delta:.2g}"
    words = (
        f"Suppose someone tries to find out {hidden}, and knows everything else. What is published changes the odds by a factor of at most "
    )
    lead = element("p", words, element("strong", factor), f"{but}. A factor of 1 would be no change at all.")
    rows = [table_row(f"{100.0 * before:g}\u00a0%", surest(before, guarantee.epsilon)) for before in _SUSPICIONS]
    heads = "how sure before", "how sure afterwards, at most"
    suspicions = table("What a true suspicion can become", heads, rows, class_="odds")
    square = [
        element("p", "Between two answers of someone who took part the odds change by at most the square of the factor.", class_="quiet")
    ]
    rest = [*(square if guarantee.hides_presence else []), _loss(made, guarantee, question)]
    return element("section", heading, lead, suspicions, *rest)


def _loss(made: Mechanism, guarantee: Guarantee, question: PlanQuestion) -> Html:
    """The computed loss, beside what is promised."""
    code = (
        f"import discreet as dc\n\n{prior_line(question)}\n{made_line(question)}\nprint(made.guarantee, dc.privacy_loss(made), sep='\\n')"
    )
    try:
        loss = privacy_loss(made).value
    except DiscreetError as error:
        return joined(element("p", f"The loss itself is not computed here: {error}", class_="quiet"), same("plan-odds", None, code))
    if loss > guarantee.epsilon * (1.0 - 1e-9):
        words = f"Computed from its definition, the privacy loss is {loss:.4g}, all that {guarantee.level} allows."
    else:
        words = (
            f"Computed from its definition, the privacy loss is {loss:.4g}, less than {guarantee.level} allows: the odds change by a "
            f"factor of at most {odds_factor(loss)}."
        )
    several = " The factors of several releases about the same data are multiplied."
    return joined(element("p", words + several, class_="quiet"), same("plan-odds", None, code))
