"""The later answer of the screen for plans: every mechanism side by side, curves, and the ε that a goal asks for."""

import re
from collections.abc import Iterable
from dataclasses import replace

from discreet.planning.comparison import ComparisonRow, compare, points
from discreet.planning.curves import WidthCurve, records_curve, width_curve
from discreet.present.curves import Curve, curve
from discreet.present.html import Html, element, joined, table, table_row
from discreet.progress import Progress
from discreet.requests.kinds import number_words
from discreet.requests.plan_screen import GoalQuestion, PlanQuestion
from discreet.web.forms import field
from discreet.web.parts import request_command, same
from discreet.web.plan.answer import planned, same_plan

# --- every mechanism ----------------------------------------------------------------------------------------------------


def compared(question: PlanQuestion, progress: Progress) -> Html:
    """Every mechanism side by side, those with the narrowest intervals first, and why some have no number."""
    level, public = question.planned_epsilon, question.planned_public
    found = compare(question.prior, question.size, level, public=public, errors=False, progress=progress)
    heads = ("mechanism", "width, points", "promise", "computed loss")
    rows = [_compared_row(row, chosen=row.mechanism == question.mechanism) for row in found.rows]
    caption = f"Expected width of readers' 95 % intervals; without privacy {points(found.plain)} points."
    every = table(caption, heads, rows, class_="compared")
    reasons = [element("li", reason) for reason in found.reasons]
    why = [element("details", element("summary", "Why some numbers are missing"), element("ul", *reasons))] if reasons else []
    notes = []
    if question.expect is not None:
        notes.append("Data are expected as the prior has them here, and not with the shares you expect. ")
    if question.groups is not None:
        notes.append("This is about one group; a table is released by LatticeGeometric. ")
    asked = question.asks_to_compare()
    ways = same("plan-compared", request_command("compare", asked), asked.python())
    return joined(every, element("p", *notes, found.choice, class_="quiet"), *why, ways)


def _compared_row(row: ComparisonRow, *, chosen: bool) -> Html:
    promise = "not available at this size"
    if row.guarantee is not None:
        promise = "none" if row.guarantee.basis == "none" else f"{row.guarantee.level} by {row.guarantee.basis}"
    name = joined(_breakable(row.mechanism), *([element("span", " your choice", class_="chosen")] if chosen else []))
    width, loss = "–" if row.width is None else points(row.width), "–" if row.loss is None else f"{row.loss:.4g}"
    return table_row(name, width, element("td", promise, class_="promise"), loss, **({"class_": "mine"} if chosen else {}))


def _breakable(name: str) -> Html:
    """The name of a mechanism, which a narrow column may break where a new word begins."""
    parts = re.split(r"(?<=[a-z(])(?=[A-Z])", name)
    return joined(*(part for word in parts for part in (element("wbr"), word)))


# --- curves -------------------------------------------------------------------------------------------------------------


def curves(question: PlanQuestion, progress: Progress) -> Html:
    """The width against ε, and against n."""
    here = planned(replace(question, pooled=False), epsilon=question.planned_epsilon)
    options = {"mechanism": question.mechanism, "expect": question.expect, "public": question.planned_public, "progress": progress}
    over_epsilon = width_curve(question.prior, question.size, **options)  # type: ignore[arg-type]
    over_records = records_curve(question.prior, question.planned_epsilon, **options)  # type: ignore[arg-type]
    level, half = float(question.planned_epsilon), " (half of yours)" if question.halved else ""
    by_epsilon = _section(
        over_epsilon,
        ("ε, without a unit", level, f"ε = {level:g}{half}", float(here.width)),
        f"With more or less ε, at n = {question.size:,}",
        same_plan("plan-over-epsilon", question.asks(curve=True, n=question.size)),
    )
    by_records = _section(
        over_records,
        ("number of records", float(question.size), f"{question.size:,} records", float(here.width)),
        f"With more or fewer records, at ε = {number_words(question.planned_epsilon)}",
        same_plan("plan-over-records", question.asks(curve=True, epsilon=question.planned_epsilon)),
    )
    alone = element("p", "The curves are about one group that is read by itself.", class_="quiet")
    return joined(*([alone] if question.pooled else []), by_epsilon, by_records)


def _section(found: WidthCurve, here: tuple[str, float, str, float], heading: str, ways: Html) -> Html:
    """A curve with its numbers; `here` is what its axis is called, where on it the question is, in words too, and the width there."""
    axis, place, words, width = here
    against = "ε" if found.across == "epsilon" else "the number of records"
    drawn = Curve(
        f"Width of the 95 % intervals in points, against {against}",
        axis,
        "width in points",
        [float(value) for value in found.at],
        [float(w) for w in found.widths],
        [float(w) for w in found.plain],
        (place, width),
        f"you: {words}, {points(width)} points",
        steep=found.across == "n",
    )
    return element("div", element("h3", heading), curve(drawn), _table(*found.cells()), ways)


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    numbers = table("", headings, (table_row(*row) for row in rows))
    return element("details", element("summary", "The numbers of the picture"), numbers)


# --- the ε that a goal asks for -----------------------------------------------------------------------------------------


def goal(question: PlanQuestion, wanted: GoalQuestion, progress: Progress) -> Html:
    """The least ε for a goal; the page puts it into its field."""
    target = {wanted.kind: wanted.goal}
    with field("goal"):
        found = planned(question, progress=progress, **target)
    needed = found.epsilon * 2 if question.halved else found.epsilon
    twice = " That is twice what one group needs, since only the total of the table is public." if question.halved else ""
    words = f"You need ε = {number_words(needed)} or more. The slider is set to it.{twice} {found.precision}"
    ways = same_plan("plan-goal", question.asks(n=question.size, **target, **question.together))
    return joined(element("p", words, data_epsilon=number_words(needed), role="status"), ways)
