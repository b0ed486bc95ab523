"""The first answer of the screen for plans: how wide intervals will be, what an attacker could learn, and an example."""

from math import inf
from typing import Any

import numpy as np
import scipy.signal  # noqa: F401 - intervals load it when they first need it: here that would be while someone moves a slider

from discreet.analysis.privacy import privacy_loss
from discreet.errors import DiscreetError, RefusedError, TooLargeError
from discreet.mechanisms import Mechanism
from discreet.planning.comparison import points
from discreet.planning.expected_widths import Believed
from discreet.planning.plans import plan
from discreet.planning.width_plans import WidthPlan
from discreet.present.curves import Bar, bars
from discreet.present.html import Html, element, isolated, joined, table, table_row
from discreet.present.page import pictured
from discreet.present.page_rows import Shares, shares_of
from discreet.present.page_words import odds_factor, surest
from discreet.record.guarantee import Guarantee
from discreet.requests.kinds import number_words, prior_code, quoted
from discreet.requests.plan import PlanRequest
from discreet.requests.plan_screen import PlanQuestion
from discreet.requests.release_steps import little_said
from discreet.web.forms import field
from discreet.web.parts import request_command, same

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


_PANELS_SHOWN = 2
_QUICK_EXAMPLE_WORK, _MOST_EXAMPLE_WORK = 100.0, 6_000.0
"""Work of an example that comes at once, and of one that comes at all."""
_FREE_TOTAL, _TIED_GROUPS = 3.0, 15.0
"""The factors by which the work grows where the total must be found too, and where a public total ties groups."""
_TABLE_CATEGORIES, _TABLE_SIGNAL = 4, 20.0
"""The most categories whose intervals are always quick; with more, a group needs so many times as many records as noise."""


def is_quick_example(question: PlanQuestion) -> bool:
    """Return whether the example comes while someone moves a slider, by public numbers."""
    return _work(question) <= _QUICK_EXAMPLE_WORK


def _work(question: PlanQuestion) -> float:
    """About how long the intervals of an example take: noise is as wide as 1/ε, in every category."""
    if not question.has_noise:
        return _QUICK_EXAMPLE_WORK  # where noise depends on the data, `shares_of` knows what takes long
    faint = question.prior.k > _TABLE_CATEGORIES and question.size * question.epsilon < _TABLE_SIGNAL
    if question.groups is not None and question.public != "sizes" and faint:
        return inf
    kind = _TIED_GROUPS if question.halved else 1.0 if question.planned_public == "total" else _FREE_TOTAL
    return kind * question.prior.k / min(float(question.epsilon), 1.0)


def example(question: PlanQuestion) -> Html:
    """Made-up records, a real release of them, and the intervals of a reader."""
    if _work(question) > _MOST_EXAMPLE_WORK:
        return element("p", "The intervals of an example take long at this size and this ε, and are left out here.", class_="quiet")
    guessed = Believed.of(question.prior, question.size, question.shares)
    counts = guessed.law.predictive(question.size).sample(question.groups_shown or 1, np.random.default_rng(0))
    try:
        release = question.whole_mechanism().release(counts[0] if question.groups is None else counts, steady=False)
    except (RefusedError, TooLargeError) as error:
        return element("p", str(error), class_="quiet")
    shares = shares_of(release)
    ways = same("plan-example", None, _python(question, counts.tolist()), "It draws another example: noise is never the same twice.")
    return joined(_badge(question), _legend(question, shares), *_figures(shares), ways)


def _badge(question: PlanQuestion) -> Html:
    origin = "the shares you expect" if question.expect is not None else "the prior's mean shares"
    records = question.size * (question.groups_shown or 1)
    words = f"No data were seen: {records:,} records were invented from {origin}, and then released for real, with exact noise."
    return element("p", element("strong", "Made up. "), words, class_="made-up")


def _legend(question: PlanQuestion, shares: Shares) -> Html:
    words = "Dots are means, and bars intervals that hold the share with probability 95 %, noise allowed for. Every change draws new noise."
    if shares.reason is not None:
        words = f"Dots and dashes take the noisy counts at face value, and are too narrow: {shares.reason}."
    if question.groups is not None and question.groups != question.groups_shown:
        words += f" Shown are {question.groups_shown} of the {question.groups:,} groups."
    if shares.size is not None:
        mean, low, high = shares.size
        words += f" Readers would also estimate how many records there are: about {mean:,.0f}, between {low:,} and {high:,}."
    return element("p", words, class_="quiet")


def _figures(shares: Shares) -> list[Html]:
    parts = []
    for panel in shares.panels[:_PANELS_SHOWN]:
        if panel.heading is not None:
            parts.append(element("h3", isolated(panel.heading), " in each group"))
        parts.append(pictured(panel, "95 %", as_reported=shares.reason is not None))
    more = len(shares.panels) + shares.categories_left_out - len(shares.panels[:_PANELS_SHOWN])
    words = "One more category would have a table." if more == 1 else f"{more:,} more categories would have a table each."
    return [*parts, *([element("p", words, class_="quiet")] if more else [])]


def _python(question: PlanQuestion, counts: list[list[int]]) -> str:
    read = "interval" if question.groups is None else "figures"
    lines = [
        "import discreet as dc",
        "",
        prior_line(question, labels=question.categories.given),
        made_line(question),
        f"release = made.release({counts[0] if question.groups is None else counts})",
        f"print(release.noise_aware().{read}())",
    ]
    return "\n".join(lines)


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
